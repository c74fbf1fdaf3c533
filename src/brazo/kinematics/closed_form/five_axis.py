"""Five-joint arms: base yaw, three parallel joints perpendicular to it, and roll of the tool.

Such an arm moves its tool in a vertical plane, which joint 1 (yaw) rotates about axis 1. It has
five of the six degrees of freedom of a pose: **position, pitch of the tool axis, and roll**. The
tool axis cannot leave the plane of the arm. The rule for a full pose is:

  The position is reached exactly. The orientation is the feasible one at this position with the
  smallest angle to the target orientation. This angle is the orientation error of the branch. The
  pitch is never changed to increase the reach: if the arm cannot reach the position with this
  orientation, there is no solution.

Equations: let a₁ and a₂ be the directions of axes 1 and 2 at q = 0, f = a₂ × a₁ the forward
direction, and p_f, p_l the components of the target position along f and a₂. At yaw q₁ the target
must have the lateral offset o of the arm: −p_f sin q₁ + p_l cos q₁ = o. This equation has two
solutions: the arm faces the target, or it faces away from it and reaches backwards. In the plane of
the arm, the feasible orientations are rotations by q₅ about the tool axis, then by ψ about a₂. The
orientation nearest to the target has a closed form (`planar.nearest_two_turns`). ψ determines the
position of axis 4. Two links reach this position with the elbow on either side, and q₄ is such
that the rotations of joints 2 to 4 add up to ψ.

If the tool is not on axis 5, it moves sideways during a roll, so yaw depends on roll. In this case
q₅ is found by a numerical search.

Branches:

- FRONT: the tool is on the forward side of axis 1; otherwise BACK. The forward side is the side of
  the tool at q = 0. If the arm is vertical at q = 0, it is the side to which positive q₂ tilts it.
- ABOVE or BELOW: side of the line from shoulder to wrist on which the elbow is. ABOVE is the upper
  side if this line is horizontal and points to the side of axis 1 on which the tool is.

If the tool is on axis 1, the target orientation determines the yaw, and FRONT means that the tool
axis is tilted forward. If the tool axis is also vertical, q₁ keeps its value from q0 (0 without
q0).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from brazo.codegen import Graph, GraphFunction
from brazo.codegen.circle import CircleMinimum
from brazo.codegen.ring import absolute, minimum, where
from brazo.errors import BrazoError
from brazo.kinematics.chain import Chain
from brazo.kinematics.closed_form.base import (
    ACCEPTED,
    GEOMETRY_TOLERANCE,
    Candidate,
    ClosedForm,
    Mismatch,
    Scalar,
)
from brazo.kinematics.closed_form.pairs import (
    Pair,
    Vector,
    angle_of,
    back,
    both_roots,
    dot2,
    length,
    of_angle,
    select,
    sum_of,
    times,
    turned_about,
)
from brazo.kinematics.closed_form.planar import (
    Plane,
    bend_of,
    headed,
    nearest_turn,
    nearest_two_turns,
    reach_of,
    two_links,
    within,
)
from brazo.kinematics.forward import Pose, compose, constant, subtract

Array = np.ndarray

FAMILY = "5R arm (yaw, three parallel joints, roll)"
# Closer than this fraction of the arm's size the tool counts as on axis 1.
_ON_AXIS = 1e-14
_HUGE = 1e300


def recognise(chain: Chain) -> FiveAxis | Mismatch:
    """Return the solver if the arm belongs to this family, otherwise the reason why it does not."""
    if chain.kinds != ("revolute",) * 5:
        kinds = "".join(kind[0].upper() for kind in chain.kinds)
        return Mismatch(FAMILY, f"its joints are {kinds}; five revolute joints are needed")
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
    """Solver for a five-joint arm; see the module docstring."""

    family = FAMILY
    meets = "nearest"
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
        self._searches: dict[int, CircleMinimum] = {}
        ahead = float(self.tool @ self.forward)
        self.front = -1.0 if ahead < -1e-6 * chain.size else 1.0

    def target(self, xyz: ArrayLike, pitch: ArrayLike, roll: ArrayLike, yaw: float = 0.0) -> Array:
        """Return a feasible tool pose (..., 4, 4) for a position, pitch and roll.

        xyz (..., 3) is the position of the tool (m). `pitch` (rad) is the elevation of the tool
        axis: at 0 it points away from axis 1, at π/2 up. `roll` (rad) is the value of joint 5 if
        the arm faces the target. `yaw` (rad) is the value of q₁ for positions on axis 1, which do
        not determine it.
        """
        xyz, pitch, roll = (np.asarray(part, dtype=float) for part in (xyz, pitch, roll))
        batch = np.broadcast_shapes(xyz.shape[:-1], pitch.shape, roll.shape)
        p = np.broadcast_to(xyz, (*batch, 3)).reshape(-1, 3) - self.foot
        pitch = np.broadcast_to(pitch, batch).reshape(-1)
        roll = np.broadcast_to(roll, batch).reshape(-1)
        A, B = self._lateral(list(p.T))
        C = np.broadcast_to(self._lateral_of_tool(of_angle(roll)), len(p))
        if np.any(np.abs(C) > np.hypot(A, B) + ACCEPTED * self.chain.size):
            raise BrazoError(
                f"position {xyz.tolist()} m: the arm's offset keeps the tool at least "
                f"{np.max(np.abs(C)):.4g} m from axis 1; move the target away from axis 1"
            )
        with np.errstate(invalid="ignore", divide="ignore"):
            both = both_roots(A, B, C, of_angle(float(yaw)), self.negligible)
        q1 = both[0 if self.front > 0 else 1]
        along = np.sin(pitch) + 1j * self.front * np.cos(pitch)
        psi = np.angle(along / self.plane.flat(self.a5))
        T = np.zeros((len(p), 4, 4))
        T[:, 3, 3] = 1.0
        for j, column in enumerate(self.chain.home[:3, :3].T.tolist()):
            for axis, turn in ((self.a5, of_angle(roll)), (self.a2, of_angle(psi)), (self.a1, q1)):
                column = turned_about(axis.tolist(), turn, column)
            for i, value in enumerate(column):
                T[:, i, j] = value
        T = T.reshape(*batch, 4, 4)
        T[..., :3, 3] = xyz
        return T

    def pitch_and_roll(self, q: ArrayLike) -> tuple[Array, Array]:
        """Return the elevation of the tool axis and the value of joint 5 (rad) at q (..., 5)."""
        q = np.asarray(q, dtype=float)
        along = self.plane.flat(self.a5) * np.exp(1j * (q[..., 1:4] @ self.signs))
        return np.arctan2(along.real, self.front * along.imag), q[..., 4]

    def flag_values(self, q: Array) -> Array:
        flat = q.reshape(-1, 5)
        p = self.chain.fk(flat)[:, :3, 3] - self.foot
        back_turned = turned_about(self.a1.tolist(), of_angle(-flat[:, 0]), list(p.T))
        ahead = np.stack(back_turned, axis=-1) @ self.forward
        along = (self.plane.flat(self.a5) * np.exp(1j * (flat[:, 1:4] @ self.signs))).imag
        side = np.where(
            np.abs(ahead) > self.negligible, ahead, np.where(np.abs(along) > 1e-12, along, 1.0)
        )
        side = np.where(side >= 0, 1.0, -1.0)
        bend = bend_of(self.l1, self.l2, self.signs[1] * flat[:, 2])
        values = [side * self.front < 0, side * bend < -1e-12]
        return np.stack(values, axis=-1).astype(int).reshape(*q.shape[:-1], 2)

    def why_unreachable(self, T: ArrayLike) -> str | None:
        pose = constant(np.asarray(T, dtype=float).reshape(4, 4))
        if self.solve(T).valid.any():
            return None
        A, B = self._lateral(subtract(pose[1], self.foot.tolist()))
        radius, least = float(np.hypot(A, B)), abs(float(self.tool @ self.a2))
        if not self.tool_beside and radius < least - ACCEPTED * self.chain.size:
            return (
                f"the tool would be {radius:.4g} m from axis 1, but the arm's offset keeps it at "
                f"least {least:.4g} m away"
            )
        W = [float(length(*side[4])) for side in self._sides(pose, (1.0, 0.0), None)]
        ways = " or ".join(f"{d:.4g}" for d in sorted({round(d, 6) for d in W}))
        return (
            f"axis 4 would be {ways} m from the shoulder axis (axis 2) at this pitch of the tool; "
            f"the arm reaches {self.reach[0]:.4g} to {self.reach[1]:.4g} m"
        )

    def formula(self, T: Pose, q0: list[Scalar], given: Scalar) -> list[Candidate]:
        s1, s2, s3 = self.signs.tolist()
        graph = getattr(T[0][0], "graph", None)
        found = []
        for side, (q1, roll, psi, exists, W) in enumerate(self._sides(T, of_angle(q0[0]), graph)):
            ways = two_links(self.l1, self.l2, W, of_angle(s1 * q0[1]))
            # A forward bend is ABOVE if the arm reaches out along f, and BELOW on the other side.
            for alpha, beta in ways if side == 0 else ways[::-1]:
                turns = [s1 * angle_of(alpha), s2 * angle_of(beta), s3 * headed(psi, alpha, beta)]
                found.append(Candidate([angle_of(q1), *turns, angle_of(roll)], exists))
        return found if self.front > 0 else [*found[2:], *found[:2]]

    def _sides(
        self, T: Pose, free: Pair, graph: Graph | None
    ) -> list[tuple[Pair, Pair, Pair, Scalar, Pair]]:
        """Return two tuples (q₁, q₅, ψ, exists, W), one for each side of axis 1.

        In the first tuple, the tool is on the side of the forward direction f. ψ is the rotation by
        joints 2 to 4 together. `exists` is ≥ 0 where there is a solution. W is the position of axis
        4 relative to axis 2 in the plane of the arm. `free` is the value of q₁ to use if the target
        does not determine it. If the tool is off axis 5, `graph` is needed to search for the roll
        q₅; without `graph`, q₅ is exact only for poses that the arm can reach exactly.
        """
        R, _ = compose((T[0], [0.0] * 3), constant(np.linalg.inv(self.chain.home)))
        p = subtract(T[1], self.foot.tolist())
        along = [sum_of(self.a5.tolist(), R[3 * i : 3 * i + 3]) for i in range(3)]
        # The two yaws at which the target's tool axis is in the plane of the arm.
        yaws = both_roots(*self._lateral(along), 0.0, free, 1e-12)
        rolls = self._rolls(p, R, yaws, graph) if self.tool_beside else None
        sides = []
        for side in (0, 1):
            roll: Pair = (1.0, 0.0) if rolls is None else rolls[side]
            q1, exists = self._yaw(p, self._lateral_of_tool(roll), yaws, side)
            unyawed = self._unyawed(R, q1)
            if rolls is None:
                psi, roll = nearest_two_turns(unyawed, self.a2, self.a5)
            else:
                psi = nearest_turn(self._unrolled(unyawed, roll), self.a2)
            place = self.plane.pair(turned_about(self.a1.tolist(), back(q1), p))
            tool = self.plane.pair(self._tool_at(roll))
            x, y = times(psi, (tool[0] - self.P4.real, tool[1] - self.P4.imag))
            W = place[0] - x - self.P2.real, place[1] - y - self.P2.imag
            exists = minimum(exists, within(length(*W), self.reach))
            sides.append((q1, roll, psi, exists, W))
        return sides

    def _yaw(
        self, p: Vector, lateral: Scalar, yaws: tuple[Pair, Pair], side: int
    ) -> tuple[Pair, Scalar]:
        """Return q₁ for the tool on one side of axis 1, and a value that is ≥ 0 where q₁ exists.

        `side` is 0 for the side of the forward direction f and 1 for the opposite side. p is the
        target position relative to a point on axis 1. `lateral` (m) is the offset of the tool along
        axis 2. `yaws` are the two yaw angles for which the tool axis of the target is in the plane
        of the arm.
        """
        A, B = self._lateral(p)
        radius = length(A, B)
        on_axis = self.negligible - radius
        yaw = both_roots(A, B, lateral, yaws[side])[side]
        # Close to axis 1 the position determines the yaw with few digits only.  The yaw from the
        # orientation is better if it gives the same side and keeps the position to rounding.
        own = select(dot2(yaws[0], yaw) - dot2(yaws[1], yaw), yaws[0], yaws[1])
        off = absolute(A * own[0] + B * own[1] - lateral)
        ahead = (A * own[1] - B * own[0]) * (1.0 - 2.0 * side)
        better = minimum(self.negligible - off, ahead + self.negligible)
        yaw = select(on_axis, yaws[side], select(better, own, yaw))
        return yaw, radius + ACCEPTED * self.chain.size - absolute(lateral)

    def _lateral(self, p: Vector) -> tuple[Scalar, Scalar]:
        """Return (A, B): at yaw q₁, the component of p along axis 2 is A cos q₁ + B sin q₁."""
        return sum_of(self.a2.tolist(), p), -sum_of(self.forward.tolist(), p)

    def _lateral_of_tool(self, roll: Pair) -> Scalar:
        """Return the offset (m) of the tool along axis 2 with joint 5 at `roll`."""
        return sum_of(self.a2.tolist(), self._tool_at(roll))

    def _tool_at(self, roll: Pair) -> list[Scalar]:
        """Return the tool position relative to a point on axis 1.

        The value of joint 5 is `roll`; the other joints are at 0.
        """
        point = self.on_axis_5 - self.foot
        arm = turned_about(self.a5.tolist(), roll, (self.tool - point).tolist())
        return [a + b for a, b in zip(point.tolist(), arm, strict=True)]

    def _unyawed(self, R: Vector, q1: Pair) -> list[Scalar]:
        """Remove the yaw from R (nine scalars): return R rotated by −q₁ about axis 1."""
        columns = [turned_about(self.a1.tolist(), back(q1), R[j::3]) for j in range(3)]
        return [columns[j][i] for i in range(3) for j in range(3)]

    def _unrolled(self, R: Vector, roll: Pair) -> list[Scalar]:
        """Remove the roll from R: return R times the rotation by −roll about axis 5, row by row."""
        rows = [turned_about(self.a5.tolist(), roll, R[3 * i : 3 * i + 3]) for i in range(3)]
        return [x for row in rows for x in row]

    def _rolls(
        self, p: Vector, R: Vector, yaws: tuple[Pair, Pair], graph: Graph | None
    ) -> list[Pair]:
        """Return two values of q₅, one for each side of axis 1, for a tool that is off axis 5.

        They have the smallest orientation error. The arguments are explained in `_yaw` and
        `_sides`; R is the rotation from the tool orientation at q = 0 to the target orientation.
        """
        # If the pose is exactly feasible, the position of axis 5 determines the roll.
        arm = (self.on_axis_5 - self.foot - self.tool).tolist()
        point = [a + sum_of(arm, R[3 * i : 3 * i + 3]) for i, a in enumerate(p)]
        lateral = float((self.on_axis_5 - self.foot) @ self.a2)
        exact = [
            nearest_two_turns(self._unyawed(R, q1), self.a2, self.a5)[1]
            for q1 in both_roots(*self._lateral(point), lateral, yaws[0], self.negligible)
        ]
        rolls = []
        for side in (0, 1):
            first, second = (
                self._orientation_error(p, R, yaws[side], roll, side) for roll in exact
            )
            best = select(second - first, exact[0], exact[1])
            if graph is not None:
                need = minimum(first, second) - 1e-9
                given = [*p, *R, *yaws[side]]
                ((angle,),) = graph.call(self._search(side), [angle_of(best)], [need], given)
                best = of_angle(angle)
            rolls.append(best)
        return rolls

    def _orientation_error(self, p: Vector, R: Vector, free: Pair, roll: Pair, side: int) -> Scalar:
        """Return the smallest orientation error (sine of half the angle) with joint 5 at `roll`.

        The result is very large if the position is out of reach. `free` is the value of q₁ for
        positions on axis 1. The other arguments are explained in `_yaw` and `_rolls`.
        """
        A, B = self._lateral(p)
        lateral = self._lateral_of_tool(roll)
        q1 = both_roots(A, B, lateral, free, self.negligible)[side]
        M = self._unrolled(self._unyawed(R, q1), roll)
        psi = nearest_turn(M, self.a2)
        turned = [turned_about(self.a2.tolist(), psi, row) for row in np.eye(3).tolist()]
        gap = length(*(M[3 * i + j] - turned[j][i] for i in range(3) for j in range(3)))
        reached = length(A, B) + ACCEPTED * self.chain.size - absolute(lateral)
        return where(reached, gap * 8.0**-0.5, _HUGE)

    def _search(self, side: int) -> CircleMinimum:
        """Make the compiled search for q₅ with the smallest `_orientation_error` on one side."""
        if side not in self._searches:
            graph = Graph()
            (roll,) = graph.inputs("x", 1)
            given = graph.inputs("p", 14)
            gap = self._orientation_error(
                given[:3], given[3:12], (given[12], given[13]), of_angle(roll), side
            )
            function = GraphFunction(f"gap{side}", graph, {"gap": [gap]})
            self._searches[side] = CircleMinimum(f"roll{side}", function)
        return self._searches[side]
