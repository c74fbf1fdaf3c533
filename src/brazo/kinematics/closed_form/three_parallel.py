"""Six-joint arms with parallel axes 2, 3, 4 and intersecting axes 5, 6, such as the UR5.

Joints 2 to 4 move the following bodies in a plane perpendicular to the direction a of their axes.
Two quantities therefore depend only on the other joints. Frame 6 has its origin where axes 5 and 6
intersect. p and R are its position and rotation in the frame of axis 1, b is the direction a in the
frame of axis 5, and h, t₅, R₅ are constants:

    a · Rz(−q₁) p = h + b · t₅
    a · Rz(−q₁) R = b · Rz(q₅) R₅ Rz(q₆)

The first equation gives two q₁. The third entry of the second equation, a row vector, gives two q₅.
Its other two entries give one q₆ for each q₅.

Joints 2 to 4 are a planar arm (`planar.py`). The direction of axis 5 gives ψ = q₂ + q₃ + q₄, which
determines the position of axis 4. Two links reach this position with the elbow on either side.

Branch names are those of arms with a spherical wrist. a₁ is the direction of axis 1, f = a × a₁ is
the forward direction, and o = h + b·t₅ is the offset of the point where axes 5 and 6 intersect. s
is the component along f of the vector from axis 1 to this point.

    LEFTY  s·o ≥ 0 (o = 0 counts as positive), otherwise RIGHTY
    ABOVE  ((axis 3 − axis 2) × (axis 4 − axis 2)) · a has the sign of s, otherwise BELOW
    NOFLIP q₅ is in [0, π], measured from the position in which axis 6 is nearest to a,
           otherwise FLIP

A singular target does not determine one of the joints. This joint keeps its value from q0 (0
without q0): q₆ if axis 6 is parallel to axes 2 to 4, q₁ if axes 5 and 6 intersect on axis 1, q₂ if
axis 4 is on axis 2. An undetermined q₆ rotates axis 4 about axis 6. If the value from q0 puts axis
4 out of reach, q₆ is chosen such that axis 4 is at the limit of the reach.

Reference: Hawkins, *Analytic inverse kinematics for the Universal Robots UR-5/UR-10 arms*, 2013.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from brazo.codegen import Graph, GraphFunction, Guarded, Vectorized
from brazo.codegen.ring import absolute, maximum, minimum, sqrt, where
from brazo.kinematics.chain import Chain
from brazo.kinematics.closed_form.base import (
    ACCEPTED,
    Candidate,
    ClosedForm,
    Mismatch,
    Scalar,
)
from brazo.kinematics.closed_form.pairs import (
    Pair,
    Vector,
    back,
    both_roots,
    length,
    of_angle,
    select,
    sum_of,
    times,
    times_matrix,
    turned,
    unit,
)
from brazo.kinematics.closed_form.planar import Plane, bend_of, reach_of, two_links, within
from brazo.kinematics.closed_form.position import NEARLY, feet
from brazo.kinematics.forward import Pose, compose, constant
from brazo.model.transforms import invert, translate

Array = np.ndarray

FAMILY = "6R arm with three parallel axes"


def recognise(chain: Chain) -> ThreeParallel | Mismatch:
    """Return the solver if the arm belongs to this family, otherwise the reason why it does not."""
    if chain.kinds != ("revolute",) * 6:
        kinds = "".join(kind[0].upper() for kind in chain.kinds)
        return Mismatch(FAMILY, f"it has {chain.n} joints ({kinds}), not six revolute joints")
    for first in (2, 3):
        if np.hypot(*chain.X[first][:2, 2]) > NEARLY:
            return Mismatch(FAMILY, f"axes {first} and {first + 1} are not parallel")
    for first in (1, 4, 5):
        if np.hypot(*chain.X[first][:2, 2]) <= NEARLY:
            return Mismatch(FAMILY, f"axes {first} and {first + 1} are parallel")
    a5, b5 = feet(chain.X[5])
    gap = np.linalg.norm((translate(z=-a5) @ chain.X[5] @ translate(z=b5))[:3, 3])
    if gap > NEARLY * chain.size:
        reason = f"axes 5 and 6 do not intersect: their distance is {gap:.6g} m"
        return Mismatch(FAMILY, reason)
    solver = ThreeParallel(chain, b5)
    if min(abs(solver.l1), abs(solver.l2)) <= NEARLY * chain.size:
        return Mismatch(FAMILY, "two of its parallel axes coincide")
    return solver


class ThreeParallel(ClosedForm):
    """Solver for an arm with three parallel axes; see the module docstring."""

    family = FAMILY
    flags = (
        ("arm", ("LEFTY", "RIGHTY")),
        ("elbow", ("ABOVE", "BELOW")),
        ("wrist", ("NOFLIP", "FLIP")),
    )

    def __init__(self, chain: Chain, b6: float) -> None:
        """Make the solver; b6 (m) is the coordinate on axis 6 where axes 5 and 6 intersect."""
        self.chain = chain
        X1, X2, X3, X4 = chain.X[1:5]
        X5 = chain.X[5] @ translate(z=b6)
        self.X0_inverse = invert(chain.X[0])
        self.tool_to_hand = invert(translate(z=-b6) @ chain.X[6])
        # Axes 2 to 4 at q = 0 in the frame of axis 1; the sign is −1 for an axis opposite to a.
        to_3, to_4 = X1 @ X2, X1 @ X2 @ X3
        to_5 = to_4 @ X4
        a = X1[:3, 2]
        self.signs = [1.0, float(np.sign(to_3[:3, 2] @ a)), float(np.sign(to_4[:3, 2] @ a))]
        self.a, self.plane = a, Plane.across(a)
        self.P2, P3, self.P4 = (complex(self.plane.flat(X[:3, 3])) for X in (X1, to_3, to_4))
        self.l1, self.l2 = P3 - self.P2, self.P4 - P3
        self.reach = reach_of(self.l1, self.l2)
        self.P5 = complex(self.plane.flat(to_5[:3, 3]))
        self.axis_5 = complex(self.plane.flat(to_5[:3, 2]))
        self.b = to_5[:3, :3].T @ a
        self.R5, t5 = X5[:3, :3], X5[:3, 3]
        # Vector from axis 4 to the intersection of axes 5 and 6 at q = 0; t₅ is along axis 5.
        self.hand = self.P5 - self.P4 + float(t5[2]) * self.axis_5
        self.offset = float(a @ to_5[:3, 3] + self.b @ t5)
        r = self.R5[:, 2]
        self.A5 = float(self.b[0] * r[0] + self.b[1] * r[1])
        self.B5 = float(self.b[1] * r[0] - self.b[0] * r[1])
        self.straight = float(np.arctan2(self.B5, self.A5))

    def formula(self, T: Pose, q0: list[Scalar], given: Scalar) -> list[Candidate]:
        p, R = self._hand(T)
        free = [of_angle(q0[i]) for i in (0, 1, 5)]
        A, B, C = self._lateral(p)
        roots = both_roots(A, B, C, free[0], 1e-12 * self.chain.size)
        exists = length(A, B) + ACCEPTED * self.chain.size - absolute(C)
        # One function computes the planar arm of a wrist solution; `Vectorized` applies it to all.
        wrists = [(q1, *wrist) for q1 in roots for wrist in self._wrist(R, q1, free[2])]
        given_each = [[*q1, *q6, loose, along] for q1, _, q6, loose, along in wrists]
        each = [values[i] for i in range(6) for values in given_each]
        arms = Vectorized("plane_arms", self._plane_arm(), 4, shared=("target",))
        turns, hands, insides = p[0].graph.call(arms, each, [*p, *R, *free[1]])
        found: list[Candidate] = []
        for k, (q1, q5, _, _, _) in enumerate(wrists):
            values, hand = turns[k::4], hands[k::4]
            ways = [values[:6], values[6:]]
            for way in ways if k < 2 else ways[::-1]:
                plane = [_signed(s, (way[2 * i], way[2 * i + 1])) for i, s in enumerate(self.signs)]
                q = [q1, *plane, q5, (hand[0], hand[1])]
                found.append(Candidate(q, minimum(exists, insides[k])))
        # Roots: s ≥ 0, s < 0; then the wrist, then the elbow.
        order = [(i, e, w) for i in (0, 1) for e in (0, 1) for w in (0, 1)]
        lefty = 0 if self.offset >= -1e-12 * self.chain.size else 1
        return [found[4 * (i ^ lefty) + 2 * w + e] for i, e, w in order]

    def _plane_arm(self) -> GraphFunction:
        """Make the graph function (wrist, target) -> (turns, q6, inside) of one wrist solution.

        `wrist` contains q₁, q₆, `loose` and `along` (see `_wrist`). `target` contains p, R and the
        value of q₂ to use if the target does not determine it. `turns` contains the rotations of
        joints 2 to 4 for both elbow positions. `inside` is ≥ 0 where axis 4 is within reach. All
        angles are (cos, sin).
        """
        graph = Graph()
        each, shared = graph.inputs("wrist", 6), graph.inputs("target", 14)
        q1, q6, p, R = (each[0], each[1]), (each[2], each[3]), shared[:3], shared[3:12]
        W, psi = self._planar(p, R, q1, q6)
        swung = Guarded("swing_some", self._swing())
        (moved,) = graph.call(swung, [*W, *psi, *q6], [*q1, *p, *each[4:]], [each[4]])
        W, psi, q6 = (moved[0], moved[1]), (moved[2], moved[3]), (moved[4], moved[5])
        turns: list[Scalar] = []
        for alpha, beta in two_links(self.l1, self.l2, W, (shared[12], shared[13])):
            turns += [*alpha, *beta, *times(times(psi, back(alpha)), back(beta))]
        inside = within(length(*W), self.reach)
        return GraphFunction("plane_arm", graph, {"turns": turns, "q6": q6, "inside": [inside]})

    def _swing(self) -> GraphFunction:
        """Return `_swung` as a graph function, which is called only where q₆ is undetermined."""
        graph = Graph()
        x, given = graph.inputs("x", 6), graph.inputs("p", 7)
        q1, p, loose, along = (given[0], given[1]), given[2:5], given[5], given[6]
        W, psi, q6 = (x[0], x[1]), (x[2], x[3]), (x[4], x[5])
        W, psi, q6 = self._swung(p, q1, W, psi, q6, loose, along)
        return GraphFunction("swing", graph, {"x": [*W, *psi, *q6]})

    def flag_values(self, q: Array) -> Array:
        flat = q.reshape(-1, 6)
        p = self._points(self.chain.fk(flat))
        A, B, _ = self._lateral(list(p.T))
        slope = B * np.cos(flat[:, 0]) - A * np.sin(flat[:, 0])
        behind = slope > 1e-12 * np.hypot(A, B)
        righty = behind if self.offset >= -1e-12 * self.chain.size else ~behind
        bend = bend_of(self.l1, self.l2, self.signs[1] * flat[:, 2])
        below = np.where(behind, -bend, bend) < -1e-12
        flip = np.sin(flat[:, 4] - self.straight) < -1e-12
        return np.stack([righty, below, flip], axis=-1).astype(int).reshape(*q.shape[:-1], 3)

    def why_unreachable(self, T: ArrayLike) -> str | None:
        if self.solve(T).valid.any():
            return None
        p, R = self._hand(constant(np.asarray(T, dtype=float).reshape(4, 4)))
        A, B, C = self._lateral(p)
        radius = float(np.hypot(A, B))
        if abs(C) > radius + ACCEPTED * self.chain.size:
            distance = float(np.hypot(p[0], p[1]))
            least = distance * abs(C) / radius if radius > 0 else abs(self.offset)
            return (
                f"the intersection of axes 5 and 6 would be {distance:.4g} m from axis 1, but the "
                f"arm's offset keeps it at least {least:.4g} m away"
            )
        ways = set()
        for q1 in both_roots(A, B, C):
            for _, q6, _, _ in self._wrist(R, q1, (1.0, 0.0)):
                ways.add(round(float(length(*self._planar(p, R, q1, q6)[0])), 6))
        texts = " or ".join(f"{d:.4g}" for d in sorted(ways))
        return (
            f"axis 4 would be {texts} m from axis 2; the arm reaches {self.reach[0]:.4g} to "
            f"{self.reach[1]:.4g} m"
        )

    def _hand(self, T: Pose) -> tuple[list[Scalar], list[Scalar]]:
        """Return the position p (3) and rotation R (9) of frame 6 in the frame of axis 1."""
        R, p = compose(constant(self.X0_inverse), compose(T, constant(self.tool_to_hand)))
        return p, R

    def _points(self, T: Array) -> Array:
        """Return the intersections (N, 3) of axes 5 and 6 in the frame of axis 1.

        T (N, 4, 4) are the tool poses.
        """
        R, t = self.X0_inverse[:3, :3], self.X0_inverse[:3, 3]
        return (T @ self.tool_to_hand[:, 3])[:, :3] @ R.T + t

    def _lateral(self, p: Vector) -> tuple[Scalar, Scalar, Scalar]:
        """Return (A, B, C) of A cos q₁ + B sin q₁ = C, the equation that determines q₁."""
        x, y, z = self.a.tolist()
        return x * p[0] + y * p[1], x * p[1] - y * p[0], self.offset - z * p[2]

    def _wrist(self, R: Vector, q1: Pair, free: Pair) -> list[tuple[Pair, Pair, Scalar, Scalar]]:
        """Return two wrist solutions (q₅, q₆, loose, along): first NOFLIP, then FLIP.

        `loose` is ≥ 0 where the target does not determine q₆; q₆ is then `free`. `along` is the
        component of axis 6 along a.
        """
        a = turned(q1, self.a.tolist())
        e = [a[0] * R[j] + a[1] * R[3 + j] + a[2] * R[6 + j] for j in range(3)]
        b, r = float(self.b[2]), float(self.R5[2, 2])
        sine2 = e[0] * e[0] + e[1] * e[1]
        # The square of the root with 1 − e_z² taken from the other entries, as in spherical wrists.
        root = sqrt(maximum(sine2 - (b * b + r * r) + 2.0 * b * r * e[2], 0.0))
        C = e[2] - b * r
        reach = float(np.hypot(self.A5, self.B5)) * length(C, root)
        across: Scalar = None
        found = []
        for sign in (1.0, -1.0):
            x, y = self.A5 * C - sign * self.B5 * root, self.B5 * C + sign * self.A5 * root
            q5 = unit(x, y, r=reach)
            # (b Rz(q₅) R₅) as a column: R₅ᵀ Rz(−q₅) b.
            w = times_matrix(self.R5.T, turned(back(q5), self.b.tolist()))
            if across is None:
                across = sqrt(sine2) * length(w[0], w[1])  # the same for both
            q6 = unit(*times((w[0], w[1]), (e[0], -e[1])), free, r=across)
            loose = 1e-24 - sine2
            found.append((q5, select(loose, free, q6), loose, e[2]))
        return found

    def _planar(self, p: Vector, R: Vector, q1: Pair, q6: Pair) -> tuple[Pair, Pair]:
        """Return the position of axis 4 relative to axis 2, and the angle ψ as (cos, sin).

        The position is in the plane perpendicular to axes 2 to 4. ψ is the sum of the rotations of
        joints 2 to 4. p and R are the position and rotation of frame 6 (see `_hand`).
        """
        # The direction of axis 5: Rz(−q₁) R Rz(−q₆) R₅ᵀ z.
        z = turned(back(q6), self.R5[2].tolist())
        v = turned(back(q1), [sum_of(z, R[3 * i : 3 * i + 3]) for i in range(3)])
        own = self.axis_5 / abs(self.axis_5)
        flat = self.plane.pair(v)
        psi = times(unit(*flat), (own.real, -own.imag))
        x, y = times(psi, (self.hand.real, self.hand.imag))
        centre = self._centre(p, q1)
        return (centre[0] - x, centre[1] - y), psi

    def _centre(self, p: Vector, q1: Pair) -> Pair:
        """Return the intersection of axes 5 and 6 relative to axis 2, in the plane of `_planar`."""
        place = self.plane.pair(turned(back(q1), p))
        return place[0] - self.P2.real, place[1] - self.P2.imag

    def _swung(
        self, p: Vector, q1: Pair, W: Pair, psi: Pair, q6: Pair, loose: Scalar, along: Scalar
    ) -> tuple[Pair, Pair, Pair]:
        """Return (W, ψ, q₆), changed only where q₆ is undetermined and axis 4 is out of reach.

        There, q₆ moves axis 4 to the limit of the reach, or as near to it as possible.
        W is the position of axis 4 and ψ the sum of the rotations of joints 2 to 4 (see `_planar`).
        `loose` is ≥ 0 where q₆ is undetermined. `along` is the component of axis 6 along a.
        """
        low, high = self.reach
        distance = length(*W)
        wanted = minimum(maximum(distance, low), high)
        moved = minimum(loose, absolute(wanted - distance) - ACCEPTED * high)
        centre, D = self._centre(p, q1), abs(self.hand)
        K = length(*centre)
        # |W|² = K² + D² − 2 K D cos φ, φ from the direction of the centre to that of the hand.
        own = self.hand / D if D > 0 else 1.0 + 0.0j
        to_hand = times(psi, (own.real, own.imag))
        ahead = unit(*centre)
        side = times(to_hand, back(ahead))[1]
        cosine = (K * K + D * D - wanted * wanted) / where(-K, 1.0, 2.0 * K * max(D, 1e-300))
        cosine = maximum(minimum(cosine, 1.0), -1.0)
        sine = sqrt((1.0 - cosine) * (1.0 + cosine))
        new = times(times(ahead, (cosine, where(side, sine, -sine))), (own.real, -own.imag))
        change = times(new, back(psi))
        # With axis 6 along a, q₆ compensates the change of ψ.
        turn = select(along, back(change), change)
        x, y = times(new, (self.hand.real, self.hand.imag))
        W = select(moved, (centre[0] - x, centre[1] - y), W)
        return W, select(moved, new, psi), select(moved, times(q6, turn), q6)


def _signed(sign: float, turn: Pair) -> Pair:
    """Return the angle `turn`, or its negative if `sign` is −1, as (cos, sin)."""
    return turn if sign > 0 else back(turn)
