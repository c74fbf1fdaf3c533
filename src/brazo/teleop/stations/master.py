"""`MasterStation`: a device, a link, and a loop that sends where the hand is.

With a robot for a master, the hand holds its tool: the joints that put it there are sent along, and
the pose is that of the tool.  Without one the handle begins at the origin.

What is recorded has the master's own clock and, in `offset`, by how much the follower's is ahead:
`session_report` puts both ends on one time axis.

STOP, whatever the device: from the next command on the switch counts as let go, until the device
has really let go of it and asked for motion anew.  STOP at the follower means the same here.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.orientation import rotvec_from_matrix, wxyz_from_matrix
from brazo.kinematics.result import violations
from brazo.operate import StopLatch
from brazo.recording.stream import Recorder
from brazo.teleop.devices.device import (
    Device,
    Halting,
    Hand,
    Yielding,
    how_to_go_on,
    joint_units,
    pose_of,
)
from brazo.teleop.follow.follower import ASK
from brazo.teleop.follow.safety import Cause, State
from brazo.teleop.link.frames import STATES
from brazo.teleop.link.master_link import VALID, MasterLink, Told
from brazo.teleop.stations.diary import Diary, line
from brazo.trajectory.follow import onto
from brazo.trajectory.joint_rates import ToolMotion
from brazo.trajectory.limits import at_limit, limits_of
from brazo.trajectory.reading import positive, vector

if TYPE_CHECKING:
    from brazo.robot import Robot
    from brazo.simulation import Simulation
    from brazo.teleop.bilateral.account import Account

Array = np.ndarray
RATE = 250.0  # Hz
HEARD = 1_000_000  # µs: a follower whose newest command is older has not had one of ours
PATIENCE = 3.0  # s after which the hand begins in any case
POSE = ("x", "y", "z")
_MOVED = 1e-7  # rad, m: less is rounding


class MasterStation:
    """Runs a device until it is done."""

    def __init__(
        self,
        link: MasterLink,
        device: Device,
        robot: Robot | None = None,
        q0: Any = None,
        *,
        rate: float = RATE,
        valid: float = VALID,
        record: str | Path | None = None,
        replace: bool = False,
    ) -> None:
        if not 10.0 <= rate <= 1000.0:
            raise BrazoError(f"{rate:g} commands a second; wanted 10 to 1000")
        if not 0.0 < valid <= 10.0:
            raise BrazoError(f"commands valid for {valid:g} s; wanted up to 10 s")
        self.link, self.device, self.robot, self.rate = link, device, robot, rate
        self.valid = valid  # s in which a command may be acted upon
        self._motion = None if robot is None else ToolMotion(robot)
        self._q = np.zeros(0)
        self._start = np.eye(4)
        if robot is not None:
            self._q = np.array(robot.poses["home"] if q0 is None else q0, dtype=float)
            self._start = robot.fk(self._q).copy()
        self.hand = Hand()
        self.blocked = ""  # why the master's own arm does not follow the hand; "" when it does
        self._limits = None if robot is None else limits_of(robot)
        self._blocked_said = ""  # reported since the switch was last let go
        self.log = Diary()
        self._zero: float | None = None  # when the hand began
        self._asked = 0
        self._latch = StopLatch()
        self._state = -1
        self._stopped_there = False
        self._unsent: list[str] = []  # why settings could not be asked for
        self._connected = False
        self._trouble = ""  # why there is no link, as last said
        self._session = 0
        self.settings: dict[str, Any] = {}  # the follower's mapping, as it last told
        self.error: Exception | None = None  # what ended the thread of a station
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        columns = {"t": "s", "offset": "s", "round_trip": "s", "run": "", "clutch": ""}
        columns |= {"engagement": "", "state": "", "share": "", "age": "s"}
        columns |= {f"handle.{axis}": "m" for axis in POSE}
        columns |= {f"felt.{axis}": "N" for axis in POSE}
        if robot is not None:
            names = [f"q.{name}" for name in robot.joint_names]
            columns |= dict(zip(names, joint_units(robot), strict=True))
        about = {"station": "master", "device": device.name, "clock_start": repr(self.log.begin)}
        if robot is not None:
            about["robot"] = robot.name
        self._failed = False  # the failure of the recorder is reported
        self._recorder = (
            None
            if record is None
            else Recorder(record, columns, about, wait=False, replace=replace)
        )

    @property
    def sim(self) -> Simulation | None:
        """The simulation the arm lives in; None where the hand alone leads it."""
        return None

    @property
    def failure(self) -> BaseException | None:
        """What ended a station that was started, or its simulation; None while all is well."""
        return self.error

    @property
    def account(self) -> Account | None:
        """The energies of a bilateral scheme; None without one."""
        return None

    @property
    def q(self) -> Array:
        """The joints (n,) of the arm the hand holds; empty without one."""
        return self._q

    @property
    def start_pose(self) -> Array:
        """Where the handle (4, 4) was when the hand began."""
        return self._start.copy()

    def now(self) -> float:
        """The station's own time, s."""
        return self.log.now()

    def start(self) -> MasterStation:
        """Run in a thread of its own until `close`."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._live, name="teleop station", daemon=True)
            self._thread.start()
        return self

    def close(self) -> None:
        """Let go, and end."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    @property
    def stopped(self) -> bool:
        """Whether a STOP is still to be answered by letting go and asking anew."""
        return self._latch.stopped

    def stop(self) -> bool:
        """STOP: nothing runs until the device lets go and asks anew; whether anything did.

        Safe from any thread.
        """
        ran = self.hand.run
        if isinstance(self.device, Halting):
            ran = self.device.stop() or ran
        self._latch.stop()
        return ran and self.failure is None and not self._over.is_set()

    def _live(self) -> None:
        try:
            self.run()
        except Exception as error:  # whoever looks at the station shows it
            self.error = error

    def run(
        self,
        seconds: float | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """Send until the device is done, or for so many seconds."""
        tell = tell or (lambda text: None)
        period, due = 1.0 / self.rate, time.perf_counter()
        end = float("inf") if seconds is None else due + seconds
        try:
            while not (self.hand.done or self._over.is_set()) and time.perf_counter() < end:
                self.cycle(tell)
                # A loop that was late does not catch up: two commands at once say no more than one.
                due = max(due + period, time.perf_counter() + period / 2)
                time.sleep(max(due - time.perf_counter(), 0.0))
        finally:
            self._end()

    def cycle(self, tell: Callable[[str], None]) -> None:
        """Look at the hand once, and send it."""
        t = self.now()
        told = self.link.status()
        state = 0 if told is None else told.status.state
        if self._zero is None and (t > PATIENCE or (told is not None and told.status.age < HEARD)):
            self._zero = t
        self._heed(told)
        # The hand begins when the follower has had a command: what comes before counts for nothing.
        hand = Hand() if self._zero is None else self.device.read(t - self._zero, state)
        self.hand = hand = self._unless_stopped(hand, t, tell)
        T = self._held(hand)
        while self._asked < hand.engage:
            self.link.engage()
            self._asked += 1
        for name, value in hand.settings:
            self._ask(name, value)
        pose = [*T[:3, 3].tolist(), *wxyz_from_matrix(T[:3, :3]).tolist()]
        self.link.send(
            self._q.tolist(),
            pose,
            run=hand.run,
            clutch=hand.clutch,
            grip=hand.grip,
            extra=self._extra(),
            valid=self.valid,
        )
        self._note(t, tell)
        if self._recorder is not None:
            status = None if told is None else told.status
            row = [t, self.link.offset, self.link.round_trip, hand.run, hand.clutch, self._asked]
            row += (
                [np.nan] * 3 if status is None else [status.state, status.share, 1e-6 * status.age]
            )
            row += [*T[:3, 3], *self._felt(), *self._q]
            self._recorder.append([np.nan if value is None else float(value) for value in row])

    def _heed(self, told: Told | None) -> None:
        """Stop here, too, when somebody presses STOP at the follower."""
        if told is None:
            return
        status = told.status
        stopped = status.state == State.HOLD and status.cause.startswith(Cause.STOP.value)
        if stopped and not self._stopped_there and self._state >= 0:
            self.stop()
        self._stopped_there = stopped

    def _unless_stopped(self, hand: Hand, t: float, tell: Callable[[str], None]) -> Hand:
        """The hand, off the switch from a STOP until it was let go and asks for motion anew."""
        before = self._latch.stops
        runs = self._latch.passes(hand.run, hand.engage)
        if self._latch.stops > before:
            self._say(t, [f"STOP; to resume: {how_to_go_on(self.device)}"], tell)
        return hand if runs == hand.run else replace(hand, run=runs)

    def _held(self, hand: Hand) -> Array:
        """The pose of the handle; of a robot, as far as its arm reaches."""
        T = pose_of(hand, self._start)
        if self._motion is None:
            return T
        assert self.robot is not None
        how = "full" if self.robot.mobility == 6 else "nearest"
        q, gap, turn = onto(self._motion, self._q, T, how)
        why = self._obstacle(q, gap + turn)
        if why:
            self.blocked = why
        else:
            # A device that was sent back to where the arm is asks for nothing: the reason stays.
            if np.abs(q - self._q).max() > _MOVED:
                self.blocked = ""
            self._q = q
        T = self.robot.fk(self._q)
        if why and isinstance(self.device, Yielding):
            turned = rotvec_from_matrix(T[:3, :3] @ self._start[:3, :3].T)
            self.device.stay(T[:3, 3] - self._start[:3, 3], turned)
        return T

    def _obstacle(self, q: Array, gap: float) -> str:
        """Why the arm cannot have joint values (n,) that miss the hand by a gap (m, rad)."""
        if not (np.isfinite(q).all() and gap < 1e-6):
            return "the arm is at the edge of its reach"
        assert self.robot is not None and self._limits is not None
        past = violations(q, self._limits.position)
        if not past.any():
            return ""
        i = int(np.argmax(past))
        return at_limit(self.robot, self._limits, i, q[i] > self._limits.position[i, 1])

    def _note(self, t: float, tell: Callable[[str], None]) -> None:
        """Say what has changed."""
        link, said = self.link, []
        if link.connected != self._connected:
            self._connected = link.connected
            said.append("connected" if self._connected else "link lost")
        if (trouble := "" if link.connected else link.trouble) != self._trouble:
            self._trouble = trouble
            said += [trouble] if trouble else []
        if not self.hand.run:
            self._blocked_said = ""
        elif self.blocked and self.blocked != self._blocked_said:
            self._blocked_said = self.blocked
            said.append(f"the master arm does not follow: {self.blocked}")
        told = link.status()
        if told is not None and told.status.state != self._state:
            self._state = told.status.state
            said.append(f"{STATES[self._state]}: {told.status.cause}")
            if self._state == State.HOLD and not self._latch.stopped:
                said.append(f"to resume: {how_to_go_on(self.device)}")
        if link.connected and (session := link.session) != self._session:
            self._session = session
            self._ask(ASK, "mapping")
        for answer in link.answers():
            if answer.done and answer.text.startswith("{"):
                self._learn(answer.text)
            else:
                said.append(answer.text)
                if answer.done:
                    self._ask(ASK, "mapping")
        if self._recorder is not None and self._recorder.failure and not self._failed:
            self._failed = True
            said.append(self._recorder.failure)
        self._say(t, said + self._unsent, tell)
        self._unsent.clear()

    def _ask(self, name: str, value: Any) -> None:
        """Ask the follower for a setting, or note why that cannot be."""
        try:
            self.link.set(name, value)
        except BrazoError as error:
            if name != ASK:
                self._unsent.append(str(error))

    def _say(self, t: float, said: list[str], tell: Callable[[str], None]) -> None:
        """Write down what happened at t."""
        for text in said:
            self.log.add(text, t)
            tell(line(t, text))
            if self._recorder is not None:
                self._recorder.event(t, "master", text)

    def _extra(self) -> tuple[float, ...]:
        """What a scheme that reflects forces has to say."""
        return ()

    def _felt(self) -> Sequence[float]:
        """The force on the hand (3), N; nan where none is put on it."""
        account = self.account
        return (np.nan,) * 3 if account is None else account.force

    def _learn(self, text: str) -> None:
        """What the follower's mapping is set to; another program may tell it in other words."""
        try:
            told = json.loads(text)
            if isinstance(told, dict):
                if "scale" in told:
                    positive(told["scale"], "scale")
                if "directions" in told:
                    vector(told["directions"], 9, "directions")
                self.settings = told
        except (ValueError, BrazoError):
            return

    def _end(self) -> None:
        """Let go, and finish the recording."""
        self._let_go()
        self.device.close()
        if self._recorder is not None:
            self._recorder.close()
            self._recorder = None

    def _let_go(self) -> None:
        """The last word is a hand that is off the switch."""
        for _ in range(3):
            self.link.send(self._q.tolist(), run=False)
            time.sleep(0.01)
