"""Five revolute joints: base yaw, three parallel joints perpendicular to it, and roll about the
tool's axis.

Such an arm moves its tool in a vertical plane that yaw turns about axis 1, so it has five of the
six freedoms of a pose: **position, pitch of the tool's axis, and roll**.  The tool's axis cannot
leave the arm's plane.  For a full pose the rule is:

  the position is kept exactly, and of the orientations that are possible there the nearest to the
  target's (smallest angle of rotation) is taken; the angle that remains is reported as the branch's
  orientation error.  Pitch is never traded for reach: where the arm cannot reach the position with
  that orientation, there is no solution.

The maths.  Let f = a₂ × a₁ be forward.  Yaw q₁ puts the target's lateral coordinate at the arm's
offset o: −p_f sin q₁ + p_l cos q₁ = o, two solutions, one with the tool in front of axis 1 and
one with the arm turned away, reaching over its back.  In that plane, orientations are rotations by
q₅ about the tool's axis, then by ψ about a₂; the nearest is known in closed form
(`planar.nearest_two_turns`).  ψ places axis 4, two links reach it with the elbow on either side,
and the fourth joint completes ψ.

A tool that is not on axis 5 moves sideways as it rolls, so yaw depends on roll; then q₅ is
searched.

Branches: FRONT, the tool is on the arm's forward side of axis 1 (the side on which it is at q =
0; for an arm that is vertical there, the side to which it tilts for positive q₂); BACK, on the
other.  ABOVE, the elbow is above the line from shoulder to wrist for an arm that reaches out to
that side; else BELOW. With the tool on axis 1 the target's orientation sets the yaw, and FRONT
means that the tool's axis is tilted forward; where it is also vertical, q₁ keeps its value of q0 (0
without q0).
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
# A fraction of the arm's size that is rounding: the tool counts as on axis 1.
_ON_AXIS = 1e-14
_HUGE = 1e300


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
        """The pose (..., 4, 4) with the tool at xyz (..., 3), from the arm's five degrees of
        freedom.

        `pitch` (rad) is the elevation of the tool's axis, pointing away from axis 1; `roll` (rad)
        joint 5's value when the arm faces the target; `yaw` joint 1's for positions on axis 1.
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
                f"position {xyz.tolist()}: the arm's offset keeps its tool at least "
                f"{np.max(np.abs(C)):.4g} m from axis 1; move the target out"
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
        """Elevation of the tool's axis (rad) and joint 5's value, at configurations (..., 5)."""
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
            f"axis 4 would be {ways} m from the shoulder axis (axis 2) at this pitch of the tool, "
            f"the arm reaches {self.reach[0]:.4g} to {self.reach[1]:.4g} m"
        )

    def formula(self, T: Pose, q0: list[Scalar], given: Scalar) -> list[Candidate]:
        s1, s2, s3 = self.signs.tolist()
        graph = getattr(T[0][0], "graph", None)
        found = []
        for side, (q1, roll, psi, exists, W) in enumerate(self._sides(T, of_angle(q0[0]), graph)):
            ways = two_links(self.l1, self.l2, W, of_angle(s1 * q0[1]))
            # Bent forward is above for an arm that reaches out along f, below for the other side.
            for alpha, beta in ways if side == 0 else ways[::-1]:
                turns = [s1 * angle_of(alpha), s2 * angle_of(beta), s3 * headed(psi, alpha, beta)]
                found.append(Candidate([angle_of(q1), *turns, angle_of(roll)], exists))
        return found if self.front > 0 else [*found[2:], *found[:2]]

    def _sides(
        self, T: Pose, free: Pair, graph: Graph | None
    ) -> list[tuple[Pair, Pair, Pair, Scalar, Pair]]:
        """For the tool on the f side and on the other: q₁, q₅ and ψ, a value that is ≥ 0 where
        there is a solution, and axis 4 relative to axis 2.  Without a graph a roll that has to
        be searched for keeps its value for a feasible pose."""
        R, _ = compose((T[0], [0.0] * 3), constant(np.linalg.inv(self.chain.home)))
        p = subtract(T[1], self.foot.tolist())
        along = [sum_of(self.a5.tolist(), R[3 * i : 3 * i + 3]) for i in range(3)]
        # The yaws that put the tool's axis into the arm's plane, leaning forward and back.
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
        """q₁ for one side, whose tool is `lateral` off the arm's plane, and ≥ 0 where it exists.

        `yaws` are those of the target's orientation.
        """
        A, B = self._lateral(p)
        radius = length(A, B)
        on_axis = self.negligible - radius
        yaw = both_roots(A, B, lateral, yaws[side])[side]
        # Close to axis 1 the position determines the yaw with few digits only.  Where the
        # orientation's own yaw keeps the position to rounding, on the same side, it is the better
        # one.
        own = select(dot2(yaws[0], yaw) - dot2(yaws[1], yaw), yaws[0], yaws[1])
        off = absolute(A * own[0] + B * own[1] - lateral)
        ahead = (A * own[1] - B * own[0]) * (1.0 - 2.0 * side)
        better = minimum(self.negligible - off, ahead + self.negligible)
        yaw = select(on_axis, yaws[side], select(better, own, yaw))
        return yaw, radius + ACCEPTED * self.chain.size - absolute(lateral)

    def _lateral(self, p: Vector) -> tuple[Scalar, Scalar]:
        """A, B of A cos q₁ + B sin q₁: distance of p from the arm's plane at yaw q₁."""
        return sum_of(self.a2.tolist(), p), -sum_of(self.forward.tolist(), p)

    def _lateral_of_tool(self, roll: Pair) -> Scalar:
        return sum_of(self.a2.tolist(), self._tool_at(roll))

    def _tool_at(self, roll: Pair) -> list[Scalar]:
        """The tool point relative to the foot of axis 1, with all joints but joint 5 at 0."""
        point = self.on_axis_5 - self.foot
        arm = turned_about(self.a5.tolist(), roll, (self.tool - point).tolist())
        return [a + b for a, b in zip(point.tolist(), arm, strict=True)]

    def _unyawed(self, R: Vector, q1: Pair) -> list[Scalar]:
        """A rotation with the yaw removed."""
        columns = [turned_about(self.a1.tolist(), back(q1), R[j::3]) for j in range(3)]
        return [columns[j][i] for i in range(3) for j in range(3)]

    def _unrolled(self, R: Vector, roll: Pair) -> list[Scalar]:
        """R with the roll removed: R times the rotation by −roll about a₅, row by row."""
        rows = [turned_about(self.a5.tolist(), roll, R[3 * i : 3 * i + 3]) for i in range(3)]
        return [x for row in rows for x in row]

    def _rolls(
        self, p: Vector, R: Vector, yaws: tuple[Pair, Pair], graph: Graph | None
    ) -> list[Pair]:
        """q₅ of the smallest error for a tool that is not on axis 5, for both sides."""
        # For a pose that is exactly feasible the position of axis 5 gives the roll.
        arm = (self.on_axis_5 - self.foot - self.tool).tolist()
        point = [a + sum_of(arm, R[3 * i : 3 * i + 3]) for i, a in enumerate(p)]
        lateral = float((self.on_axis_5 - self.foot) @ self.a2)
        exact = [
            nearest_two_turns(self._unyawed(R, q1), self.a2, self.a5)[1]
            for q1 in both_roots(*self._lateral(point), lateral, yaws[0], self.negligible)
        ]
        rolls = []
        for side in (0, 1):
            first, second = (self._gap(p, R, yaws[side], roll, side) for roll in exact)
            best = select(second - first, exact[0], exact[1])
            if graph is not None:
                need = minimum(first, second) - 1e-9
                given = [*p, *R, *yaws[side]]
                ((angle,),) = graph.call(self._search(side), [angle_of(best)], [need], given)
                best = of_angle(angle)
            rolls.append(best)
        return rolls

    def _gap(self, p: Vector, R: Vector, free: Pair, roll: Pair, side: int) -> Scalar:
        """Orientation error (sine of half the angle) of a roll; very large out of reach."""
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
        if side not in self._searches:
            graph = Graph()
            (roll,) = graph.inputs("x", 1)
            given = graph.inputs("p", 14)
            gap = self._gap(given[:3], given[3:12], (given[12], given[13]), of_angle(roll), side)
            function = GraphFunction(f"gap{side}", graph, {"gap": [gap]})
            self._searches[side] = CircleMinimum(f"roll{side}", function)
        return self._searches[side]
