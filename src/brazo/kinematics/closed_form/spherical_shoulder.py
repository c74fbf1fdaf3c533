"""Six-joint arms with a spherical shoulder: the axes of the first three joints meet in a point.

The pose of the tool is T = X₀ S₁(q₁) X₁ … S₆(q₆) X₆, with the constant transforms Xᵢ and the joint
rotations Sᵢ of `brazo.kinematics.chain`. The inverse of T is the pose of the reversed arm, from
tool to base:

    T⁻¹ = X₆⁻¹ S₆(−q₆) X₅⁻¹ … S₁(−q₁) X₀⁻¹.

The reversed arm has a spherical wrist, so `spherical_wrist` solves it for T⁻¹. The order and the
signs of the joint values found are then reversed. The branch names are those of the reversed arm:
its "arm" is the part from the tool to the shoulder, its "wrist" is the shoulder.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from brazo.kinematics.chain import Chain
from brazo.kinematics.closed_form import spherical_wrist
from brazo.kinematics.closed_form.base import Candidate, ClosedForm, Mismatch, Scalar
from brazo.kinematics.forward import Pose, rotate_back
from brazo.model.transforms import invert

Array = np.ndarray

NAME = "6R arm with a spherical shoulder"


def recognise(chain: Chain) -> ClosedForm | Mismatch:
    """Return the solver if the arm belongs to this family, otherwise the reason why it does not."""
    if chain.n != 6 or not chain.revolute.all():
        return Mismatch(NAME, "six revolute joints are needed")
    inner = spherical_wrist.recognise(reversed_chain(chain))
    if not isinstance(inner, ClosedForm):
        return Mismatch(NAME, f"reversed, from tool to base, it is {inner}")
    return SphericalShoulder(chain, inner)


def reversed_chain(chain: Chain) -> Chain:
    """Return the chain from the tool to the base; its joint values are −qₙ, …, −q₁."""
    return Chain(chain.kinds[::-1], np.array([invert(x) for x in chain.X[::-1]]), chain.coordinates)


class SphericalShoulder(ClosedForm):
    """Solver for an arm with a spherical shoulder; `inner` solves the reversed arm."""

    family = NAME

    def __init__(self, chain: Chain, inner: ClosedForm) -> None:
        self.chain, self.inner = chain, inner
        self.flags = inner.flags

    def formula(self, T: Pose, q0: list[Scalar], given: Scalar) -> list[Candidate]:
        R, p = T
        back = [R[3 * j + i] for i in range(3) for j in range(3)]
        target = back, [-x for x in rotate_back(R, p)]
        found = self.inner.formula(target, [-x for x in reversed(q0)], given)
        return [Candidate([_negated(x) for x in reversed(c.q)], c.exists) for c in found]

    def flag_values(self, q: Array) -> Array:
        return self.inner.flag_values(-q[..., ::-1])

    def why_unreachable(self, T: ArrayLike) -> str | None:
        why = self.inner.why_unreachable(invert(np.asarray(T, dtype=float)))
        return None if why is None else f"for the reversed arm (from tool to base): {why}"


def _negated(x: Scalar) -> Scalar:
    """Return the negative of an angle, which is a scalar or a pair (cos, sin)."""
    return (x[0], -x[1]) if isinstance(x, tuple) else -x
