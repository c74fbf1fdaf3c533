"""Six-joint arms with a spherical wrist: the axes of the last three joints meet in a point.

The wrist axes may have any angles to each other. The first three joints are R-R-R with any axes, or
R-R-P (the Stanford arm).

The wrist centre, where axes 4, 5 and 6 meet, is known from the target. It depends only on q₁, q₂
and q₃ (`position.py`, up to four solutions). The remaining rotation is that of the wrist,

    R₃₆ = Rz(q₄) R₄ Rz(q₅) R₅ Rz(q₆).

The entry (3, 3) of R₃₆ is linear in cos q₅ and sin q₅. This gives two values of q₅, each with one
q₄ and one q₆.

Branch names of arms with parallel axes 2 and 3: a₁ and a₂ are the directions of axes 1 and 2, and f
= a₂ × a₁ is the forward direction of the arm. o is the offset of the wrist centre along a₂ from the
common normal of axes 1 and 2. s is the component along f of the vector from axis 1 to the wrist
centre.

    LEFTY  s·o ≥ 0 (o = 0 counts as positive): seen from above and from axis 1 towards the wrist,
           the plane of the arm passes on the left of axis 1; otherwise RIGHTY
    ABOVE  the elbow (axis 3) is above the line from shoulder to wrist: ((elbow − shoulder) ×
           (wrist − shoulder))·a₂ has the sign of s; otherwise BELOW
    NOFLIP q₅ is in [0, π], measured from the position with the smallest angle between axes 4 and 6
           (0 for a wrist with right angles); otherwise FLIP

R-R-P arms have the names of `point_arm.py`. If axes 1 and 2 are parallel, LEFTY means that axis 2
is left of the line from axis 1 to the wrist centre, seen from above, and ELBOW1 and ELBOW2 are the
two solutions for q₃. For all other arms the names number the solutions: ARM1 to ARM4, or ARM1 and
ARM2 combined with ELBOW1 and ELBOW2.

A singular target does not determine one of the joints. This joint keeps its value from q0 (0
without q0): q₄ if axes 4 and 6 are collinear, q₁ if the wrist centre is on axis 1, q₂ if it is on
axis 2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from brazo.codegen import Graph, GraphFunction, Vectorized
from brazo.codegen.ring import maximum, sqrt
from brazo.kinematics.chain import Chain
from brazo.kinematics.closed_form.base import (
    Candidate,
    ClosedForm,
    Flag,
    Mismatch,
    Scalar,
)
from brazo.kinematics.closed_form.pairs import (
    Pair,
    back,
    constant_pair,
    dot3,
    length,
    of_angle,
    select,
    times,
    times_matrix,
    turned,
    unit,
)
from brazo.kinematics.closed_form.point_arm import NamedArm, meridian, places
from brazo.kinematics.closed_form.position import NEARLY, feet
from brazo.kinematics.forward import Pose, compose, constant
from brazo.model.transforms import invert, translate

Array = np.ndarray

FAMILY = "6R arm with a spherical wrist"
_REVOLUTE = ("revolute",) * 3
WRIST: Flag = ("wrist", ("NOFLIP", "FLIP"))


def recognise(chain: Chain) -> SphericalWrist | Mismatch:
    """Return the solver if the arm belongs to this family, otherwise the reason why it does not."""
    kinds = chain.kinds
    if len(kinds) != 6 or kinds[3:] != _REVOLUTE or kinds[:2] != _REVOLUTE[:2]:
        return Mismatch(FAMILY, f"it has {_joints(chain)}, not six revolute joints or RRPRRR")
    (a4, b4), (a5, b5) = feet(chain.X[4]), feet(chain.X[5])
    for first, X in ((4, chain.X[4]), (5, chain.X[5])):
        if np.hypot(X[0, 2], X[1, 2]) <= NEARLY:
            return Mismatch(FAMILY, f"axes {first} and {first + 1} are parallel")
    for first, a, b, X in ((4, a4, b4, chain.X[4]), (5, a5, b5, chain.X[5])):
        gap = np.linalg.norm((translate(z=-a) @ X @ translate(z=b))[:3, 3])
        if gap > NEARLY * chain.size:
            reason = f"axes {first} and {first + 1} do not intersect: their distance is {gap:.6g} m"
            return Mismatch(FAMILY, reason)
    if abs(a5 - b4) > NEARLY * chain.size:
        apart = f"axes 4 and 6 intersect axis 5 in two points, {abs(a5 - b4):.6g} m apart"
        return Mismatch(FAMILY, apart)
    solver = (SphericalWrist if chain.kinds[2] == "revolute" else SlidingElbow)(chain, a4, b5)
    if not solver.arm.solvable:
        return Mismatch(FAMILY, "its first two axes are neither parallel nor intersecting")
    if not places(chain, solver.tool_to_wrist[:, 3]):
        reason = "no configuration allows joints 1 to 3 to move the wrist centre in all directions"
        return Mismatch(FAMILY, reason)
    return solver


class SphericalWrist(ClosedForm):
    """Solver for an arm with a spherical wrist; see the module docstring."""

    family = FAMILY

    def __init__(self, chain: Chain, a4: float, b6: float) -> None:
        """Make the solver; a4 and b6 (m) are coordinates of the wrist centre along axes 4 and 6."""
        self.chain = chain
        X3 = chain.X[3] @ translate(z=a4)
        self.X0_inverse = invert(chain.X[0])
        self.tool_to_wrist = invert(translate(z=-b6) @ chain.X[6])
        self.R1, self.R2, self.R3, self.R4, self.R5 = (
            X[:3, :3] for X in (chain.X[1], chain.X[2], X3, chain.X[4], chain.X[5])
        )
        self.arm = NamedArm(chain.kinds, chain.X[1], chain.X[2], X3[:3, 3], chain.size)
        a, b = self.R4[2], self.R5[:, 2]
        self.straight = float(np.arctan2(a[1] * b[0] - a[0] * b[1], a[0] * b[0] + a[1] * b[1]))
        self.flags = (*self.arm.flags, WRIST)

    def formula(self, T: Pose, q0: list[Scalar], given: Scalar) -> list[Candidate]:
        p, R06 = self._targets(T)
        free = [of_angle(x) for x in q0[:4]]
        arms = self.arm.solve(p, free[:3])
        # One function computes the wrist of an arm solution; `Vectorized` applies it to all.
        pairs = [self.arm.turns(arm) for arm in arms]
        turns = [turn[i][k] for i in range(3) for k in (0, 1) for turn in pairs]
        wrists = Vectorized("wrists", self._wrists(), len(arms), shared=("hand",))
        (found,) = p[0].graph.call(wrists, turns, [*R06, *free[3]])
        slots = []
        for k, (*arm, exists) in enumerate(arms):
            values = found[k :: len(arms)]
            for bend in (values[:6], values[6:]):
                wrist = [(bend[2 * i], bend[2 * i + 1]) for i in range(3)]
                slots.append(Candidate([*arm, *wrist], exists))
        return slots

    def _wrists(self) -> GraphFunction:
        """Make the graph function (arm, hand) -> wrist, which solves the wrist.

        `arm` contains q₁, q₂ and q₃. `hand` contains the target rotation (9) and the value of q₄
        for singular targets. `wrist` contains q₄, q₅ and q₆ of both solutions. All angles are
        (cos, sin).
        """
        graph = Graph()
        turns, shared = graph.inputs("arm", 6), graph.inputs("hand", 11)
        arm = [(turns[2 * i], turns[2 * i + 1]) for i in range(3)]
        bends = self._wrist(self._wrist_rotation(shared[:9], arm), (shared[9], shared[10]))
        values = [x for bend in bends for pair in bend for x in pair]
        return GraphFunction("wrist", graph, {"wrist": values})

    def flag_values(self, q: Array) -> Array:
        flat = q.reshape(-1, 6)
        # A wrist that is straight up to rounding counts as NOFLIP.
        flip = (np.sin(flat[:, 4] - self.straight) < -1e-12).astype(int)
        arm = self.arm.flag_values(self._wrist_centres(self.chain.fk(flat)), flat[:, :3])
        return np.column_stack([arm, flip]).reshape(*q.shape[:-1], len(self.flags))

    def why_unreachable(self, T: ArrayLike) -> str | None:
        T = np.asarray(T, dtype=float).reshape(1, 4, 4)
        found = self.solve(T)
        if found.valid.any():
            return None
        p = self._wrist_centres(T)
        reached = self._wrist_centres(self.chain.fk(found.q[0]))
        if np.linalg.norm(reached - p, axis=1).min() <= 1e-6 * self.chain.size:
            lean = np.rad2deg(self._wrist_lean(T))
            low, high = np.rad2deg(self._wrist_range())
            return (
                f"the angle between axes 4 and 6 would be {np.min(lean):.1f}°; "
                f"this wrist allows {low:.1f}° to {high:.1f}°"
            )
        centres = self._wrist_centres(self.chain.fk(meridian(self.chain)))
        reach = np.stack([np.hypot(centres[:, 0], centres[:, 1]), centres[:, 2]], axis=1)
        return self.arm.why(p[0], reach, "wrist centre")

    def _targets(self, T: Pose) -> tuple[list[Scalar], list[Scalar]]:
        """Return wrist centre (3) and wrist rotation (9) of a target, in the frame of axis 1."""
        wrist = compose(T, constant(self.tool_to_wrist))
        R, p = compose(constant(self.X0_inverse), wrist)
        return p, R

    def _wrist_centres(self, T: Array) -> Array:
        """Return the wrist centres (N, 3) in the frame of axis 1 for tool poses (N, 4, 4)."""
        R, t = self.X0_inverse[:3, :3], self.X0_inverse[:3, 3]
        return (T @ self.tool_to_wrist[:, 3])[:, :3] @ R.T + t

    def _wrist_rotation(self, R06: list[Scalar], arm: list[Pair]) -> list[list[Scalar]]:
        """Return the columns of R₃₆ from the target rotation R₀₆ and q₁, q₂, q₃ as (cos, sin)."""
        columns = []
        for j in range(3):
            v = [R06[j], R06[3 + j], R06[6 + j]]
            for pair, R in zip(arm, (self.R1, self.R2, self.R3), strict=True):
                v = times_matrix(R.T, turned(back(pair), v))
            columns.append(v)
        return columns

    def _wrist(self, R: list[list[Scalar]], free: Pair) -> list[tuple[Pair, Pair, Pair]]:
        """Return (q₄, q₅, q₆) for a wrist rotation with columns R: first NOFLIP, then FLIP.

        q₄ is `free` if axes 4 and 6 are collinear.
        """
        a, b = float(self.R4[2, 2]), float(self.R5[2, 2])
        square = max(abs(a), abs(b)) < 1e-12
        x, _, z = R
        sine2 = z[0] * z[0] + z[1] * z[1]
        # (1 − a²)(1 − b²) − (R₂₂ − ab)² with 1 − R₂₂² taken from the other entries, which keeps
        # all digits next to the straight wrist.
        rest = sine2 - (a * a + b * b) + 2.0 * a * b * z[2]
        bend = unit(z[2] - a * b, sqrt(maximum(rest, 0.0)))
        found = []
        across: Scalar = None
        for half in (bend, back(bend)):
            q5 = times(constant_pair(self.straight), half)
            first, second, approach = (self._after_bend(q5, self.R5[:, i]) for i in range(3))
            if across is None:
                across = sqrt(sine2) * length(approach[0], approach[1])  # the same for both
            q4 = unit(*times((z[0], z[1]), (approach[0], -approach[1])), free, r=across)
            q4 = select(1e-24 - sine2, free, q4)
            # The first column of R, rotated back by q₄, is the column x of R₄ Rz(q₅) R₅ Rz(q₆).
            v = turned(back(q4), x)
            q6 = dot3(v, first), dot3(v, second)
            # A wrist with right angles reaches every orientation, so (cos, sin) has length 1.
            found.append((q4, q5, q6 if square else unit(*q6)))
        return found

    def _after_bend(self, q5: Pair, r: Array) -> list[Scalar]:
        """Return R₄ Rz(q₅) r."""
        return times_matrix(self.R4, turned(q5, r.tolist()))

    def _wrist_lean(self, T: Array) -> Array:
        """Return the angles (rad) between axes 4 and 6 that a target T (1, 4, 4) requires.

        There is one angle per solution for the first three joints.
        """
        p, R06 = self._targets(constant(T[0]))
        leans = []
        for found in self.arm.solve(p, [(1.0, 0.0)] * 3):
            if found[-1] >= 0:
                R = self._wrist_rotation(R06, self.arm.turns(found))
                leans.append(np.arccos(np.clip(R[2][2], -1, 1)))
        return np.array(leans)

    def _wrist_range(self) -> tuple[float, float]:
        """Return the min and max possible angle (rad) between axes 4 and 6."""
        first, second = np.arccos(np.clip([self.R4[2, 2], self.R5[2, 2]], -1, 1))
        return abs(first - second), min(first + second, 2 * np.pi - first - second)


class SlidingElbow(SphericalWrist):
    """Solver for an arm with a spherical wrist and a prismatic third joint."""

    family = "RRPRRR arm with a spherical wrist"


def _joints(chain: Chain) -> str:
    """Return the number and kinds of the joints for messages, e.g. `6 joints (RRPRRR)`."""
    return f"{chain.n} joints ({''.join(kind[0].upper() for kind in chain.kinds)})"
