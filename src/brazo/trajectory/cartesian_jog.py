"""`CartesianJog`: motion of the tool at a commanded linear and angular velocity.

The motion runs until `stop`.  The tool's velocity approaches the commanded velocity with limited
acceleration and jerk, and the joints follow exactly (`joint_rates`).  If a joint cannot follow, the
motion of the tool is reduced, in this order:

* The commanded speed is reduced such that at steady speed no joint exceeds 95 % of its speed limit
  or 30 % of its acceleration limit.
* The tool's acceleration and jerk are reduced such that no joint needs more than 60 % of its
  acceleration limit and 90 % of its jerk limit.
* A step is executed only if the tool can still stop after the step, inside the joint limits and
  away from singularities.  Otherwise the tool brakes, and `reason` gives the cause.  To move
  the tool again, command a velocity at 90° or more from the blocked velocity, or call `stop` first.
* If a step would still exceed a limit of a joint, the tool's acceleration along its path is set to
  the nearest value that is feasible for all joints.
* If a joint would still exceed a limit, or could no longer stop before its position limit, the step
  is not executed, and all joints brake as fast as their acceleration and jerk limits allow.

The limits of the joints are therefore satisfied exactly for any commanded velocity.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from brazo.checks import one_of, positive
from brazo.errors import BrazoError
from brazo.kinematics.orientation import matrix_from_rotvec
from brazo.kinematics.result import LIMIT_TOLERANCE, joint_text, violations
from brazo.trajectory.base import Sample
from brazo.trajectory.follow import hermite_end, onto
from brazo.trajectory.go_to import GoTo
from brazo.trajectory.jerk_limited import RuckigPlanner, reach
from brazo.trajectory.joint_rates import ToolMotion
from brazo.trajectory.limits import Limits, at_limit
from brazo.trajectory.reading import vector

if TYPE_CHECKING:
    from brazo.robot import Robot

Array = np.ndarray
Frame = Literal["base", "tool"]


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """Limits of tool motion in jogging; the defaults are for slow manual motion."""

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
        """Limits (6,) of the linear, then the angular components of the tool motion.

        `name` is "speed", "acceleration" or "jerk".
        """
        return np.repeat([getattr(self, name), getattr(self, f"angular_{name}")], 3)


@dataclass(frozen=True, slots=True, eq=False)
class _Tool:
    """Displacement of the tool in a step, and its velocity and acceleration after the step."""

    moved: Array  # (6,) m, rad
    twist: Array  # (6,) velocity
    rate: Array  # (6,) acceleration


@dataclass(frozen=True, slots=True, eq=False)
class _Attempt:
    """State of the joints after a step of the tool, and the limit that the step would violate."""

    state: Sample
    T: Array
    margin: float  # singularity margin
    why: str  # message that names the violated limit; "" if there is none


class CartesianJog:
    """Cartesian jogging of a robot that starts at rest at `q0` (n,).

    `limits` are the limits of the joints, and `tool` the limits of the tool motion.  `singular` is
    the singularity margin (min singular value, see `Rates.margin`) at which a tool that moves
    towards a singularity is stopped.  The tool may always move away from a singularity.
    """

    def __init__(
        self,
        robot: Robot,
        limits: Limits,
        q0: Any,
        tool: ToolLimits | None = None,
        singular: float = 0.05,
    ) -> None:
        self.robot, self.limits, self.tool = robot, limits, tool or ToolLimits()
        if limits.n != robot.n:
            raise BrazoError(f"limits are for {limits.n} joints; '{robot.name}' has {robot.n}")
        self.singular = positive(singular, "singular")
        q = vector(q0, robot.n, "q0")
        self._motion = ToolMotion(robot)
        # With fewer than six degrees of freedom the tool point is exact, the rotation is not.
        self._full = robot.mobility == 6
        self._state = Sample(q, np.zeros(robot.n), np.zeros(robot.n))
        self._pose = robot.fk(q)
        self._twist, self._rate = np.zeros(6), np.zeros(6)
        self._asked, self._frame = np.zeros(6), "base"
        self._margin = self._motion.rates(q, np.zeros(6), np.zeros(6)).margin
        self._blocked: Array | None = None
        self._brake: GoTo | None = None
        self._stopper = RuckigPlanner(limits, "velocity", "none")
        most = Limits(*(self.tool.axes(name) for name in ("speed", "acceleration", "jerk")))
        self._steering = RuckigPlanner(most, "velocity", "line")
        self._on_line = RuckigPlanner(Limits(1.0, 1.0, 1.0, n=1), "velocity", "none")
        self._allowed = [self.tool.axes("acceleration"), self.tool.axes("jerk")]
        # Why the tool does not move as commanded, with the joint and its limit; "" if it does.
        self.reason = ""
        self.update_seconds = 0.0  # wall-clock time of the last update

    @property
    def state(self) -> Sample:
        """Current joint positions, velocities and accelerations."""
        return self._state

    @property
    def moving(self) -> bool:
        """Whether any joint moves."""
        return bool(self._state.qd.any() or self._state.qdd.any())

    def run(self, velocity: Any, frame: Frame = "base") -> None:
        """Command a velocity of the tool (6,), linear (m/s) then angular (rad/s), until `stop`.

        `frame` selects base axes or the current axes of the tool.
        """
        one_of(frame, ("base", "tool"), "frame")
        wanted = vector(velocity, 6, "velocity")
        for part, what, most in (
            (wanted[:3], "speed", self.tool.speed),
            (wanted[3:], "angular speed", self.tool.angular_speed),
        ):
            unit = "rad/s" if what == "angular speed" else "m/s"
            if np.linalg.norm(part) > most * (1.0 + 1e-12):
                raise BrazoError(
                    f"the commanded {what} of the tool is {np.linalg.norm(part):g} {unit}; at most "
                    f"{most:g} {unit} is allowed"
                )
        self._asked, self._frame = wanted, frame
        # Motion further into the limit that stopped the arm stays blocked.
        if self._blocked is not None and self._in_base() @ self._blocked <= 0.0:
            self._blocked, self.reason = None, ""

    def stop(self) -> None:
        """Bring the tool to rest within its limits.

        Motion in a blocked direction is then allowed again, unless the joints are still braking.
        """
        self._asked = np.zeros(6)
        if self._blocked is not None and self._brake is None:
            self._blocked, self.reason = None, ""

    def update(self, dt: float) -> Sample:
        """Advance by dt seconds and return the new state."""
        begin = time.perf_counter()
        dt = positive(dt, "dt")
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
        if not (self._full or self._twist.any()) and wanted.any():
            why = self._unfollowed(wanted)
            if why:
                self.reason, self._blocked = why, wanted
                return
        tool = self._advance(wanted, dt)
        found = self._attempt(tool, dt)
        if wanted.any():
            why = found.why or self._stop_ahead(tool, found)
            if why:
                self.reason, self._blocked = why, wanted
                tool = self._advance(np.zeros(6), dt)
                found = self._attempt(tool, dt)
        if found.why:
            eased = self._eased(tool, found, dt)
            if eased is not None:
                tool, found = eased, self._attempt(eased, dt)
        if found.why:
            s = self._state
            self.reason = self.reason or found.why
            self._blocked = wanted if self._blocked is None else self._blocked
            self._brake = GoTo(self.limits, s.q, s.qd, s.qdd)
            self._twist, self._rate = np.zeros(6), np.zeros(6)
            self._braking(dt)
            return
        self._state, self._twist, self._rate = found.state, tool.twist, tool.rate
        self._margin = found.margin
        self._pose = found.T if self._full else self.robot.fk(found.state.q)
        self._pose[:3, 3] = found.T[:3, 3]

    def _attempt(self, tool: _Tool, dt: float) -> _Attempt:
        """Joint state after a step of the tool, and the limit that the step would violate."""
        s = self._state
        T = self._pose.copy()
        T[:3, 3] += tool.moved[:3]
        T[:3, :3] = matrix_from_rotvec(tool.moved[3:]) @ T[:3, :3]
        how = "full" if self._full else "nearest"
        q, gap, turn = onto(self._motion, s.q + dt * (s.qd + 0.5 * dt * s.qdd), T, how)
        rates = self._motion.rates(q, tool.twist, tool.rate)
        if not self._full or self._motion.spare:
            q, gap, turn = onto(self._motion, hermite_end(s.q, s, rates, dt), T, how)
            rates = self._motion.rates(q, tool.twist, tool.rate)
        new = Sample(q, rates.qd, rates.qdd)
        if gap + turn > 1e-9:
            return _Attempt(new, T, rates.margin, "the tool is at the edge of its reach")
        if rates.margin < 0.1 * self.singular and rates.margin < self._margin:
            return _Attempt(new, T, rates.margin, self._singularity(q))
        return _Attempt(new, T, rates.margin, self._breach(s, new, dt, rates.margin))

    def _unfollowed(self, wanted: Array) -> str:
        """Message that the arm cannot follow the tool velocity `wanted` (6,); empty if it can."""
        q = self._state.q
        rates = self._motion.rates(q, wanted, np.zeros(6))
        scale = np.repeat([1.0 / self._motion.reach, 1.0], 3)
        followed = scale * (self.robot.jacobian(q) @ rates.qd)
        if np.linalg.norm(followed) > 1e-3 * np.linalg.norm(scale * wanted):
            return ""
        if rates.margin < self.singular:
            return self._singularity(q)
        what = "move its tool in this direction"
        if not wanted[:3].any():
            what = "turn its tool about this axis"
        return f"the arm cannot {what}: it has {self.robot.mobility} degrees of freedom"

    def _stop_ahead(self, tool: _Tool, found: _Attempt) -> str:
        """Message that names a limit or singularity within the stopping distance; empty if none."""
        q = found.state.q
        # Once more with the joint limits at the stopping point, which count as well.
        for _ in range(2):
            planner = self._planner(q, tool.twist, tool.twist != 0.0)
            plan = planner.plan(np.zeros(6), tool.twist, tool.rate, np.zeros(6))
            travel = np.array(plan.at_time(plan.duration)[0])
            T = found.T.copy()
            T[:3, 3] += travel[:3]
            T[:3, :3] = matrix_from_rotvec(travel[3:]) @ T[:3, :3]
            q = found.state.q + self._motion.inverse(found.state.q) @ travel
            q, gap, turn = onto(self._motion, q, T, "full" if self._full else "nearest")
            if gap + turn > 1e-9:
                return "the tool is at the edge of its reach"
        margin = self._motion.rates(q, tool.twist, np.zeros(6)).margin
        if margin < self.singular and margin < self._margin:
            return self._singularity(q)
        limits = self.limits.position
        past = violations(q, limits) & ~violations(self._state.q, limits)
        if not past.any():
            return ""
        i = int(np.argmax(past))
        return at_limit(self.robot, self.limits, i, q[i] > limits[i, 1])

    def _eased(self, tool: _Tool, found: _Attempt, dt: float) -> _Tool | None:
        """Return the step `tool` with its acceleration changed so that all joints can follow.

        The change is along the direction u of the tool motion and as small as possible.  None if no
        change is sufficient.

        With g = J⁺ u, a change of the tool acceleration by x u changes the joint accelerations by
        g x and the joint speeds by g x dt/2.
        """
        speed = float(np.linalg.norm(tool.twist))
        if speed == 0.0 or not np.isfinite(found.state.qdd).all():
            return None
        u = tool.twist / speed
        old, new, limits = self._state, found.state, self.limits
        g = self._motion.inverse(new.q) @ u
        change = 0.95 * limits.jerk * dt
        low = np.maximum(-0.99 * limits.acceleration, old.qdd - change) - new.qdd
        high = np.minimum(0.99 * limits.acceleration, old.qdd + change) - new.qdd
        low = np.maximum(low, (-0.99 * limits.speed - new.qd) * 2.0 / dt)
        high = np.minimum(high, (0.99 * limits.speed - new.qd) * 2.0 / dt)
        used = np.abs(g) > 1e-12
        ends = np.sort([low[used] / g[used], high[used] / g[used]], axis=0)
        least, most = ends[0].max(initial=-math.inf), ends[1].min(initial=math.inf)
        if least > most:
            return None
        rate = tool.rate + min(max(0.0, least), most) * u
        # The acceleration changes linearly from the old to the new one.
        twist = self._twist + 0.5 * dt * (self._rate + rate)
        return _Tool(dt * self._twist + dt * dt / 6.0 * (2.0 * self._rate + rate), twist, rate)

    def _braking(self, dt: float) -> None:
        assert self._brake is not None
        self._state = self._brake.update(dt)
        if not self._brake.moving:
            self._brake = None
            self._pose = self.robot.fk(self._state.q)
            self._margin = self._motion.rates(self._state.q, np.zeros(6), np.zeros(6)).margin

    def _advance(self, wanted: Array, dt: float) -> _Tool:
        """State of the tool after dt (s), while it accelerates to the velocity `wanted` (6,).

        The velocity is reduced first if a joint could not follow it.
        """
        q = self._state.q
        steady = self._motion.rates(q, wanted, np.zeros(6))
        speed = _share(0.95 * self.limits.speed, steady.qd)
        # Joint accelerations of a steady tool motion grow with the square of its speed.
        bend = math.sqrt(_share(0.3 * self.limits.acceleration, steady.qdd))
        wanted = min(speed, bend) * wanted
        planner = self._planner(q, self._twist, (wanted != 0.0) | (self._twist != 0.0))
        u = self._line(wanted)
        if u is not None:
            return self._along(u, wanted, dt)
        plan = planner.plan(np.zeros(6), self._twist, self._rate, wanted)
        if dt < plan.duration:
            return _Tool(*map(np.array, plan.at_time(dt)))
        moved = np.array(plan.at_time(plan.duration)[0]) + wanted * (dt - plan.duration)
        return _Tool(moved, wanted, np.zeros(6))

    def _line(self, wanted: Array) -> Array | None:
        """Unit vector (6,) of a straight motion in which the tool reaches the velocity `wanted`.

        The vector has the direction of `wanted`, or of the current velocity if `wanted` is 0.  None
        if both are 0, or if the current velocity or acceleration has a component perpendicular to
        this direction.
        """
        longest = wanted if wanted.any() else self._twist
        size = float(np.linalg.norm(longest))
        if size == 0.0:
            return None
        u = longest / size
        for v in (self._twist, self._rate):
            if np.linalg.norm(v - (u @ v) * u) > 1e-9 * max(1.0, float(np.linalg.norm(v))):
                return None
        return u

    def _along(self, u: Array, wanted: Array, dt: float) -> _Tool:
        """State of the tool after dt (s), while it accelerates to `wanted` along the direction u.

        The motion is planned along this line as one axis, because six axes that are planned
        independently would leave the line.
        """
        used = np.abs(u) > 1e-12
        most = [float((allowed[used] / np.abs(u[used])).min()) for allowed in self._allowed]
        speed = 2.0 * max(abs(float(u @ wanted)), abs(float(u @ self._twist)), 1e-9)
        self._on_line.limit(*(np.array([v]) for v in (speed, *most)))
        goal = float(u @ wanted)
        plan = self._on_line.plan([0.0], [u @ self._twist], [u @ self._rate], [goal])
        if dt < plan.duration:
            moved, twist, rate = (v[0] for v in plan.at_time(dt))
            return _Tool(moved * u, twist * u, rate * u)
        moved = plan.at_time(plan.duration)[0][0] + goal * (dt - plan.duration)
        return _Tool(moved * u, wanted, np.zeros(6))

    def _planner(self, q: Array, twist: Array, used: Array) -> RuckigPlanner:
        """Return the planner of the tool motion, with limits at which all joints can follow at q.

        `twist` (6,) is the velocity of the tool.  `used` (6,) is a mask of the velocity components
        that are not 0 in the planned motion.
        """
        # Upper bound of the motion of each joint for a unit motion along these axes.
        gain = np.abs(self._motion.inverse(q)[:, used])
        allowed = []
        for name, part in (("acceleration", 0.6), ("jerk", 0.9)):
            most = self.tool.axes(name)
            allowed.append(most * _share(part * getattr(self.limits, name), gain @ most[used]))
        # The commanded velocity bounds the speed; the planner only needs some limit for it.
        most = 2.0 * np.maximum(self.tool.axes("speed"), np.abs(twist))
        self._steering.limit(most, *allowed)
        self._allowed = allowed
        return self._steering

    def _breach(self, old: Sample, new: Sample, dt: float, margin: float) -> str:
        """Message that names the limit that a step would violate; empty if there is none.

        `old` and `new` are the joint states before and after the step, and `margin` is the
        singularity margin after it.
        """
        limits = self.limits
        jerk = np.abs(new.qdd - old.qdd) / dt
        for what, per, value, most in (
            ("speed", "/s", np.abs(new.qd), limits.speed),
            ("acceleration", "/s²", np.abs(new.qdd), limits.acceleration),
            ("jerk", "/s³", jerk, limits.jerk),
        ):
            past = value > most
            if past.any():
                i = int(np.argmax(past))
                limit = joint_text(self.robot.joint_kinds[i], float(most[i])) + per
                near = f": {self._singularity(new.q)}" if margin < 0.1 else ""
                return f"{self._joint(i)} would pass its {what} limit, {limit}{near}"
        rest = reach(self._stopper.plan(new.q, new.qd, new.qdd, np.zeros(limits.n)))
        for i, (lowest, highest) in enumerate(rest):
            # A joint outside its limits may move back.
            low = min(limits.position[i, 0], old.q[i]) - LIMIT_TOLERANCE
            high = max(limits.position[i, 1], old.q[i]) + LIMIT_TOLERANCE
            if highest > high or lowest < low:
                return at_limit(self.robot, limits, i, highest > high)
        return ""

    def _singularity(self, q: Array) -> str:
        return f"the arm approaches a singularity of {self._motion.singular_joints(q)}"

    def _joint(self, i: int) -> str:
        return f"joint {i + 1} ({self.robot.joint_names[i]})"

    def _in_base(self) -> Array:
        if self._frame == "base":
            return self._asked
        R = self._pose[:3, :3]
        return np.concatenate([R @ self._asked[:3], R @ self._asked[3:]])


def _share(most: Array, asked: Array) -> float:
    """Largest factor up to 1 by which `asked` can be multiplied without exceeding `most`."""
    return min(1.0, float(np.min(most / np.maximum(np.abs(asked), 1e-300))))
