"""`PoseMap`: handle pose to tool pose, for a master and a follower with different mechanisms.

The master sends its handle pose, or joint values from which the pose is computed.  The motion of
the handle between two commands gives a step of the follower's tool,

    Δp_follower = S Δp_master / k,     Δr_follower = S Δr_master / k_turn

where Δp is the translation and Δr the rotation vector, in base axes.  S is the rotation matrix
`directions`, k is `scale` and k_turn is `turn_scale`.  Soft walls around the workspace and the max
tool speed shorten the step.  Newton's method computes the joint values from the previous ones, so
the arm never jumps to another IK branch.  If a step is out of reach or beyond a joint limit, only
its translation is made, else only its rotation, else none.  A step that exceeds a joint speed limit
is shortened.  All settings can be changed at run time; the max tool speed cannot be set above its
initial value.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from brazo.checks import positive
from brazo.errors import BrazoError
from brazo.kinematics.orientation import matrix_from_rotvec, rotvec_from_matrix
from brazo.kinematics.result import range_text, violations
from brazo.teleop.mapping.base import IncrementMap, JointTarget, MasterPoint, Plausible, scale_of
from brazo.teleop.mapping.walls import Workspace
from brazo.trajectory.cartesian_jog import ToolLimits
from brazo.trajectory.joint_rates import ToolMotion
from brazo.trajectory.limits import Limits
from brazo.trajectory.tracker import LAGS, pursue

if TYPE_CHECKING:
    from brazo.robot import Robot

Array = np.ndarray
SETTINGS = ("scale", "directions", "turn_scale", "orientation", "tool_speed")


class PoseMap:
    """Mapping from the handle pose of a master to the joints of a follower.

    `limits` are the joint limits of the follower.  `master` is the model of the master robot; it is
    required if the master sends joint values and no pose.  `workspace` is the allowed region of the
    follower's tool, `tool` contains the max tool speeds, and `orientation` is whether rotations are
    mapped.
    """

    def __init__(
        self,
        follower: Robot,
        limits: Limits,
        master: Robot | None = None,
        increments: IncrementMap | None = None,
        *,
        turn_scale: float = 1.0,
        orientation: bool = True,
        workspace: Workspace | None = None,
        tool: ToolLimits | None = None,
        plausible: Plausible | None = None,
    ) -> None:
        if limits.n != follower.n:
            raise BrazoError(
                f"limits are for {limits.n} joints; '{follower.name}' has {follower.n}"
            )
        self.follower, self.master, self.limits = follower, master, limits
        self.increments = increments or IncrementMap()
        self.turn_scale = scale_of(turn_scale, "turn_scale")
        self.orientation = orientation
        self.workspace = workspace
        self.tool = tool or ToolLimits()
        self.tool_speed = self.tool.speed
        self.plausible = plausible or Plausible()
        self._motion = ToolMotion(follower)
        self._how: Literal["full", "nearest"] = "full" if follower.mobility == 6 else "nearest"
        self._last = np.eye(4)  # handle pose
        self._q = np.zeros(follower.n)
        self._T = np.eye(4)  # tool pose of the follower

    def set(self, name: str, value: Any) -> None:
        """Change `scale`, `directions`, `turn_scale`, `tool_speed` or `orientation`.

        This causes no motion by itself, because only increments are mapped.
        """
        if name in ("scale", "directions"):
            self.increments = self.increments.changed(name, value)
        elif name == "turn_scale":
            self.turn_scale = scale_of(value, name)
        elif name == "tool_speed":
            speed = positive(value, name)
            if speed > self.tool.speed:
                raise BrazoError(
                    f"tool_speed is {speed:g} m/s; it must not exceed the follower's limit of "
                    f"{self.tool.speed:g} m/s"
                )
            self.tool_speed = speed
        elif name == "orientation":
            if not isinstance(value, bool):
                raise BrazoError(f"orientation is {value!r}; expected true or false")
            self.orientation = value
        else:
            raise BrazoError(f"no setting {name!r}; settings: {', '.join(SETTINGS)}")

    def settings(self) -> dict[str, Any]:
        """Return `scale` and `directions` (nine numbers, row by row, rounded to nine digits)."""
        return self.increments.settings()

    @property
    def pose(self) -> Array:
        """Commanded tool pose (4, 4) of the follower."""
        return self._T.copy()

    def obstacle(self, master: MasterPoint, q: Array) -> str:
        """Return why following cannot start with the follower at q (n,), or "" if it can."""
        if self._handle(master) is None:
            n = "" if self.master is None else f" (expected a pose or {self.master.n} joint values)"
            return f"the master sends no pose{n}"
        past = violations(q, self.limits.position)
        if not past.any():
            return ""
        i = int(np.argmax(past))
        allowed = range_text(self.follower.joint_kinds[i], self.limits.position[i])
        name = self.follower.joint_names[i]
        return f"joint {i + 1} ({name}) is past its limit: allowed {allowed}"

    def anchor(self, master: MasterPoint, q: Array) -> None:
        """Set the master position and the follower's q (n,) from which the next step starts."""
        T = self._handle(master)
        assert T is not None
        self._last = T
        self._q, self._T = q.copy(), self.follower.fk(q).copy()

    def step(self, master: MasterPoint, dt: float) -> JointTarget:
        """Return the joint target for the master position, dt seconds after the last step."""
        T = self._handle(master)
        if T is None:
            return JointTarget(self._q, jump="the pose is missing")
        moved = T[:3, 3] - self._last[:3, 3]
        turned = rotvec_from_matrix(T[:3, :3] @ self._last[:3, :3].T)
        if jump := self._implausible(moved, turned, dt):
            return JointTarget(self._q, jump=jump)
        self._last = T
        warnings: list[str] = []
        move = self._bounded(self.increments(moved), self.tool_speed * dt, warnings)
        turn = np.zeros(3)
        if self.orientation:
            turn = self.increments.directions @ turned / self.turn_scale
            turn = self._bounded(turn, self.tool.angular_speed * dt, warnings)
        if move.any() or turn.any():
            self._take(move, turn, dt, warnings)
        if self.workspace is not None:
            warnings += self.workspace.warnings(self._T[:3, 3])
        return JointTarget(self._q.copy(), tuple(warnings))

    def _take(self, move: Array, turn: Array, dt: float, warnings: list[str]) -> None:
        """Make the first feasible one of: the whole step, its translation only, its rotation only.

        `move` (3,) is the translation in m, `turn` (3,) is the rotation vector in rad.  The reason
        why the whole step is not feasible is appended to `warnings`.
        """
        why = ""
        for shift, twist in ((move, turn), (move, 0.0 * turn), (0.0 * move, turn)):
            if not (shift.any() or twist.any()):
                continue
            refused = self._try(shift, twist, dt, warnings)
            if not refused:
                break
            why = why or refused
        if why:
            warnings.append(why)

    def _try(self, move: Array, turn: Array, dt: float, warnings: list[str]) -> str:
        """Make a step and return ""; if it is not feasible, only return the reason."""

        def path(share: float) -> Array:
            return self._moved(share * move, share * turn)

        found = pursue(self._motion, self.limits, self._q, self._T, path, self._how, dt)
        if found.why:
            return found.why
        if found.lags:
            warnings.append(LAGS)
        self._q = found.q
        self._T = found.T if self._how == "full" else self.follower.fk(found.q).copy()
        self._T[:3, 3] = found.T[:3, 3]
        return ""

    def _moved(self, move: Array, turn: Array) -> Array:
        T = self._T.copy()
        if self.workspace is None:
            T[:3, 3] += move
        else:
            T[:3, 3] = self.workspace.step(T[:3, 3], move)
        R = matrix_from_rotvec(turn) @ T[:3, :3]
        # One Newton step to the nearest rotation, so that rounding errors do not accumulate.
        T[:3, :3] = 1.5 * R - 0.5 * R @ R.T @ R
        return T

    def _handle(self, master: MasterPoint) -> Array | None:
        if master.T is not None:
            return master.T
        if self.master is not None and master.q is not None and len(master.q) == self.master.n:
            return self.master.fk(master.q).copy()
        return None

    def _implausible(self, moved: Array, turned: Array, dt: float) -> str:
        limit = self.plausible
        distance, angle = float(np.linalg.norm(moved)), float(np.linalg.norm(turned))
        if distance > limit.slack + limit.speed * dt:
            return f"{1e3 * distance:.0f} mm in {1e3 * dt:.0f} ms"
        if self.orientation and angle > limit.angular_slack + limit.angular_speed * dt:
            return f"{math.degrees(angle):.0f}° in {1e3 * dt:.0f} ms"
        return ""

    @staticmethod
    def _bounded(step: Array, most: float, warnings: list[str]) -> Array:
        length = float(np.linalg.norm(step))
        if length <= most:
            return step
        warnings.append("the tool lags: the master moves faster than the tool speed limit")
        return step * (most / length)
