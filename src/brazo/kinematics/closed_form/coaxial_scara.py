"""A SCARA whose first two revolute joints share one axis: R-P-R-R-R and similar, four parallel
revolute joints and a prismatic one, where the tool pose depends on θ₁ + θ₂ only.

Everything else is a SCARA (`scara.py`): two links reach the wrist with the elbow on either side.
How θ₁ + θ₂ is split is free:

  without q0   θ₁ turns the arm perpendicular to the wrist direction: with φ the direction of the
               wrist, θ₁ = φ − 90° and θ₂ the rest (90° ∓ b for two equal links, b = acos(ρ/2L));
  with q0      the split nearest to q0: both joints move by the same amount.

The lengths of the two links need not be equal.  Branches: LEFTY and RIGHTY as for any SCARA.
Reference: Yan, Xu, Jia (robot teleoperation), with the second branch and the height corrected.
"""

from __future__ import annotations

import numpy as np

from brazo.codegen.ring import where
from brazo.kinematics.chain import Chain
from brazo.kinematics.closed_form.base import GEOMETRY_TOLERANCE, Candidate, Mismatch, Scalar
from brazo.kinematics.closed_form.pairs import angle_of, back, length, of_angle, times
from brazo.kinematics.closed_form.planar import ParallelJoints, headed, two_links, within
from brazo.kinematics.closed_form.scara import Scara
from brazo.kinematics.forward import Pose

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


class CoaxialScara(Scara):
    """See the module docstring; created by `recognise`."""

    family = FAMILY
    axis = "last"

    def formula(self, T: Pose, q0: list[Scalar], given: Scalar) -> list[Candidate]:
        joints = self.joints
        W, psi, slide, _ = self._wrist(T)
        start, second = (
            sign * q0[j]
            for j, sign in zip(joints.revolute[:2], joints.turn_signs[:2].tolist(), strict=True)
        )
        right, left = two_links(self.l1, self.l2, W, of_angle(start + second))
        exists = within(length(*W), self.reach)
        square = times(times(W, (self.l1.real, -self.l1.imag)), (0.0, -1.0))
        found = []
        for both, beta in (left, right):
            # The split nearest to q0: both joints move by the same amount.
            moved = angle_of(times(both, back(of_angle(start + second))))
            first = where(given, start + 0.5 * moved, angle_of(square))
            turns = [
                first,
                angle_of(times(both, back(of_angle(first)))),
                angle_of(beta),
                headed(psi, both, beta),
            ]
            found.append(Candidate(joints.fill(5, turns, slide), exists))
        return found
