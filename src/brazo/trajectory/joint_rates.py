"""Exact joint velocities and accelerations for a tool motion, for any arm.

The objectives, in order of priority:

1. The tool point has the velocity v.
2. The tool has the angular velocity ω, in the least-squares sense.
3. The joint motion is minimal (min Σ q̇²).

V and W are the position and rotation rows of the Jacobian J.  With N = 1 − V⁺V and B = W N:

    q̇ = V⁺ v + B⁺ (ω − W V⁺ v)

For six joints away from singularities, q̇ is J⁻¹ (v, ω).  An arm with fewer joints follows the
position with the closest feasible rotation.  For more joints, q̇ is the pseudoinverse solution.  q̈
is the exact time derivative of q̇.  It uses the derivative of a pseudoinverse of constant rank
(Golub, Pereyra 1973):

    (A⁺)' = −A⁺ A' A⁺ + A⁺ A⁺ᵀ A'ᵀ (1 − A A⁺) + (1 − A⁺ A) A'ᵀ A⁺ᵀ A⁺.

The ranks of V and B are those away from singularities (generic rank).  For a matrix of generic rank
r, the r-th largest singular value becomes 0 at a singularity.  `Rates.margin` is the smaller of
these singular values of V / reach and B, where `reach` is the max norm of V over random
configurations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from brazo.trajectory.jacobian_rate import jacobian_rate

if TYPE_CHECKING:
    from brazo.robot import Robot

Array = np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """Joint velocities and accelerations at one configuration, and its singularity margin.

    `margin` is 0 at a singularity.
    """

    qd: Array  # (n,)
    qdd: Array  # (n,)
    margin: float  # min singular value of V / reach and B, up to their generic ranks


class ToolMotion:
    """Computes the joint velocities and accelerations of a robot for given tool motions.

    The position of the tool has priority over its orientation, and the joint motion is minimal.
    With `turning=False` only the position is controlled, not the orientation.
    """

    def __init__(self, robot: Robot, turning: bool = True) -> None:
        self.robot = robot
        self.turning = turning
        self._rate = jacobian_rate(robot.model)
        self._zero = np.zeros(robot.n)
        self.reach, self.point_rank = _reach_and_rank(robot)
        self.turn_rank = robot.mobility - self.point_rank if turning else 0

    @property
    def spare(self) -> int:
        """Number of redundant degrees of freedom, which the tool motion does not determine."""
        return self.robot.n - self.point_rank - self.turn_rank

    def rates(self, q: Array, velocity: Array, acceleration: Array) -> Rates:
        """Joint rates q̇ and q̈ for tool velocity and acceleration (6,), linear then angular."""
        J = self.robot.jacobian(q)
        V, W = J[:3], J[3:]
        Vp, margin = _pinv(V, self.point_rank)
        margin /= self.reach
        point_qd = Vp @ velocity[:3]
        if not self.turn_rank:
            Vd = self._rate(q, point_qd)[1][:3]
            qdd = _pinv_rate(V, Vp, Vd) @ velocity[:3] + Vp @ acceleration[:3]
            return Rates(point_qd, qdd, margin)
        N = np.eye(len(q)) - Vp @ V
        B = W @ N
        Bp, turn_margin = _pinv(B, self.turn_rank)
        left = velocity[3:] - W @ point_qd
        qd = point_qd + Bp @ left
        Jd = self._rate(q, qd)[1]
        Vd, Wd = Jd[:3], Jd[3:]
        Vpd = _pinv_rate(V, Vp, Vd)
        point_qdd = Vpd @ velocity[:3] + Vp @ acceleration[:3]
        Bpd = _pinv_rate(B, Bp, Wd @ N - W @ (Vpd @ V + Vp @ Vd))
        turning = acceleration[3:] - Wd @ point_qd - W @ point_qdd
        qdd = point_qdd + Bpd @ left + Bp @ turning
        return Rates(qd, qdd, min(margin, turn_margin))

    def inverse(self, q: Array) -> Array:
        """Matrix (n, 6) that maps a small tool displacement to joint displacements."""
        J = self.robot.jacobian(q)
        Vp, _ = _pinv(J[:3], self.point_rank)
        if not self.turn_rank:
            return np.concatenate([Vp, np.zeros_like(Vp)], axis=1)
        Bp, _ = _pinv(J[3:] @ (np.eye(len(q)) - Vp @ J[:3]), self.turn_rank)
        return np.concatenate([Vp - Bp @ J[3:] @ Vp, Bp], axis=1)

    def singular_joints(self, q: Array) -> str:
        """Names of the joints that cause the singularity nearest to q, as text.

        Example: `joints 4 (wrist roll) and 6 (flange)`.  The joints have large entries in the right
        singular vector of the r-th largest singular value of the Jacobian, where r is the generic
        rank.
        """
        J = self.robot.jacobian(q)
        J = np.concatenate([J[:3] / self.reach, J[3:]]) if self.turn_rank else J[:3]
        share = np.abs(np.linalg.svd(J)[2][self.point_rank + self.turn_rank - 1])
        names = self.robot.joint_names
        found = [f"{i + 1} ({names[i]})" for i in np.flatnonzero(share > 0.3 * share.max())]
        if len(found) == 1:
            return f"joint {found[0]}"
        return f"joints {', '.join(found[:-1])} and {found[-1]}"


_known: WeakKeyDictionary[Robot, tuple[Any, float, int]] = WeakKeyDictionary()  # with the model


def _reach_and_rank(robot: Robot) -> tuple[float, int]:
    """Max norm and max rank of the position rows of the Jacobian over random configurations."""
    model, reach, rank = _known.get(robot, (None, 0.0, 0))
    if model is not robot.model:
        V = robot.jacobian(robot.random_q(20, seed=0))[:, :3]
        reach = max(float(np.linalg.norm(V, axis=(1, 2)).max()), 1e-12)
        rank = int(np.linalg.matrix_rank(V / reach, tol=1e-8).max())
        _known[robot] = robot.model, reach, rank
    return reach, rank


def _pinv(A: Array, rank: int) -> tuple[Array, float]:
    """Pseudoinverse of a matrix A of given rank, and the `rank`-th largest singular value of A.

    A vanishing singular value is not inverted; its direction does not contribute.
    """
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    kept = s[:rank]
    if rank == 0:
        return np.zeros((A.shape[1], A.shape[0])), np.inf
    inverse = np.divide(1.0, kept, out=np.zeros(rank), where=kept > 1e-12 * max(s[0], 1e-12))
    return (Vt[:rank].T * inverse) @ U[:, :rank].T, float(kept[-1])


def _pinv_rate(A: Array, P: Array, Ad: Array) -> Array:
    """Time derivative of the pseudoinverse P of A, for dA/dt = Ad and constant rank."""
    PAd, PtAd = P @ Ad, P @ P.T @ Ad.T
    inner = Ad.T @ P.T @ P
    return -PAd @ P + PtAd - (PtAd @ A) @ P + inner - P @ (A @ inner)
