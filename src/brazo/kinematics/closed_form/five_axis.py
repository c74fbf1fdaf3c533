"""Five revolute joints: base yaw, three parallel joints square to it, and roll about the tool's
axis.

Such an arm moves its tool in a vertical plane that yaw turns about axis 1, so it has five of the
six freedoms of a pose: **position, pitch of the tool's axis, and roll**.  The tool's axis cannot
leave the arm's plane.  For a full pose the rule is:

  the position is kept exactly, and of the orientations that are possible there the nearest to the
  target's (smallest angle of rotation) is taken; the angle that remains is reported as the branch's
  orientation error.  Pitch is never traded for reach: where the arm cannot reach the position with
  that orientation, there is no solution.

The maths.  Let f = a₂ × a₁ be forward.  Yaw q₁ puts the target's lateral coordinate at the arm's
offset o: −p_f sin q₁ + p_l cos q₁ = o, two solutions, one with the tool in front of axis 1 and
one with the arm turned away, reaching over its back.  Seen from there, orientations are turns by
q₅ about the tool's axis, then by ψ about a₂; the nearest is known in closed form
(`planar.nearest_two_turns`).  ψ places axis 4, two links reach it with the elbow on either side,
and the fourth joint makes up ψ.

A tool beside axis 5 swings sideways as it rolls, so yaw depends on roll; then q₅ is searched.

Branches: FRONT, the tool is on the arm's forward side of axis 1 (the side on which it is at q =
0; for an arm that stands upright there, the side to which positive q₂ leans); BACK, on the
other.  ABOVE, the elbow is above the line from shoulder to wrist for an arm that reaches out to
that side; else BELOW. With the tool on axis 1 the target's orientation sets the yaw, and FRONT
means that the tool's axis leans forward; where it is vertical too, q₁ keeps its value of q0 (0
without q0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.chain import Chain
from brazo.kinematics.closed_form.base import (
    ACCEPTED,
    GEOMETRY_TOLERANCE,
    ClosedForm,
    Mismatch,
    pose_errors,
    solve_trig,
    wrap,
)
from brazo.kinematics.closed_form.planar import (
    Plane,
    bend_of,
    nearest_two_turns,
    quaternion_square,
    reach_of,
    two_links,
    within,
)
from brazo.kinematics.closed_form.scara import turned_about
from brazo.kinematics.closed_form.search import lowest_on_circle

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Array = np.ndarray

FAMILY = "5R arm (yaw, three parallel joints, roll)"
# A fraction of the arm's size that is rounding: the tool counts as on axis 1.
_ON_AXIS = 1e-14


def recognise(chain: Chain) -> FiveAxis | Mismatch:
    """The solver of an arm of this family, or the reason why it does not belong to it."""
    if chain.kinds != ("revolute",) * 5:
        return Mismatch(FAMILY, f"it has {chain.n} joints or slides, not five revolute joints")
    a, _ = chain.home_axes
    for i in (2, 3):
        if np.linalg.norm(np.cross(a[1], a[i])) > GEOMETRY_TOLERANCE:
            return Mismatch(FAMILY, f"axis {i + 1} is not parallel to axis 2")
    for i, j in ((0, 1), (4, 3)):
        if abs(a[i] @ a[j]) > GEOMETRY_TOLERANCE:
            return Mismatch(FAMILY, f"axis {i + 1} is not perpendicular to axis {j + 1}")
    solver = FiveAxis(chain)
    if min(abs(solver.l1), abs(solver.l2)) <= GEOMETRY_TOLERANCE * chain.size:
        return Mismatch(FAMILY, "two of its parallel axes coincide")
    return solver


class FiveAxis(ClosedForm):
    """See the module docstring; created by `recognise`."""

    family = FAMILY
    flags = (("facing", ("FRONT", "BACK")), ("elbow", ("ABOVE", "BELOW")))

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.negligible = _ON_AXIS * chain.size
        a, points = chain.home_axes
        self.a1, self.a2, self.a5 = a[0], a[1], a[4]
        self.forward = np.cross(self.a2, self.a1)
        self.foot, self.on_axis_5 = points[0], points[4]
        self.plane = Plane.across(self.a2, self.a1)  # up + i forward
        self.signs = np.sign(a[1:4] @ self.a2)
        self.P2, P3, self.P4 = self.plane.flat(points[1:4] - self.foot)
        self.l1, self.l2 = P3 - self.P2, self.P4 - P3
        self.reach = reach_of(self.l1, self.l2)
        self.tool = chain.home[:3, 3] - self.foot
        beside = self.tool + self.foot - self.on_axis_5
        beside = beside - (beside @ self.a5) * self.a5
        self.tool_beside = float(np.linalg.norm(beside)) > GEOMETRY_TOLERANCE * chain.size
        ahead = float(self.tool @ self.forward)
        self.front = -1.0 if ahead < -1e-6 * chain.size else 1.0

    def target(self, xyz: ArrayLike, pitch: ArrayLike, roll: ArrayLike, yaw: float = 0.0) -> Array:
        """The pose (..., 4, 4) with the tool at xyz (..., 3), as five freedoms give it.

        `pitch` (rad) is the elevation of the tool's axis, pointing away from axis 1; `roll` (rad)
        joint 5's value when the arm faces the target; `yaw` joint 1's for positions on axis 1.
        """
        xyz, pitch, roll = (np.asarray(part, dtype=float) for part in (xyz, pitch, roll))
        batch = np.broadcast_shapes(xyz.shape[:-1], pitch.shape, roll.shape)
        p = np.broadcast_to(xyz, (*batch, 3)).reshape(-1, 3) - self.foot
        pitch = np.broadcast_to(pitch, batch).reshape(-1)
        roll = np.broadcast_to(roll, batch).reshape(-1)
        A, B, C = self._lateral(p, self._lateral_of_tool(roll))
        if np.any(np.abs(C) > np.hypot(A, B) + ACCEPTED * self.chain.size):
            raise BrazoError(
                f"position {xyz.tolist()}: the arm's offset keeps its tool at least "
                f"{np.max(np.abs(C)):.4g} m from axis 1; move the target out"
            )
        side = 0 if self.front > 0 else 1
        q1 = solve_trig(A, B, C, np.full(len(p), float(yaw)), self.negligible)[:, side]
        along = np.sin(pitch) + 1j * self.front * np.cos(pitch)
        psi = np.angle(along / self.plane.flat(self.a5))
        R = np.broadcast_to(self.chain.home[:3, :3], (len(p), 3, 3))
        for axis, angle in ((self.a5, roll), (self.a2, psi), (self.a1, q1)):
            R = np.swapaxes(turned_about(axis, angle[:, None], np.swapaxes(R, 1, 2)), 1, 2)
        T = np.zeros((len(p), 4, 4))
        T[:, :3, :3], T[:, 3, 3] = R, 1.0
        T = T.reshape(*batch, 4, 4)
        T[..., :3, 3] = xyz
        return T

    def pitch_and_roll(self, q: ArrayLike) -> tuple[Array, Array]:
        """Elevation of the tool's axis (rad) and joint 5's value, at configurations (..., 5)."""
        q = np.asarray(q, dtype=float)
        along = self.plane.flat(self.a5) * np.exp(1j * (q[..., 1:4] @ self.signs))
        return np.arctan2(along.real, self.front * along.imag), q[..., 4]

    def flag_values(self, q: Array) -> Array:
        flat = q.reshape(-1, 5)
        p = self.chain.fk(flat)[:, :3, 3] - self.foot
        ahead = turned_about(self.a1, -flat[:, 0], p) @ self.forward
        along = (self.plane.flat(self.a5) * np.exp(1j * (flat[:, 1:4] @ self.signs))).imag
        side = np.where(
            np.abs(ahead) > self.negligible, ahead, np.where(np.abs(along) > 1e-12, along, 1.0)
        )
        side = np.where(side >= 0, 1.0, -1.0)
        bend = bend_of(self.l1, self.l2, self.signs[1] * flat[:, 2])
        values = [side * self.front < 0, side * bend < -1e-12]
        return np.stack(values, axis=-1).astype(int).reshape(*q.shape[:-1], 2)

    def why_unreachable(self, T: ArrayLike) -> str | None:
        T = np.asarray(T, dtype=float).reshape(1, 4, 4)
        _, valid, W, _ = self._reach(T, np.zeros((1, 5)))
        if valid.any():
            return None
        p = T[:, :3, 3] - self.foot
        A, B, _ = self._lateral(p, np.zeros(1))
        radius, least = float(np.hypot(A, B)[0]), abs(float(self.tool @ self.a2))
        if not self.tool_beside and radius < least - ACCEPTED * self.chain.size:
            return (
                f"the tool would be {radius:.4g} m from axis 1, but the arm's offset keeps it at "
                f"least {least:.4g} m away"
            )
        ways = " or ".join(f"{d:.4g}" for d in sorted({round(float(d), 6) for d in abs(W[0])}))
        return (
            f"axis 4 would be {ways} m from the shoulder axis (axis 2) at this pitch of the tool, "
            f"the arm reaches {self.reach[0]:.4g} to {self.reach[1]:.4g} m"
        )

    def _solve(self, T: Array, q0: Array | None) -> tuple[Array, Array, Array, Array]:
        q0 = np.zeros((len(T), 5)) if q0 is None else q0
        angles, ok, W, psi = self._reach(T, q0)
        alpha, beta = two_links(self.l1, self.l2, W, (self.signs[0] * q0[:, 1])[:, None])
        # Bent forward is above for an arm that reaches out along f, below for the other side.
        alpha[:, 1], beta[:, 1] = alpha[:, 1, ::-1], beta[:, 1, ::-1]
        q = np.empty((len(T), 2, 2, 5))
        q[..., 0], q[..., 4] = angles[..., None, 0], angles[..., None, 1]
        turns = (alpha, beta, psi[..., None] - alpha - beta)
        for i, (sign, turn) in enumerate(zip(self.signs, turns, strict=True)):
            q[..., 1 + i] = sign * turn
        if self.front < 0:
            q, ok = q[:, ::-1], ok[:, ::-1]
        q = wrap(q.reshape(-1, 4, 5))
        return q, np.repeat(ok, 2, axis=1), *pose_errors(self.chain, q, T)

    def _reach(self, T: Array, q0: Array) -> tuple[Array, Array, Array, Array]:
        """For the tool on the f side and on the other: q₁ and q₅ (N, 2, 2), whether there is a
        solution, axis 4 seen from axis 2, and ψ (N, 2)."""
        p = T[:, :3, 3] - self.foot
        R = T[:, :3, :3] @ self.chain.home[:3, :3].T
        free = self._yaw_by_orientation(R, q0[:, 0])
        if self.tool_beside:
            roll = self._search_roll(p, R, free)
            lateral = self._lateral_of_tool(roll)
            q1, ok = self._yaw(p, lateral, free)
            psi = self._pitch_for_roll(R, q1, roll)[0]
        else:
            q1, ok = self._yaw(p, self._lateral_of_tool(np.zeros((len(T), 2))), free)
            psi, roll = nearest_two_turns(self._unyawed(R, q1), self.a2, self.a5)
        place = self.plane.flat(turned_about(self.a1, -q1, p[:, None]))
        tool = self.plane.flat(self._tool_at(roll))
        W = place - np.exp(1j * psi) * (tool - self.P4) - self.P2
        return np.stack([q1, roll], axis=-1), ok & within(np.abs(W), self.reach), W, psi

    def _yaw(self, p: Array, lateral: Array, free: Array) -> tuple[Array, Array]:
        """q₁ (N, 2) for both sides, whose tools are `lateral` (N, 2) off the arm's plane.

        `free` (N, 2) are the yaws that suit the target's orientation.
        """
        q1, ok = np.empty(lateral.shape), np.empty(lateral.shape, dtype=bool)
        for side in (0, 1):
            A, B, C = self._lateral(p, lateral[:, side])
            on_axis = np.hypot(A, B) <= self.negligible
            yaw = solve_trig(A, B, C, free[:, side], 0.0)[:, side]
            yaw = np.where(on_axis, free[:, side], yaw)
            # Close to axis 1 the position tells the yaw with few digits.  Where the orientation's
            # own yaw keeps the position to rounding, on the same side, it is the better one.
            away = np.abs(wrap(free - yaw[:, None]))
            own = np.where(away[:, 0] <= away[:, 1], free[:, 0], free[:, 1])
            off = np.abs(A * np.cos(own) + B * np.sin(own) - C)
            ahead = (A * np.sin(own) - B * np.cos(own)) * (1 - 2 * side)
            better = (off <= self.negligible) & (ahead >= -self.negligible) & ~on_axis
            q1[:, side] = np.where(better, own, yaw)
            ok[:, side] = np.abs(C) <= np.hypot(A, B) + ACCEPTED * self.chain.size
        return q1, ok

    def _yaw_by_orientation(self, R: Array, free: Array) -> Array:
        """q₁ (N, 2) that puts the tool's axis into the arm's plane, leaning forward and back."""
        along = R @ self.a5
        A, B, C = self._lateral(along, np.zeros(len(R)))
        return solve_trig(A, B, C, free, 1e-12)

    def _lateral(self, p: Array, offset: Array) -> tuple[Array, Array, Array]:
        """A cos q₁ + B sin q₁ = C: the yaw at which p (N, 3) is `offset` off the arm's plane."""
        return p @ self.a2, -(p @ self.forward), offset

    def _lateral_of_tool(self, roll: Array) -> Array:
        return self._tool_at(roll) @ self.a2

    def _tool_at(self, roll: Array) -> Array:
        """The tool point (..., 3), seen from axis 1's foot, with only joint 5 turned."""
        point = self.on_axis_5 - self.foot
        arm = np.broadcast_to(self.tool - point, (*roll.shape, 3))
        return point + turned_about(self.a5, roll, arm)

    def _unyawed(self, R: Array, q1: Array) -> Array:
        """Rz(−q₁) R for rotations (N, 3, 3) and yaws (N, K)."""
        columns = np.swapaxes(R, -1, -2)[:, None]
        return np.swapaxes(turned_about(self.a1, -q1[..., None], columns), -1, -2)

    def _pitch_for_roll(self, R: Array, q1: Array, roll: Array) -> tuple[Array, Array]:
        """The best ψ (N, K) for given yaws and rolls, and the angle that remains."""
        (w, qb), (qa, qc) = quaternion_square(self._unyawed(R, q1), self.a2, self.a5)
        s, c = np.sin(roll / 2), np.cos(roll / 2)
        upper, lower = w * c + qb * s, qa * c + qc * s
        across, over = w * s - qb * c, qa * s - qc * c
        # Unit quaternions: what is not along the turns is the sine of half the gap.
        gap = 2 * np.arctan2(np.hypot(across, over), np.hypot(upper, lower))
        return 2 * np.arctan2(lower, upper), gap

    def _search_roll(self, p: Array, R: Array, free: Array) -> Array:
        """q₅ (N, 2) of the smallest error for a tool beside axis 5, for both sides."""
        # For a pose that is exactly feasible the position of axis 5 gives the roll.
        point = p + R @ (self.on_axis_5 - self.foot - self.tool)
        lateral = np.full(len(p), (self.on_axis_5 - self.foot) @ self.a2)
        q1 = solve_trig(*self._lateral(point, lateral), free[:, 0], self.negligible)
        _, exact = nearest_two_turns(self._unyawed(R, q1), self.a2, self.a5)
        best = np.empty((len(p), 2))
        for side in (0, 1):
            gaps = self._gap(p, R, free[:, side], exact, side)
            pick = gaps.argmin(axis=1)[:, None]
            best[:, side] = np.take_along_axis(exact, pick, axis=1)[:, 0]
            rest = np.flatnonzero(gaps.min(axis=1) > 1e-9)
            if rest.size:
                some = (p[rest], R[rest], free[rest, side])
                best[rest, side], _ = lowest_on_circle(
                    lambda roll, some=some, side=side: self._gap(*some, roll, side), rest.size
                )
        return best

    def _gap(self, p: Array, R: Array, free: Array, roll: Array, side: int) -> Array:
        """Angle (N, K) left to the target with rolls (N, K); infinite out of reach."""
        A, B, C = np.broadcast_arrays(*self._lateral(p[:, None], self._lateral_of_tool(roll)))
        held = np.broadcast_to(free[:, None], roll.shape)
        q1 = solve_trig(A, B, C, held, self.negligible)[..., side]
        reached = np.abs(C) <= np.hypot(A, B) + ACCEPTED * self.chain.size
        return np.where(reached, self._pitch_for_roll(R, q1, roll)[1], np.inf)
