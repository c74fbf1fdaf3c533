"""SCARA arms whose first two revolute joints have the same axis, such as R-P-R-R-R.

These arms have four parallel revolute joints and a prismatic joint. The tool pose depends only on
the sum θ₁ + θ₂ of the first two revolute joints. The sum is solved as for any SCARA (`scara.py`):
two links reach the wrist with the elbow on either side. The target does not determine θ₁ and θ₂
individually. They are chosen as follows:

  without q0   θ₁ = φ − 90° and θ₂ = sum − θ₁, where φ is the direction from axis 1 to the wrist,
               measured from the direction of the first link at q = 0. For two links of equal length
               L this gives θ₂ = 90° ∓ acos(ρ/2L), where ρ is the distance of the wrist from axis 1.
  with q0      both joints move by the same angle from q0, which gives the values nearest to q0.

The branches are LEFTY and RIGHTY, as for any SCARA. Reference: Yan, Xu, Jia (robot teleoperation).
The formulas of the reference for the second branch and for the height are corrected here.
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
    """Return the solver if the arm belongs to this family, otherwise the reason why it does not."""
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
    """Solver for a SCARA arm with two joints on its first axis; see the module docstring."""

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
