"""SCARA arms: three parallel revolute joints and a prismatic joint along them, in any order.

Examples are R-R-P-R and P-R-R-R. The arm may have a fifth joint at its end, which is revolute and
perpendicular to the others and pitches the tool.

Positions in the plane perpendicular to the axes are complex numbers (`planar.py`). The target
orientation determines the heading ψ of the last link and, with five joints, the pitch θ. p is the
target position. x(θ) is the tool position if joint 5 is at θ and all other joints are at 0. P₃ is
the position of the third revolute axis at q = 0. For the target, this axis is at

    W = p − e^{iψ} (x(θ) − P₃).

Two links reach W with the elbow on either side. The third revolute joint completes the heading, and
the prismatic joint sets the height.

Orientation: four joints rotate the tool only about the vertical; a fifth joint also pitches it. The
position is always reached exactly. The orientation is the feasible one with the smallest angle to
the target orientation. This angle is the orientation error of the branch.

Branches: LEFTY means that the elbow is left of the line from axis 1 to the wrist, seen from the tip
of axis 1. RIGHTY means that it is right of this line (the second joint bends to the left). If the
wrist is on axis 1, joint 1 keeps its value from q0 (0 without q0).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from brazo.kinematics.chain import Chain
from brazo.kinematics.closed_form.base import (
    GEOMETRY_TOLERANCE,
    Candidate,
    ClosedForm,
    Flag,
    Mismatch,
    Scalar,
)
from brazo.kinematics.closed_form.pairs import Pair, angle_of, length, of_angle, turned_about
from brazo.kinematics.closed_form.planar import (
    ParallelJoints,
    bend_of,
    headed,
    nearest_turn,
    nearest_two_turns,
    reach_of,
    two_links,
    within,
)
from brazo.kinematics.forward import Pose, compose, constant

Array = np.ndarray

FAMILY = "SCARA"
ELBOW: Flag = ("arm", ("LEFTY", "RIGHTY"))


def recognise(chain: Chain) -> Scara | Mismatch:
    """Return the solver if the arm belongs to this family, otherwise the reason why it does not."""
    if chain.n not in (4, 5):
        return Mismatch(FAMILY, f"it has {chain.n} joints, not four or five")
    joints = ParallelJoints.of(chain, 4)
    if isinstance(joints, str):
        return Mismatch(FAMILY, joints)
    if np.abs(joints.links).min() <= GEOMETRY_TOLERANCE * chain.size:
        return Mismatch(FAMILY, "two of its parallel revolute axes coincide")
    if chain.n == 5:
        last = chain.home_axes[0][4]
        if chain.kinds[4] != "revolute" or abs(last @ joints.plane.a) > GEOMETRY_TOLERANCE:
            return Mismatch(
                FAMILY, "its last joint is not a revolute joint perpendicular to the others"
            )
    return Scara(chain, joints)


class Scara(ClosedForm):
    """Solver for a SCARA arm; see the module docstring."""

    family = FAMILY
    meets = "nearest"
    flags = (ELBOW,)
    axis: ClassVar[str] = "third"  # at the end of the two links

    def __init__(self, chain: Chain, joints: ParallelJoints) -> None:
        self.chain, self.joints = chain, joints
        self.l1, self.l2 = joints.links[-2:]
        self.reach = reach_of(self.l1, self.l2)
        self.pitches = chain.n > len(joints.revolute) + 1  # with a last perpendicular joint

    def flag_values(self, q: Array) -> Array:
        bend = bend_of(self.l1, self.l2, self.joints.turns(q)[-2])
        return (bend >= -1e-12).astype(int)[..., None]

    def why_unreachable(self, T: ArrayLike) -> str | None:
        W = self._wrist(constant(np.asarray(T, dtype=float).reshape(4, 4)))[0]
        distance = float(length(*W))
        if within(distance, self.reach) >= 0:
            return None
        return (
            f"the {self.axis} axis would be {distance:.4g} m from axis 1; the arm reaches "
            f"{self.reach[0]:.4g} to {self.reach[1]:.4g} m"
        )

    def formula(self, T: Pose, q0: list[Scalar], given: Scalar) -> list[Candidate]:
        joints = self.joints
        W, psi, slide, theta = self._wrist(T)
        free = of_angle(joints.first_turn(q0))
        right, left = two_links(self.l1, self.l2, W, free)
        exists = within(length(*W), self.reach)
        found = []
        for alpha, beta in (left, right):
            turns = [angle_of(alpha), angle_of(beta), headed(psi, alpha, beta)]
            q = joints.fill(self.chain.n, turns, slide)
            if self.pitches:
                q[4] = angle_of(theta)
            found.append(Candidate(q, exists))
        return found

    def _wrist(self, T: Pose) -> tuple[Pair, Pair, Scalar, Pair]:
        """Return W, heading ψ, slide (m) and pitch θ for a target pose T.

        W is the position of the last of the parallel revolute axes relative to axis 1, in the plane
        perpendicular to them. The slide is the displacement of the prismatic joint.
        """
        plane, home = self.joints.plane, self.chain.home
        R, p = T[0], T[1]
        R, _ = compose((R, [0.0] * 3), constant(np.linalg.inv(home)))
        tool, theta = home[:3, 3].tolist(), (1.0, 0.0)
        if self.pitches:
            b, point = (part[4] for part in self.chain.home_axes)
            psi, theta = nearest_two_turns(R, plane.a, b)
            beside = turned_about(b.tolist(), theta, (home[:3, 3] - point).tolist())
            tool = [x + y for x, y in zip(point.tolist(), beside, strict=True)]
        else:
            psi = nearest_turn(R, plane.a)
        W, slide = self.joints.aim(p, psi, tool)
        return W, psi, slide, theta
