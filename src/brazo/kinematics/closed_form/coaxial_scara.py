"""A SCARA whose first two revolute joints share one axis: R-P-R-R-R and its like, four parallel
revolute joints and a prismatic one, of which only θ₁ + θ₂ matters to the tool.

Everything else is a SCARA (`scara.py`): two links reach the wrist with the elbow on either side.
How θ₁ + θ₂ is split is free:

  without q0   θ₁ turns the arm square to the wrist, 90° short of it: with φ the direction of the
               wrist, θ₁ = φ − 90° and θ₂ the rest (90° ∓ b for two equal links, b = acos(ρ/2L));
  with q0      the split nearest to q0: both joints move by the same amount.

The lengths of the two links need not be equal.  Branches: LEFTY and RIGHTY as for any SCARA.
Reference: Yan, Xu, Jia (robot teleoperation), with the second branch and the height corrected.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from brazo.kinematics.chain import Chain
from brazo.kinematics.closed_form.base import (
    GEOMETRY_TOLERANCE,
    ClosedForm,
    Mismatch,
    pose_errors,
    wrap,
)
from brazo.kinematics.closed_form.planar import (
    ParallelJoints,
    bend_of,
    nearest_turn,
    reach_of,
    two_links,
    within,
)
from brazo.kinematics.closed_form.scara import ELBOW

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Array = np.ndarray

FAMILY = "SCARA with two joints on its first axis"


def recognise(chain: Chain) -> CoaxialScara | Mismatch:
    """The solver of an arm of this family, or the reason why it does not belong to it."""
    if chain.n != 5:
        return Mismatch(FAMILY, f"it has {chain.n} joints, not five")
    joints = ParallelJoints.of(chain, 5)
    if isinstance(joints, str):
        return Mismatch(FAMILY, joints)
    same, *links = np.abs(joints.links) <= GEOMETRY_TOLERANCE * chain.size
    if not same:
        return Mismatch(FAMILY, "its first two revolute axes do not coincide")
    if any(links):
        return Mismatch(FAMILY, "more than two of its revolute axes coincide")
    return CoaxialScara(chain, joints)


class CoaxialScara(ClosedForm):
    """See the module docstring; created by `recognise`."""

    family = FAMILY
    flags = (ELBOW,)

    def __init__(self, chain: Chain, joints: ParallelJoints) -> None:
        self.chain, self.joints = chain, joints
        _, self.l1, self.l2 = joints.links
        self.reach = reach_of(self.l1, self.l2)

    def flag_values(self, q: Array) -> Array:
        bend = bend_of(self.l1, self.l2, self.joints.turns(q)[2])
        return (bend >= -1e-12).astype(int)[..., None]

    def why_unreachable(self, T: ArrayLike) -> str | None:
        distance = float(np.abs(self._wrist(np.asarray(T, dtype=float).reshape(1, 4, 4))[0][0]))
        if within(distance, self.reach):
            return None
        return (
            f"the last axis would be {distance:.4g} m from axis 1, the arm reaches "
            f"{self.reach[0]:.4g} to {self.reach[1]:.4g} m"
        )

    def _solve(self, T: Array, q0: Array | None) -> tuple[Array, Array, Array, Array]:
        W, psi, slide = self._wrist(T)
        free = 0.0 if q0 is None else sum(self.joints.turns(q0)[:2])
        both, beta = (turn[:, ::-1] for turn in two_links(self.l1, self.l2, W, free))
        if q0 is None:
            first = np.angle(W / self.l1)[:, None] - math.pi / 2 + 0 * both
        else:
            start, second = (turn[:, None] for turn in self.joints.turns(q0)[:2])
            first = start + 0.5 * wrap(both - start - second)
        turns = [first, both - first, beta, psi[:, None] - both - beta]
        q = self.joints.fill(5, [wrap(turn) for turn in turns], slide[:, None])
        valid = np.repeat(within(np.abs(W), self.reach)[:, None], 2, axis=1)
        return q, valid, *pose_errors(self.chain, q, T)

    def _wrist(self, T: Array) -> tuple[Array, Array, Array]:
        """Last axis seen from the first, heading and slide (N,) that targets ask for."""
        home = self.chain.home
        psi = nearest_turn(T[:, :3, :3] @ home[:3, :3].T, self.joints.plane.a)
        W, slide = self.joints.aim(T, psi, home[:3, 3])
        return W, psi, slide
