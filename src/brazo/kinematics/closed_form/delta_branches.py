"""The Delta robot as a `ClosedForm`; its branches are the eight combinations of elbow positions.

The joint angles are computed by `delta.py`. At given joint angles, the platform has two possible
positions, the lower and the upper assembly. The robot works in the lower assembly, and the errors
of a branch are computed with it. A branch that reaches the target only in the upper assembly is
therefore not valid. The platform does not rotate, so every branch has the same orientation error:
the angle between the target orientation and the fixed orientation of the tool.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brazo.codegen.linear import dot
from brazo.codegen.ring import maximum, minimum, sqrt, where
from brazo.kinematics.closed_form import delta
from brazo.kinematics.closed_form.base import Candidate, ClosedForm, Scalar
from brazo.kinematics.closed_form.pairs import Pair
from brazo.kinematics.closed_form.pose_error import errors_of
from brazo.kinematics.forward import Pose, cross, subtract
from brazo.model.description import DeltaModel, JointKind

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class DeltaChain:
    """Substitute for `Chain` of serial arms, with the attributes that `ClosedForm` uses."""

    size: float
    kinds: tuple[JointKind, ...] = ("revolute", "revolute", "revolute")
    coordinates: tuple[int, ...] = (0, 1, 2)
    n: int = 3

    @property
    def revolute(self) -> Array:
        return np.ones(3, dtype=bool)


class DeltaBranches(ClosedForm):
    """Closed-form IK solver for a Delta robot; see the module docstring."""

    family = "Delta"
    meets = "nearest"
    flags = tuple((f"elbow {i}", ("OUT", "IN")) for i in (1, 2, 3))

    def __init__(self, model: DeltaModel) -> None:
        self.model = model
        self.chain = DeltaChain(model.L1 + model.L2)  # type: ignore[assignment]

    def formula(self, T: Pose, q0: list[Scalar], given: Scalar) -> list[Candidate]:
        arms = delta.elbows(self.model, subtract(T[1], self.model.tool[:3, 3].tolist()))
        exists = minimum(minimum(arms[0][2], arms[1][2]), arms[2][2])
        picks = itertools.product((0, 1), repeat=3)
        return [
            Candidate([arm[i] for arm, i in zip(arms, pick, strict=True)], exists) for pick in picks
        ]

    def errors(self, turns: Sequence[Any], p: Sequence[Scalar]) -> tuple[Scalar, Scalar, Scalar]:
        tool = self.model.tool
        place = [a + b for a, b in zip(self._platform(turns), tool[:3, 3].tolist(), strict=True)]
        return errors_of((tool[:3, :3].ravel().tolist(), place), p, self.chain.size)

    def flag_values(self, q: Array) -> Array:
        slot = delta.branch_of(self.model, q)
        return np.stack([slot >> 2 & 1, slot >> 1 & 1, slot & 1], axis=-1)

    def why_unreachable(self, T: ArrayLike) -> str | None:
        P = np.asarray(T, dtype=float)[:3, 3] - self.model.tool[:3, 3]
        return delta.why_unreachable(self.model, P)

    def _platform(self, turns: Sequence[Pair]) -> list[Scalar]:
        """Return the lower of the two possible platform centres, by forward kinematics.

        `turns` contains (cos θ, sin θ) of each arm. The result is NaN if the rods cannot be
        connected to the platform at these angles.
        """
        shape = self.model
        C = []
        for (c, s), phi in zip(turns, shape.azimuths, strict=True):
            out = shape.R - shape.r + shape.L1 * c
            C.append([out * float(np.cos(phi)), out * float(np.sin(phi)), shape.L1 * s])
        a, b = subtract(C[1], C[0]), subtract(C[2], C[0])
        normal = cross(a, b)
        area2 = dot(normal, normal)
        u, v, aa, bb = cross(b, normal), cross(normal, a), dot(a, a), dot(b, b)
        middle = [(aa * x + bb * y) / (2.0 * area2) for x, y in zip(u, v, strict=True)]
        height2 = shape.L2**2 - dot(middle, middle)
        # At the edge of the workspace rounding may leave a square just below zero.
        height2 = where(height2 + 1e-12 * shape.L2**2, maximum(height2, 0.0), height2)
        away = sqrt(height2 / area2)
        away = where(normal[2], -away, away)
        return [x + y + away * z for x, y, z in zip(C[0], middle, normal, strict=True)]
