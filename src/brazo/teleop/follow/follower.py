"""`Follower`: computes the joint reference from the received commands, one cycle at a time.

A follower combines the safety rules, the mapping and the joint limits.  The time and the state of
the link are arguments, so every situation can be reproduced exactly.  If the mapping rejects a
command or raises an error, the follower changes to HOLD.  It still returns a reference, because a
moving arm must brake.

    follower = Follower(limits, mapping, q0)
    step = follower.step(now, link.view())      # every cycle of the control loop
    step.sample                                 # joint reference: q, qd, qdd
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.orientation import matrix_from_wxyz
from brazo.teleop.follow.safety import Cause, Rules, Safety, SafetyState, Transition
from brazo.teleop.follow.tracking import JointTracker, TargetRates
from brazo.teleop.link.inbox import Received
from brazo.teleop.link.views import LinkReport, LinkView
from brazo.teleop.link.wire_format import Setting
from brazo.teleop.mapping.base import Mapping, MasterPoint, axes
from brazo.trajectory.base import Sample
from brazo.trajectory.limits import Limits

Array = np.ndarray
LONGEST_STEP = 0.02  # s, limits the motion of the reference after a pause of the loop
ASK = "ask"  # setting that only requests the current settings
SCENE = "scene"  # its value that requests the name of the follower's cell


@dataclass(frozen=True, slots=True, eq=False)
class FollowerStep:
    """Result of one cycle of the follower."""

    t: float
    sample: Sample
    state: SafetyState
    cause: str
    share: float  # fraction of full speed
    seq: int  # of the command used in this cycle, 0 for none
    age: float  # s, of the newest valid command
    warnings: tuple[str, ...]
    grip: float | None  # gripper command of the master, kept while not following


class Follower:
    """Controller of a follower robot: converts received commands to joint references.

    `q0` (n,) are the initial joint positions and `now` (s) is the initial time.  `on_transition` is
    called at every change of the safety state.
    """

    def __init__(
        self,
        limits: Limits,
        mapping: Mapping,
        q0: Any,
        rules: Rules | None = None,
        now: float = 0.0,
        on_transition: Callable[[Transition], None] | None = None,
    ) -> None:
        self.safety = Safety(rules, now, on_transition)
        self.mapping = mapping
        self.tracker = JointTracker(limits, q0)
        self.grip: float | None = None
        self._now = now
        self._session = 0
        self._jumps = self._missing = 0
        self._newest: Received | None = None  # newest command that was valid when read
        self._used: Received | None = None  # last command applied by the mapping, while following
        self._clutched = False
        self._target: Array | None = None
        self._rates = TargetRates(self.tracker.state.q)
        self._warnings: tuple[str, ...] = ()
        self.acted = 0  # number of commands used
        self.unused = 0  # number of commands that had expired when read

    def stop(self, now: float, detail: str = "") -> None:
        """Change to HOLD from any state and brake to rest.

        To resume, the operator must release the enable switch and engage again.
        """
        self.safety.fault(now, Cause.STOP, detail)
        self._end()
        self.tracker.stop()

    def step(
        self, now: float, view: LinkView, obstacle: str = "", dt: float | None = None
    ) -> FollowerStep:
        """Run one cycle and return its result, with the joint reference for time `now` (s).

        `view` is the state of the link.  A non-empty `obstacle` is the reason why following must
        not start.  `dt` (s) is the time by which the reference advances, for example the step of a
        simulation that is slower than real time.  By default it is the time since the last cycle,
        at most `LONGEST_STEP`.
        """
        if dt is None:
            dt = min(max(now - self._now, 0.0), LONGEST_STEP)
        self._now = max(self._now, now)
        self._watch(now, view)
        new = self._take(now, view.latest)
        verdict = self.safety.tick(now, obstacle or self._obstacle())
        seq = 0
        if not verdict.follow:
            self._end()
        elif self._used is None:
            self._begin(now)
        elif new is not None:
            seq = self._follow(now, new, verdict.share)
        elif verdict.state is SafetyState.DEGRADED:
            self.tracker.slow(verdict.share)
        sample = self.tracker.update(dt) if dt > 0.0 else self.tracker.state
        return FollowerStep(
            now,
            sample,
            self.safety.state,
            self._cause(),
            verdict.share if self.safety.moving else 0.0,
            seq,
            self.safety.age(now),
            self._warnings,
            self.grip,
        )

    def report(
        self,
        step: FollowerStep,
        pose: Any = None,
        wrench: Any = None,
        extra: tuple[float, ...] = (),
    ) -> LinkReport:
        """Return the report of a cycle, to be sent to the master.

        `pose` contains x, y, z (m) and the quaternion w, x, y, z of the tool.  `wrench` (6,)
        contains the contact force (N) and moment (N m).  `extra` are numbers for a bilateral
        scheme.
        """
        return LinkReport(
            step.state,
            step.cause,
            step.share,
            self.safety.engagement,
            step.age,
            tuple(step.sample.q.tolist()),
            pose,
            wrench,
            step.warnings,
            extra,
        )

    def set(self, setting: Setting) -> tuple[bool, str]:
        """Change a setting of the mapping; return whether it was accepted, and a message.

        For the setting named `ask`, nothing is changed and the message contains the current
        settings as JSON.
        """
        value = list(setting.value) if isinstance(setting.value, tuple) else setting.value
        if setting.name == ASK:
            return True, json.dumps(self.mapping.settings(), separators=(",", ":"))
        try:
            self.mapping.set(setting.name, value)
        except BrazoError as error:
            return False, str(error)
        if setting.name == "directions":
            return True, f"directions are {axes(value)}"
        return True, f"{setting.name} is {value}"

    def _watch(self, now: float, view: LinkView) -> None:
        """Report a new session, a clock jump or too many missing commands as a fault."""
        safety = self.safety
        if view.session != self._session:
            safety.fault(now, Cause.LINK, "" if not view.session else "another connection")
            safety.restart()
            self._session, self._jumps, self._missing = view.session, view.jumps, view.missing
            self._newest = None
            return
        if view.jumps != self._jumps:
            self._jumps = view.jumps
            safety.fault(now, Cause.CLOCK, "the master's clock relative to the follower's")
        if view.missing != self._missing:
            skipped, self._missing = view.missing - self._missing, view.missing
            if skipped >= safety.rules.gap:
                safety.fault(now, Cause.GAP, f"{skipped} sequence numbers")

    def _take(self, now: float, latest: Received | None) -> Received | None:
        """Return `latest` if it is a new command that has not expired, else None.

        Such a command is also passed to the safety state machine.
        """
        if latest is None or latest is self._newest or latest.command.session != self._session:
            return None
        self._newest = latest
        if now > latest.expires:
            self.unused += 1
            return None
        command = latest.command
        self.safety.command(now, latest.sent, latest.run, command.engagement)
        return latest

    def _obstacle(self) -> str:
        if self.safety.moving or self._newest is None or not self._newest.run:
            return ""
        if self.tracker.moving:
            return "the follower is still braking"
        try:
            return self.mapping.obstacle(_point(self._newest), self.tracker.state.q)
        except Exception as error:
            return _words(error)

    def _begin(self, now: float) -> None:
        assert self._newest is not None
        q = self.tracker.state.q
        try:
            self.mapping.anchor(_point(self._newest), q)
        except Exception as error:
            return self._doubt(now, Cause.LOST, _words(error))
        self._used, self._target = self._newest, q.copy()
        self._rates.start(q)
        self._clutched = self._newest.clutch

    def _end(self) -> None:
        if self._used is not None:
            self.tracker.stop()
        self._used, self._warnings = None, ()

    def _follow(self, now: float, new: Received, share: float) -> int:
        """Apply a command at the fraction `share` of full speed.

        Return the sequence number of the command, or 0 if the command is implausible or cannot be
        followed.
        """
        try:
            jump = self._go_along(new, share)
        except Exception as error:
            self._doubt(now, Cause.LOST, _words(error))
            return 0
        if jump:
            self._doubt(now, Cause.JUMP, jump)
            return 0
        self._used, self._clutched = new, new.clutch
        if new.command.grip is not None:
            self.grip = new.command.grip
        self.acted += 1
        return new.command.seq

    def _go_along(self, new: Received, share: float) -> str:
        """Set the joint target from a command.

        Return the reason if the command is implausible, else an empty string.  Commands with the
        clutch held, and the first command after its release, do not change the target.  For these
        commands, raise `BrazoError` if the mapping reports that the follower cannot engage.
        """
        assert self._used is not None and self._target is not None
        point = _point(new)
        # The duration follows from the master's clock, limited to the maximum age of data.
        dt = 1e-6 * (new.command.sent - self._used.command.sent)
        dt = min(max(dt, 1e-6), self.safety.rules.stale)
        if new.clutch or self._clutched:
            if obstacle := self.mapping.obstacle(point, self._target):
                raise BrazoError(obstacle)
            self.mapping.anchor(point, self._target)
            self._rates.start(self._target)
            self.tracker.target(self._target, None, share)
            self._warnings = ("clutch: only the master moves",) if new.clutch else ()
            return ""
        target = self.mapping.step(point, dt)
        if target.jump:
            return target.jump
        rates = self._rates
        rates.take(target.q, dt)
        # A velocity computed from old data does not describe the current motion of the master.
        if share == 1.0:
            self.tracker.target(target.q, rates.speed, share, rates.acceleration)
        else:
            self.tracker.target(target.q, None, share)
        self._target, self._warnings = target.q, target.warnings
        return ""

    def _doubt(self, now: float, cause: Cause, why: str) -> None:
        self.safety.fault(now, cause, why)
        self._end()

    def _cause(self) -> str:
        safety = self.safety
        text = safety.cause.value + (f": {safety.detail}" if safety.detail else "")
        return text if safety.moving or not safety.refusal else f"{text}; {safety.refusal}"


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, BrazoError) else f"{type(error).__name__}: {error}"


def _point(received: Received) -> MasterPoint:
    command = received.command
    T = None
    if command.pose is not None:
        T = np.eye(4)
        T[:3, :3] = matrix_from_wxyz(command.pose[3:])
        T[:3, 3] = command.pose[:3]
    return MasterPoint(np.array(command.q) if command.q else None, T)
