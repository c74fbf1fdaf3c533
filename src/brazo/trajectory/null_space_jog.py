"""`NullSpaceJog`: motion of the joints of a redundant arm while the tool stays at rest.

The joints follow the self-motion of the arm, a curve q(s) with J(q) q' = 0 and |q'| = 1.  Because
d/ds (J q') = 0, the curvature of this curve is

    q'' = −J⁺ J' q',        J' = dJ/ds along q',    J⁺: pseudoinverse of J.

With several redundant degrees of freedom, this q'' also keeps q' from rotating within the null
space.  The speed ds/dt approaches the commanded speed, with acceleration and jerk within the limits
of every joint.  After each step the joints are corrected such that the tool keeps its initial pose,
so errors do not accumulate.

The arm stops before a joint passes its limit and before a singularity; `reason` gives the cause.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.checks import positive
from brazo.errors import BrazoError
from brazo.kinematics.result import violations
from brazo.trajectory.base import Sample
from brazo.trajectory.follow import onto
from brazo.trajectory.jacobian_rate import jacobian_rate
from brazo.trajectory.jerk_limited import RuckigPlanner
from brazo.trajectory.joint_rates import ToolMotion
from brazo.trajectory.limits import Limits, at_limit
from brazo.trajectory.reading import vector

if TYPE_CHECKING:
    from brazo.robot import Robot

Array = np.ndarray

_STEP = 0.05  # rad, longest step of the integration along the curve
_SHARES = {"speed": 0.95, "bend": 0.3, "acceleration": 0.5, "jerk": 0.4}  # of a joint's limits


class NullSpaceJog:
    """Null-space jogging of a redundant arm that starts at rest at `q0` (n,).

    At `q0`, a positive speed moves the first joint in its positive direction.  If the first joint
    hardly moves, the sign refers to the joint that moves most.  `singular` is the singularity
    margin (min singular value, see `Rates.margin`) at which the arm stops.
    """

    def __init__(self, robot: Robot, limits: Limits, q0: Any, singular: float = 0.02) -> None:
        if limits.n != robot.n:
            raise BrazoError(f"limits are for {limits.n} joints; '{robot.name}' has {robot.n}")
        self.robot, self.limits = robot, limits
        self.singular = positive(singular, "singular")
        self._motion = ToolMotion(robot)
        if not self._motion.spare:
            raise BrazoError(
                f"'{robot.name}' is not redundant: its {robot.n} joints have no motion that leaves "
                "the tool at rest"
            )
        self._rank = robot.n - self._motion.spare
        self._rate = jacobian_rate(robot.model)
        q = vector(q0, robot.n, "q0")
        self._pose = robot.fk(q)
        self._state = Sample(q, np.zeros(robot.n), np.zeros(robot.n))
        self._u = self._first_direction(q)
        self._margin = self._margin_at(q)
        self._speed = self._acceleration = 0.0  # of s
        self._wanted = 0.0
        self._blocked = 0.0  # direction in which it was stopped
        self._planner = RuckigPlanner(Limits(1.0, 1.0, 1.0, n=1), "velocity", "none")
        self.reason = ""
        self.update_seconds = 0.0  # wall-clock time of the last update

    @property
    def state(self) -> Sample:
        """Current joint positions, velocities and accelerations."""
        return self._state

    @property
    def moving(self) -> bool:
        """Whether any joint moves."""
        return bool(self._speed or self._acceleration)

    def run(self, speed: float) -> None:
        """Command the speed ds/dt (rad/s), the norm of the joint velocities, until `stop`."""
        self._wanted = float(speed)
        if self._wanted * self._blocked <= 0.0:
            self._blocked, self.reason = 0.0, ""

    def stop(self) -> None:
        """Bring the joints to rest within their limits.

        If a limit or singularity had stopped the arm, motion in that direction is allowed again.
        """
        self.run(0.0)

    def update(self, dt: float) -> Sample:
        """Advance by dt seconds and return the new state."""
        begin = time.perf_counter()
        self._step(positive(dt, "dt"))
        self.update_seconds = time.perf_counter() - begin
        return self._state

    def at(self, distance: float) -> Array:
        """Return the joint positions (n,) at a distance (rad) ahead along the self-motion."""
        q, _ = self._along(self._state.q, self._u, distance)
        return onto(self._motion, q, self._pose, "full")[0]

    def _step(self, dt: float) -> None:
        wanted = 0.0 if self._blocked else self._wanted
        if not (wanted or self.moving):
            return
        q, u = self._state.q, self._u
        curvature = self._curvature(q, u)
        ds, speed, acceleration, plan_ahead = self._plan(wanted, dt, u, curvature)
        if wanted:
            why = self._obstacle(ds + plan_ahead)
            if why:
                self.reason, self._blocked = why, wanted
                ds, speed, acceleration, _ = self._plan(0.0, dt, u, curvature)
        q, u = self._along(q, u, ds)
        q, gap, turn = onto(self._motion, q, self._pose, "full")
        if gap + turn > 1e-9:  # not reachable: stay, with the joints at rest
            self.reason = self.reason or "the arm is at the edge of its reach"
            self._blocked = self._blocked or wanted or math.copysign(1.0, self._speed)
            speed = acceleration = 0.0
            q, u = self._state.q, self._u
        self._speed, self._acceleration, self._u = speed, acceleration, self._projected(q, u)
        bend = speed * speed * self._curvature(q, self._u)
        self._state = Sample(q, speed * self._u, acceleration * self._u + bend)
        self._margin = self._margin_at(q)

    def _plan(
        self, wanted: float, dt: float, u: Array, curvature: Array
    ) -> tuple[float, float, float, float]:
        """Plan a motion along the curve to the speed `wanted`.

        `u` and `curvature` (n,) are q' and q''.  Return the distance, speed and acceleration after
        dt, and the stopping distance from there.
        """
        limits, share = self.limits, _SHARES
        fast = _largest_factor(share["speed"] * limits.speed, u)
        fast = min(fast, math.sqrt(_largest_factor(share["bend"] * limits.acceleration, curvature)))
        goal = max(-fast, min(fast, wanted))
        most = [
            _largest_factor(share[name] * getattr(limits, name), u)
            for name in ("acceleration", "jerk")
        ]
        self._planner.limit(*(np.array([x]) for x in (2.0 * max(fast, abs(self._speed)), *most)))
        plan = self._planner.plan([0.0], [self._speed], [self._acceleration], [goal])
        if dt < plan.duration:
            ds, speed, acceleration = (x[0] for x in plan.at_time(dt))
        else:
            ds = plan.at_time(plan.duration)[0][0] + goal * (dt - plan.duration)
            speed, acceleration = goal, 0.0
        rest = self._planner.plan([0.0], [speed], [acceleration], [0.0])
        return ds, speed, acceleration, rest.at_time(rest.duration)[0][0]

    def _obstacle(self, distance: float) -> str:
        """Return a message if a joint limit or a singularity is ahead, otherwise "".

        The configuration at `distance` (rad) ahead along the self-motion is checked.
        """
        q, _ = self._along(self._state.q, self._u, distance)
        limits = self.limits.position
        past = violations(q, limits) & ~violations(self._state.q, limits)
        if past.any():
            i = int(np.argmax(past))
            return at_limit(self.robot, self.limits, i, q[i] > limits[i, 1])
        margin = self._margin_at(q)
        if margin < self.singular and margin < self._margin:
            return f"the arm approaches a singularity of {self._motion.singular_joints(q)}"
        return ""

    # ---- the curve -------------------------------------------------------------------------------

    def _along(self, q: Array, u: Array, distance: float) -> tuple[Array, Array]:
        """Joint positions and tangent at a distance along the curve, from q with the tangent u."""
        steps = max(math.ceil(abs(distance) / _STEP), 1)
        h = distance / steps
        for _ in range(steps):
            k1 = u
            k2 = self._projected(q + 0.5 * h * k1, k1)
            k3 = self._projected(q + 0.5 * h * k2, k2)
            k4 = self._projected(q + h * k3, k3)
            q = q + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
            u = self._projected(q, k4)
        return q, u

    def _projected(self, q: Array, u: Array) -> Array:
        """Return the unit vector in the null space at q that is nearest to u."""
        rows = self._jacobian_svd(q)[2]
        inside = u - rows.T @ (rows @ u)
        return inside / np.linalg.norm(inside)

    def _first_direction(self, q: Array) -> Array:
        rows = self._jacobian_svd(q)[2]
        N = np.eye(len(q)) - rows.T @ rows
        u = N[:, int(np.argmax(np.diag(N)))]
        u = u / np.linalg.norm(u)
        most = int(np.argmax(np.abs(u)))
        first = 0 if abs(u[0]) > 0.05 else most
        return u * math.copysign(1.0, u[first])

    def _curvature(self, q: Array, u: Array) -> Array:
        U, s, rows = self._jacobian_svd(q)
        Jd = self._scale()[:, None] * self._rate(q, u)[1]
        return -rows.T @ ((U.T @ (Jd @ u)) / s)

    def _jacobian_svd(self, q: Array) -> tuple[Array, Array, Array]:
        """Singular value decomposition (U, s, Vᵀ) of J, truncated to its generic rank.

        The linear rows of J are divided by the reach of the arm before the decomposition.
        """
        U, s, Vt = np.linalg.svd(self._scale()[:, None] * self.robot.jacobian(q))
        r = self._rank
        return U[:, :r], np.maximum(s[:r], 1e-12), Vt[:r]

    def _scale(self) -> Array:
        return np.repeat([1.0 / self._motion.reach, 1.0], 3)

    def _margin_at(self, q: Array) -> float:
        return self._motion.rates(q, np.zeros(6), np.zeros(6)).margin


def _largest_factor(most: Array, along: Array) -> float:
    """Largest factor by which `along` can be multiplied without exceeding `most` in any joint."""
    return float(np.min(most / np.maximum(np.abs(along), 1e-12)))
