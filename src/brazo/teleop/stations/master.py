"""`MasterStation`: reads an input device and sends the master position over a link.

With a master robot, the handle is the tool of this robot, and the joint values are sent in addition
to the handle pose.  Without a master robot, the handle starts at the origin.

The recording uses the clock of the master.  Its column `offset` is the clock of the follower minus
the clock of the master.  `session_report` converts the recordings of both sides to one time axis.

After STOP the enable switch counts as released, until the device has released it and requested
engagement again.  STOP at the follower has the same effect.
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

from brazo.checks import positive
from brazo.errors import BrazoError
from brazo.kinematics.orientation import rotvec_from_matrix, wxyz_from_matrix
from brazo.kinematics.result import violations
from brazo.operate import StopLatch
from brazo.recording.stream import Recorder
from brazo.teleop.devices.device import (
    Device,
    Halting,
    HandState,
    Yielding,
    joint_units,
    pose_of,
    resume_hint,
)
from brazo.teleop.follow.follower import ASK, SCENE
from brazo.teleop.follow.safety import Cause, SafetyState
from brazo.teleop.link.master_link import VALID, MasterLink, ReceivedStatus
from brazo.teleop.link.wire_format import STATES
from brazo.teleop.stations.station_log import StationLog, line
from brazo.trajectory.follow import onto
from brazo.trajectory.joint_rates import ToolMotion
from brazo.trajectory.limits import at_limit, limits_of
from brazo.trajectory.reading import vector

if TYPE_CHECKING:
    from brazo.robot import Robot
    from brazo.simulation import Simulation
    from brazo.teleop.bilateral.energy_balance import EnergyBalance

Array = np.ndarray
RATE = 250.0  # Hz
HEARD = 1_000_000  # µs; while the follower reports a higher age, it has not received our commands
PATIENCE = 3.0  # s after which the device is read in any case
POSE = ("x", "y", "z")
_MOVED = 1e-7  # rad, m: smaller changes are rounding


class MasterStation:
    """Master station: sends the input of a device over a link, `rate` times per second.

    `robot` is the master robot, or None, and `q0` (n,) are its initial joint values (default: its
    pose `home`).  Commands expire after `valid` seconds.  `record` is the path of the recording, or
    None; an existing file is overwritten only if `replace` is True.
    """

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
            raise BrazoError(f"the rate is {rate:g} commands per second; it must be 10 to 1000")
        if not 0.0 < valid <= 10.0:
            raise BrazoError(
                f"valid is {valid:g} s; commands must be valid for more than 0 s and at most 10 s"
            )
        self.link, self.device, self.robot, self.rate = link, device, robot, rate
        self.valid = valid  # s until a command expires
        self._motion = None if robot is None else ToolMotion(robot)
        self._q = np.zeros(0)
        self._start = np.eye(4)
        if robot is not None:
            self._q = np.array(robot.poses["home"] if q0 is None else q0, dtype=float)
            self._start = robot.fk(self._q).copy()
        self.hand = HandState()
        self.blocked = ""  # why the master's own arm does not follow; "" if it does
        self._limits = None if robot is None else limits_of(robot)
        self._blocked_logged = ""  # reason logged since the last release of the switch
        self.log = StationLog()
        self._zero: float | None = None  # time of the first read of the device
        self._asked = 0
        self._latch = StopLatch()
        self._state = -1
        self._stopped_there = False
        self._unsent: list[str] = []  # why settings could not be requested
        self._connected = False
        self._trouble = ""  # last logged reason why there is no link
        self._session = 0
        self.settings: dict[str, Any] = {}  # settings of the follower's mapping, as last reported
        self.asks_scene = False  # whether the follower is asked for its cell, to draw it
        self.scene: dict[str, Any] | None = None  # "name" and "robot" of the follower's cell
        self.error: Exception | None = None  # error that ended the thread of the station
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
        self._failed = False  # the recorder's failure was logged
        self._recorder = (
            None
            if record is None
            else Recorder(record, columns, about, wait=False, replace=replace)
        )

    @property
    def sim(self) -> Simulation | None:
        """Simulation of the master arm; None if the arm is not simulated."""
        return None

    @property
    def failure(self) -> BaseException | None:
        """Error that ended the station or its simulation; None if there was no error."""
        return self.error

    @property
    def energy_balance(self) -> EnergyBalance | None:
        """Energies of the bilateral scheme; None if there is no force feedback."""
        return None

    @property
    def q(self) -> Array:
        """Joint values (n,) of the master arm; empty if there is no arm."""
        return self._q

    @property
    def start_pose(self) -> Array:
        """Start pose (4, 4) of the handle."""
        return self._start.copy()

    def now(self) -> float:
        """Return the time (s) since the start of the station."""
        return self.log.now()

    def start(self) -> MasterStation:
        """Run in a separate thread until `close`."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._live, name="teleop station", daemon=True)
            self._thread.start()
        return self

    def close(self) -> None:
        """End the thread, which releases the enable switch and finishes the recording."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    @property
    def stopped(self) -> bool:
        """Whether a STOP is active: the device has not yet released its switch and re-engaged."""
        return self._latch.stopped

    def stop(self) -> bool:
        """Disable motion until the device releases its switch and engages again; thread-safe.

        Return whether motion was enabled before.
        """
        ran = self.hand.run
        if isinstance(self.device, Halting):
            ran = self.device.stop() or ran
        self._latch.stop()
        return ran and self.failure is None and not self._over.is_set()

    def _live(self) -> None:
        try:
            self.run()
        except Exception as error:  # shown by the page or the terminal of the station
            self.error = error

    def run(
        self,
        seconds: float | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """Send commands until the device is done, or for at most `seconds`.

        `tell` is called with each line of the log.
        """
        tell = tell or (lambda text: None)
        period, due = 1.0 / self.rate, time.perf_counter()
        end = float("inf") if seconds is None else due + seconds
        try:
            while not (self.hand.done or self._over.is_set()) and time.perf_counter() < end:
                self.cycle(tell)
                # A late loop does not catch up, because two commands at once carry no more than
                # one.
                due = max(due + period, time.perf_counter() + period / 2)
                time.sleep(max(due - time.perf_counter(), 0.0))
        finally:
            self._end()

    def cycle(self, tell: Callable[[str], None]) -> None:
        """Read the device once and send one command; `tell` is called with new log lines."""
        t = self.now()
        report = self.link.status()
        state = 0 if report is None else report.status.state
        if self._zero is None and (
            t > PATIENCE or (report is not None and report.status.age < HEARD)
        ):
            self._zero = t
        self._heed(report)
        # The device is read only after the follower has received a command: earlier input has no
        # effect.
        hand = HandState() if self._zero is None else self.device.read(t - self._zero, state)
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
            status = None if report is None else report.status
            row = [t, self.link.offset, self.link.round_trip, hand.run, hand.clutch, self._asked]
            row += (
                [np.nan] * 3 if status is None else [status.state, status.share, 1e-6 * status.age]
            )
            row += [*T[:3, 3], *self._felt(), *self._q]
            self._recorder.append([np.nan if value is None else float(value) for value in row])

    def _heed(self, report: ReceivedStatus | None) -> None:
        """Stop the master if the follower reports a STOP."""
        if report is None:
            return
        status = report.status
        stopped = status.state == SafetyState.HOLD and status.cause.startswith(Cause.STOP.value)
        if stopped and not self._stopped_there and self._state >= 0:
            self.stop()
        self._stopped_there = stopped

    def _unless_stopped(self, hand: HandState, t: float, tell: Callable[[str], None]) -> HandState:
        """Return the input `hand`, with the enable switch released while a STOP is active.

        The STOP ends when the device has released the switch and requested engagement again.
        """
        before = self._latch.stops
        runs = self._latch.passes(hand.run, hand.engage)
        if self._latch.stops > before:
            self._log_lines(t, [f"STOP; to resume: {resume_hint(self.device)}"], tell)
        return hand if runs == hand.run else replace(hand, run=runs)

    def _held(self, hand: HandState) -> Array:
        """Return the handle pose (4, 4) for an input.

        With a master robot, this is the pose of its tool, which follows the input as far as the arm
        can reach.
        """
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
            # A device that was moved back to the arm requests no motion: keep the reason.
            if np.abs(q - self._q).max() > _MOVED:
                self.blocked = ""
            self._q = q
        T = self.robot.fk(self._q)
        if why and isinstance(self.device, Yielding):
            turned = rotvec_from_matrix(T[:3, :3] @ self._start[:3, :3].T)
            self.device.stay(T[:3, 3] - self._start[:3, 3], turned)
        return T

    def _obstacle(self, q: Array, gap: float) -> str:
        """Return why the arm cannot move to the joint values q (n,), or "" if it can.

        `gap` is the distance (m) plus the angle (rad) between the tool at q and the handle.
        """
        if not (np.isfinite(q).all() and gap < 1e-6):
            return "the arm is at the edge of its reach"
        assert self.robot is not None and self._limits is not None
        past = violations(q, self._limits.position)
        if not past.any():
            return ""
        i = int(np.argmax(past))
        return at_limit(self.robot, self._limits, i, q[i] > self._limits.position[i, 1])

    def _note(self, t: float, tell: Callable[[str], None]) -> None:
        """Log changes of the link, the follower's state and its settings."""
        link, lines = self.link, []
        report = link.status()  # before `connected`, which is true as soon as there is a report
        connected = link.connected
        if connected != self._connected:
            self._connected = connected
            lines.append("connected" if connected else "link lost")
        if (trouble := "" if connected else link.trouble) != self._trouble:
            self._trouble = trouble
            lines += [trouble] if trouble else []
        if not self.hand.run:
            self._blocked_logged = ""
        elif self.blocked and self.blocked != self._blocked_logged:
            self._blocked_logged = self.blocked
            lines.append(f"the master arm does not follow: {self.blocked}")
        if connected and report is not None and report.status.state != self._state:
            self._state = report.status.state
            lines.append(f"{STATES[self._state]}: {report.status.cause}")
            if self._state == SafetyState.HOLD and not self._latch.stopped:
                lines.append(f"to resume: {resume_hint(self.device)}")
        if connected and (session := link.session) != self._session:
            self._session = session
            self._ask(ASK, "mapping")
            if self.asks_scene:
                self._ask(ASK, SCENE)
        for answer in link.answers():
            if answer.done and answer.text.startswith("{"):
                self._learn(answer.text)
            else:
                lines.append(answer.text)
                if answer.done:
                    self._ask(ASK, "mapping")
        if self._recorder is not None and self._recorder.failure and not self._failed:
            self._failed = True
            lines.append(self._recorder.failure)
        self._log_lines(t, lines + self._unsent, tell)
        self._unsent.clear()

    def _ask(self, name: str, value: Any) -> None:
        """Request to change the follower's setting `name` to `value`.

        If there is no connection, the reason is stored for the log.
        """
        try:
            self.link.set(name, value)
        except BrazoError as error:
            if name != ASK:
                self._unsent.append(str(error))

    def _log_lines(self, t: float, lines: list[str], tell: Callable[[str], None]) -> None:
        """Log messages at time t (s), show them with `tell` and record them."""
        for text in lines:
            self.log.add(text, t)
            tell(line(t, text))
            if self._recorder is not None:
                self._recorder.event(t, "master", text)

    def _extra(self) -> tuple[float, ...]:
        """Return the bilateral scheme's numbers for the follower; empty if there is no scheme."""
        return ()

    def _felt(self) -> Sequence[float]:
        """Return the reflected force (3,), N, on the handle; nan if there is no force feedback."""
        energy_balance = self.energy_balance
        return (np.nan,) * 3 if energy_balance is None else energy_balance.force

    def _learn(self, text: str) -> None:
        """Store the follower's mapping settings or cell name from a JSON answer.

        An answer in another format is ignored.
        """
        try:
            report = json.loads(text)
            if isinstance(report, dict) and isinstance(report.get(SCENE), dict):
                self.scene = report[SCENE]
            elif isinstance(report, dict):
                if "scale" in report:
                    positive(report["scale"], "scale")
                if "directions" in report:
                    vector(report["directions"], 9, "directions")
                self.settings = report
        except (ValueError, BrazoError):
            return

    def _end(self) -> None:
        """Release the enable switch, close the device and finish the recording."""
        self._let_go()
        self.device.close()
        if self._recorder is not None:
            self._recorder.close()
            self._recorder = None

    def _let_go(self) -> None:
        """Send the last commands, with the enable switch released."""
        for _ in range(3):
            self.link.send(self._q.tolist(), run=False)
            time.sleep(0.01)
