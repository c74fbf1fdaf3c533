"""Six revolute joints whose axes 2, 3, 4 are parallel and whose axes 5 and 6 meet: the arms of
Universal Robots and similar ones.

Joints 2 to 4 move the following bodies in a plane perpendicular to their direction a, so two
quantities depend on the other joints alone.  With frame 6 put where axes 5 and 6 meet, at p with
rotation R (in the frame of axis 1), b the direction a in the frame of axis 5, and h, t₅, R₅
constants,

    a · Rz(−q₁) p = h + b · t₅              two q₁
    a · Rz(−q₁) R = b · Rz(q₅) R₅ Rz(q₆)    its third entry gives two q₅, the others one q₆.

The remaining joints are a planar arm (`planar.py`): ψ = q₂ + q₃ + q₄ turns axis 5 to its direction
and places axis 4, which two links reach with the elbow on either side.

Branch names, as for arms with a spherical wrist: f = a × a₁ is forward, o = h + b · t₅ the offset
of the point where axes 5 and 6 meet, s the part along f of the way from axis 1 to it.

    LEFTY  s·o ≥ 0 (o = 0 counts as positive), else RIGHTY
    ABOVE  ((axis 3 − axis 2) × (axis 4 − axis 2)) · a has the sign of s, else BELOW
    NOFLIP q₅, counted from where axis 6 is nearest to a, is in [0, π], else FLIP

At singular poses a joint that the target leaves free keeps its value of q0 (0 without q0): q₆ where
axis 6 is parallel to axes 2 to 4, q₁ where axes 5 and 6 meet on axis 1, q₂ with axis 4 on axis 2.
A free q₆ turns axis 4 about axis 6; where it is then out of reach, q₆ moves to the edge of the
reach.
Reference: Hawkins, *Analytic inverse kinematics for the Universal Robots UR-5/UR-10 arms*, 2013.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from brazo.codegen import Across, Graph, GraphFunction, Guarded
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
    """The solver of an arm of this family, or the reason why it does not belong to it."""
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
        return Mismatch(FAMILY, f"axes 5 and 6 pass each other at {gap:.6g} m")
    solver = ThreeParallel(chain, b5)
    if min(abs(solver.l1), abs(solver.l2)) <= NEARLY * chain.size:
        return Mismatch(FAMILY, "two of its parallel axes coincide")
    return solver


class ThreeParallel(ClosedForm):
    """See the module docstring; created by `recognise`."""

    family = FAMILY
    flags = (
        ("arm", ("LEFTY", "RIGHTY")),
        ("elbow", ("ABOVE", "BELOW")),
        ("wrist", ("NOFLIP", "FLIP")),
    )

    def __init__(self, chain: Chain, b6: float) -> None:
        """b6: where axis 5 meets axis 6, on axis 6."""
        self.chain = chain
        X1, X2, X3, X4 = chain.X[1:5]
        X5 = chain.X[5] @ translate(z=b6)
        self.X0_inverse = invert(chain.X[0])
        self.tool_to_hand = invert(translate(z=-b6) @ chain.X[6])
        # Axes 2 to 4 at q = 0, in the frame of axis 1; those that turn the other way.
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
        # From axis 4 to where axes 5 and 6 meet, at q = 0; t₅ is along axis 5.
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
        # The plane arms of the four wrists are one function, side by side for a single target.
        wrists = [(q1, *wrist) for q1 in roots for wrist in self._wrist(R, q1, free[2])]
        given_each = [[*q1, *q6, loose, along] for q1, _, q6, loose, along in wrists]
        each = [values[i] for i in range(6) for values in given_each]
        arms = Across("plane_arms", self._plane_arm(), 4, shared=("target",))
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
        """Turns of joints 2 to 4 for both elbows, q₆, and ≥ 0 where axis 4 is within reach."""
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
        """`_swung` as a function: free values of q₆ are rare."""
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
                f"the point where axes 5 and 6 meet would be {distance:.4g} m from axis 1, but the "
                f"arm's offset keeps it at least {least:.4g} m away"
            )
        ways = set()
        for q1 in both_roots(A, B, C):
            for _, q6, _, _ in self._wrist(R, q1, (1.0, 0.0)):
                ways.add(round(float(length(*self._planar(p, R, q1, q6)[0])), 6))
        texts = " or ".join(f"{d:.4g}" for d in sorted(ways))
        return (
            f"axis 4 would be {texts} m from axis 2, the arm reaches {self.reach[0]:.4g} to "
            f"{self.reach[1]:.4g} m"
        )

    def _hand(self, T: Pose) -> tuple[list[Scalar], list[Scalar]]:
        """Where axes 5 and 6 meet, and the rotation of frame 6, in the frame of axis 1."""
        R, p = compose(constant(self.X0_inverse), compose(T, constant(self.tool_to_hand)))
        return p, R

    def _points(self, T: Array) -> Array:
        """The points (N, 3) where axes 5 and 6 meet, for tool poses (N, 4, 4)."""
        R, t = self.X0_inverse[:3, :3], self.X0_inverse[:3, 3]
        return (T @ self.tool_to_hand[:, 3])[:, :3] @ R.T + t

    def _lateral(self, p: Vector) -> tuple[Scalar, Scalar, Scalar]:
        """A cos q₁ + B sin q₁ = C: the yaw at which p has the arm's offset along a."""
        x, y, z = self.a.tolist()
        return x * p[0] + y * p[1], x * p[1] - y * p[0], self.offset - z * p[2]

    def _wrist(self, R: Vector, q1: Pair, free: Pair) -> list[tuple[Pair, Pair, Scalar, Scalar]]:
        """Both q₅ and their q₆, first the one not flipped; a value that is ≥ 0 where q₆ is free,
        and the part of axis 6 along a."""
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
        """Position of axis 4 relative to axis 2, and ψ."""
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
        """The point where axes 5 and 6 meet, relative to axis 2."""
        place = self.plane.pair(turned(back(q1), p))
        return place[0] - self.P2.real, place[1] - self.P2.imag

    def _swung(
        self, p: Vector, q1: Pair, W: Pair, psi: Pair, q6: Pair, loose: Scalar, along: Scalar
    ) -> tuple[Pair, Pair, Pair]:
        """W, ψ and q₆ with axis 4 within reach, where q₆ is free and its start value does not reach
        it."""
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
        # Axis 6 along a: q₆ turns back what ψ turns on.
        turn = select(along, back(change), change)
        x, y = times(new, (self.hand.real, self.hand.imag))
        W = select(moved, (centre[0] - x, centre[1] - y), W)
        return W, select(moved, new, psi), select(moved, times(q6, turn), q6)


def _signed(sign: float, turn: Pair) -> Pair:
    return turn if sign > 0 else back(turn)
