"""Six revolute joints, the first three with axes that meet in a point: a spherical wrist, reversed.

Seen from the tool, the arm is one with a spherical wrist:

    T⁻¹ = X₆⁻¹ S₆(−q₆) X₅⁻¹ … S₁(−q₁) X₀⁻¹,

so `spherical_wrist` solves it for T⁻¹; order and signs of the joint values are then reversed.  The
branches have the names of that arm's: ARM is the part from the tool to the shoulder.
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

NAME = "a spherical shoulder"


def recognise(chain: Chain) -> ClosedForm | Mismatch:
    """The solver of an arm with a spherical shoulder."""
    if chain.n != 6 or not chain.revolute.all():
        return Mismatch(NAME, "six revolute joints are needed")
    inner = spherical_wrist.recognise(reversed_chain(chain))
    if not isinstance(inner, ClosedForm):
        return Mismatch(NAME, f"from the tool, {inner}")
    return SphericalShoulder(chain, inner)


def reversed_chain(chain: Chain) -> Chain:
    """The arm from its tool to its base; its joint values are −qₙ, …, −q₁."""
    return Chain(chain.kinds[::-1], np.array([invert(x) for x in chain.X[::-1]]), chain.coordinates)


class SphericalShoulder(ClosedForm):
    """See the module."""

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
        return None if why is None else f"seen from the tool: {why}"


def _negated(x: Scalar) -> Scalar:
    """An angle, or its pair (cos, sin), with the other sign."""
    return (x[0], -x[1]) if isinstance(x, tuple) else -x
