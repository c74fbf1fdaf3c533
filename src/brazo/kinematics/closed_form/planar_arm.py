"""Planar arms: two or three parallel revolute joints.

In the plane perpendicular to the axes (`planar.py`), the tool of a 2R arm is the end of the second
link. Its position has two solutions, each with its own orientation. With a third joint, the heading
ψ of the tool is the one nearest to the target orientation. ψ determines the position of axis 3,
which the first two links reach with the elbow on either side.

Branches: LEFTY means that the elbow is left of the line from axis 1 to the end of the second link,
seen from the tip of axis 1; RIGHTY means that it is right of this line. If the end of the second
link is on axis 1, joint 1 keeps its value from q0 (0 without q0).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from brazo.kinematics.chain import Chain
from brazo.kinematics.closed_form.base import (
    ACCEPTED,
    GEOMETRY_TOLERANCE,
    Candidate,
    ClosedForm,
    Mismatch,
    Scalar,
)
from brazo.kinematics.closed_form.pairs import Pair, Vector, back, length, of_angle, times
from brazo.kinematics.closed_form.planar import (
    Plane,
    bend_of,
    nearest_turn,
    reach_of,
    two_links,
    within,
)
from brazo.kinematics.closed_form.scara import ELBOW
from brazo.kinematics.forward import Pose, compose, constant
from brazo.model.transforms import invert

Array = np.ndarray

FAMILY = "planar arm"


def recognise(chain: Chain) -> PlanarArm | Mismatch:
    """Return the solver if the arm belongs to this family, otherwise the reason why it does not."""
    if chain.n not in (2, 3) or "prismatic" in chain.kinds:
        return Mismatch(FAMILY, f"it has {chain.n} joints; it needs two or three revolute joints")
    directions, _ = chain.home_axes
    for i in range(1, chain.n):
        if np.linalg.norm(np.cross(directions[0], directions[i])) > GEOMETRY_TOLERANCE:
            return Mismatch(FAMILY, f"axis {i + 1} is not parallel to axis 1")
    solver = PlanarArm2R(chain) if chain.n == 2 else PlanarArm(chain)
    if min(abs(solver.l1), abs(solver.l2)) <= GEOMETRY_TOLERANCE * chain.size:
        return Mismatch(FAMILY, "one of its first two links has length 0")
    return solver


class PlanarArm(ClosedForm):
    """Solver for a planar arm with three joints; see the module docstring."""

    family = FAMILY
    meets = "nearest"
    flags = (ELBOW,)

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        directions, points = chain.home_axes
        self.a = directions[0]
        self.plane = Plane.across(self.a)
        self.signs = [float(np.sign(d @ self.a)) for d in directions]
        ends = [*points, chain.home[:3, 3]][:3]
        self.P1, P2, self.P3 = (complex(self.plane.flat(end)) for end in ends)
        self.tool = complex(self.plane.flat(chain.home[:3, 3]))
        self.l1, self.l2 = P2 - self.P1, self.P3 - P2
        self.reach = reach_of(self.l1, self.l2)

    def formula(self, T: Pose, q0: list[Scalar], given: Scalar) -> list[Candidate]:
        W, psi = self._end(T)
        right, left = two_links(self.l1, self.l2, W, of_angle(q0[0]))
        exists = within(length(*W), self.reach)
        found = []
        for alpha, beta in (left, right):
            turns = [alpha, beta]
            if psi is not None:
                turns.append(times(times(psi, back(alpha)), back(beta)))
            q = [x if s > 0 else back(x) for s, x in zip(self.signs, turns, strict=True)]
            found.append(Candidate(q, exists))
        return found

    def flag_values(self, q: Array) -> Array:
        bend = bend_of(self.l1, self.l2, self.signs[1] * q[..., 1])
        return (bend >= -1e-12).astype(int)[..., None]

    def why_unreachable(self, T: ArrayLike) -> str | None:
        T = np.asarray(T, dtype=float).reshape(4, 4)
        off = float(self.a @ (T[:3, 3] - self.chain.home[:3, 3]))
        if abs(off) > ACCEPTED * self.chain.size:
            return f"the target is {abs(off):.4g} m away from the plane in which the tool moves"
        distance = float(length(*self._end(constant(T))[0]))
        if within(distance, self.reach) >= 0:
            return None
        what = "the tool" if self.chain.n == 2 else "axis 3"
        return (
            f"{what} would be {distance:.4g} m from axis 1; the arm reaches "
            f"{self.reach[0]:.4g} to {self.reach[1]:.4g} m"
        )

    def _end(self, T: Pose) -> tuple[Pair, Pair | None]:
        """Return the end of the second link relative to axis 1, and the heading ψ of the tool.

        The end is a point (x, y) of the plane. ψ is (cos, sin), or None for an arm with two joints.
        """
        place, psi = self._place(T[1]), None
        if self.chain.n == 3:
            R, _ = compose((T[0], [0.0] * 3), constant(invert(self.chain.home)))
            psi = nearest_turn(R, self.a)
            arm = self.tool - self.P3
            x, y = times(psi, (arm.real, arm.imag))
            place = place[0] - x, place[1] - y
        return place, psi

    def _place(self, p: Vector) -> Pair:
        x, y = self.plane.pair(p)
        return x - self.P1.real, y - self.P1.imag


class PlanarArm2R(PlanarArm):
    """Solver for a planar arm with two joints; it ignores the target orientation."""

    meets = "position"
