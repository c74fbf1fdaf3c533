"""`CartesianJog`: the tool moves while a button is held, in straight lines and about its own point.

Hold to run, as with joints.  The tool's velocity approaches the one asked for with limited
acceleration and jerk; the joints follow exactly (`joint_rates`).  What the joints cannot do is
taken back from the tool, in this order:

* the speed asked for is lowered so that at a steady speed no joint passes 95 % of its own speed
  or 30 % of its acceleration;
* the tool's acceleration and jerk are lowered so that they ask for no more than 60 % and 90 % of
  any joint's own;
* a step with which a joint would still pass a limit, come so near to its end that it could no
  longer stop, or meet a singularity, is not taken: all joints brake as quickly as they can, and
  `reason` says why.  After that only another direction is accepted, or the same one after `stop`.

So the limits of the joints are kept exactly whatever is asked of the tool.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.orientation import matrix_from_rotvec
from brazo.kinematics.result import LIMIT_TOLERANCE
from brazo.trajectory.base import Sample
from brazo.trajectory.follow import SINGULAR, hermite_end, onto
from brazo.trajectory.go_to import GoTo
from brazo.trajectory.jerk_limited import Planner
from brazo.trajectory.jog import HOLD_TIME
from brazo.trajectory.joint_rates import ToolMotion
from brazo.trajectory.limits import Limits
from brazo.trajectory.reading import choice, positive, vector

if TYPE_CHECKING:
    from brazo.robot import Robot

Array = np.ndarray
Frame = Literal["base", "tool"]


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """How fast a tool may be jogged; the defaults are those of careful hand guidance."""

    speed: float = 0.25  # m/s
    acceleration: float = 1.0  # m/s²
    jerk: float = 10.0  # m/s³
    angular_speed: float = 1.0  # rad/s
    angular_acceleration: float = 4.0  # rad/s²
    angular_jerk: float = 40.0  # rad/s³

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            positive(getattr(self, name), name)

    def axes(self, name: str) -> Array:
        """One of speed, acceleration, jerk for the six directions."""
        return np.repeat([getattr(self, name), getattr(self, f"angular_{name}")], 3)


class CartesianJog:
    """Hold-to-run motion of the tool of a robot that stands still at `q0` (n,)."""

    def __init__(
        self,
        robot: Robot,
        limits: Limits,
        q0: Any,
        tool: ToolLimits | None = None,
        hold_time: float = HOLD_TIME,
        singular: float = SINGULAR,
    ) -> None:
        self.robot, self.limits, self.tool = robot, limits, tool or ToolLimits()
        if limits.n != robot.n:
            raise BrazoError(f"limits are for {limits.n} joints; '{robot.name}' has {robot.n}")
        self.hold_time = positive(hold_time, "hold_time")
        self.singular = positive(singular, "singular")
        q = vector(q0, robot.n, "q0")
        self._motion = ToolMotion(robot)
        # Fewer than six degrees of freedom keep the point and turn as nearly as they can.
        self._full = robot.mobility == 6
        self._state = Sample(q, np.zeros(robot.n), np.zeros(robot.n))
        self._pose = robot.fk(q)
        self._twist, self._rate = np.zeros(6), np.zeros(6)
        self._asked, self._frame = np.zeros(6), "base"
        self._blocked: Array | None = None
        self._brake: GoTo | None = None
        self._stopper = Planner(limits, "velocity", "none")
        self._age = 0.0
        self.reason = ""  # why the joints braked, "" while nothing is in the way
        self.update_seconds = 0.0  # what the last update took, by the machine's own clock

    @property
    def state(self) -> Sample:
        """Where the joints are now."""
        return self._state

    @property
    def moving(self) -> bool:
        """Whether any joint moves."""
        return bool(self._state.qd.any() or self._state.qdd.any())

    def hold(self, velocity: Any, frame: Frame = "base") -> None:
        """Move the tool with this velocity (6,), linear then angular, for as long as renewed.

        In base axes, or in the tool's own as they are at each moment.
        """
        choice(frame, ("base", "tool"), "frame")
        wanted = vector(velocity, 6, "velocity")
        for part, what, most in (
            (wanted[:3], "speed", self.tool.speed),
            (wanted[3:], "angular speed", self.tool.angular_speed),
        ):
            if np.linalg.norm(part) > most * (1.0 + 1e-12):
                raise BrazoError(f"the tool's {what} is {np.linalg.norm(part):g}; at most {most:g}")
        self._asked, self._frame, self._age = wanted, frame, 0.0
        if self._blocked is not None and not self._ahead(wanted):
            self._blocked, self.reason = None, ""

    def stop(self) -> None:
        """Let go: the tool comes to rest within its limits."""
        self._asked = np.zeros(6)
        if self._blocked is not None and self._brake is None:
            self._blocked, self.reason = None, ""

    def update(self, dt: float) -> Sample:
        """Let dt seconds pass; the state then."""
        begin = time.perf_counter()
        dt = positive(dt, "dt")
        self._age += dt
        if self._age > self.hold_time:
            self.stop()
        if self._brake is not None:
            self._braking(dt)
        else:
            self._step(dt)
        self.update_seconds = time.perf_counter() - begin
        return self._state

    def _step(self, dt: float) -> None:
        wanted = np.zeros(6) if self._blocked is not None else self._in_base()
        if not (wanted.any() or self._twist.any() or self._rate.any()):
            return
        s = self._state
        moved, twist, rate = self._advance(wanted, dt)
        T = self._pose.copy()
        T[:3, 3] += moved[:3]
        T[:3, :3] = matrix_from_rotvec(moved[3:]) @ T[:3, :3]
        guess = s.q + dt * (s.qd + 0.5 * dt * s.qdd)
        how = "full" if self._full else "nearest"
        q, gap, turn = onto(self._motion, guess, T, how)
        rates = self._motion.rates(q, twist, rate)
        if not self._full or self._motion.spare:
            q, gap, turn = onto(self._motion, hermite_end(s.q, s, rates, dt), T, how)
            rates = self._motion.rates(q, twist, rate)
        new = Sample(q, rates.qd, rates.qdd)
        why = ""
        if gap + turn > 1e-9:
            why = "the tool is at the edge of its reach"
        elif rates.margin < self.singular:
            why = "the arm nears a singularity"
        why = why or self._breach(s, new, dt, rates.margin)
        if why:
            self.reason, self._blocked = why, self._asked.copy()
            self._brake = GoTo(self.limits, s.q, s.qd, s.qdd)
            self._twist, self._rate = np.zeros(6), np.zeros(6)
            self._braking(dt)
            return
        self._state, self._twist, self._rate = new, twist, rate
        self._pose = T if self._full else self.robot.fk(q)
        self._pose[:3, 3] = T[:3, 3]

    def _braking(self, dt: float) -> None:
        assert self._brake is not None
        self._state = self._brake.update(dt)
        if not self._brake.moving:
            self._brake = None
            self._pose = self.robot.fk(self._state.q)

    def _advance(self, wanted: Array, dt: float) -> tuple[Array, Array, Array]:
        """Shift, velocity and acceleration of the tool after dt, on its way to the wanted ones."""
        q = self._state.q
        steady = self._motion.rates(q, wanted, np.zeros(6))
        speed = _share(0.95 * self.limits.speed, steady.qd)
        # What a steady motion of the tool asks of the joints grows with the square of its speed.
        bend = math.sqrt(_share(0.3 * self.limits.acceleration, steady.qdd))
        wanted = min(speed, bend) * wanted
        used = (wanted != 0.0) | (self._twist != 0.0) | (self._rate != 0.0)
        # How much each joint moves at most, whichever way the tool is pushed along these axes.
        columns = [self._motion.step(q, axis) for axis in np.eye(6)[used]]
        gain = np.abs(np.array(columns)).T
        allowed = []
        for name, part in (("acceleration", 0.6), ("jerk", 0.9)):
            most = self.tool.axes(name)
            allowed.append(most * _share(part * getattr(self.limits, name), gain @ most[used]))
        # The speed is bound by what is wanted; the planner only has to have some limit for it.
        most = 2.0 * np.maximum(self.tool.axes("speed"), np.abs(self._twist))
        planner = Planner(Limits(most, *allowed), "velocity", "line")
        plan = planner.plan(np.zeros(6), self._twist, self._rate, wanted)
        if dt < plan.duration:
            moved, twist, rate = (np.array(part) for part in plan.at_time(dt))
            return moved, twist, rate
        moved = np.array(plan.at_time(plan.duration)[0]) + wanted * (dt - plan.duration)
        return moved, wanted, np.zeros(6)

    def _breach(self, old: Sample, new: Sample, dt: float, margin: float) -> str:
        """Which limit a step would pass, as a sentence, or nothing."""
        limits = self.limits
        jerk = np.abs(new.qdd - old.qdd) / dt
        for what, value, most in (
            ("speed", np.abs(new.qd), limits.speed),
            ("acceleration", np.abs(new.qdd), limits.acceleration),
            ("jerk", jerk, limits.jerk),
        ):
            past = value > most
            if past.any():
                i = int(np.argmax(past))
                near = ": the arm nears a singularity" if margin < 0.1 else ""
                return f"{self._joint(i)} would pass its {what} limit{near}"
        rest = self._stopper.plan(new.q, new.qd, new.qdd, np.zeros(limits.n)).position_extrema
        for i, bound in enumerate(rest):
            # A joint that stands outside its limits may come back.
            low = min(limits.position[i, 0], old.q[i]) - LIMIT_TOLERANCE
            high = max(limits.position[i, 1], old.q[i]) + LIMIT_TOLERANCE
            if bound.max > high or bound.min < low:
                return f"{self._joint(i)} is at its limit"
        return ""

    def _joint(self, i: int) -> str:
        return f"joint {i + 1} ({self.robot.joint_names[i]})"

    def _in_base(self) -> Array:
        if self._frame == "base":
            return self._asked
        R = self._pose[:3, :3]
        return np.concatenate([R @ self._asked[:3], R @ self._asked[3:]])

    def _ahead(self, wanted: Array) -> bool:
        """Whether a direction leads to where the arm has just been stopped."""
        return bool(self._blocked is not None and wanted @ self._blocked > 0.0)


def _share(most: Array, asked: Array) -> float:
    """The part, up to 1, of what is asked of the joints that they can give."""
    return min(1.0, float(np.min(most / np.maximum(np.abs(asked), 1e-300))))
