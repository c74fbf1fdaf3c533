"""Denavit–Hartenberg rows, standard (distal) and modified (Craig), as joints of the model.

    standard:  A = Rz(theta) Tz(d) Tx(a) Rx(alpha)      frame i at the far end of link i
    modified:  A = Rx(alpha) Tx(a) Rz(theta) Tz(d)      frame i on the axis of joint i

The joint variable is theta + offset (revolute) or d + offset (prismatic).  In the form `before ·
motion(z) · after` of the model, the standard row has all constants after the motion; the modified
row has alpha and a before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from brazo.model.description import JointKind
from brazo.model.transforms import rot_x, rot_z, translate

Convention = Literal["standard", "modified"]


@dataclass(frozen=True, slots=True)
class DHRow:
    """One row of a D-H table: a revolute joint has a constant `d`, a prismatic one a constant
    `theta`.

    `offset` is added to the joint variable (rad or m).
    """

    kind: JointKind
    theta: float = 0.0  # constant part (prismatic only)
    d: float = 0.0  # constant part (revolute only)
    a: float = 0.0
    alpha: float = 0.0
    offset: float = 0.0

    @property
    def constant_theta(self) -> float:
        """Angle at q = 0."""
        return self.offset if self.kind == "revolute" else self.theta

    @property
    def constant_d(self) -> float:
        """Distance at q = 0."""
        return self.d if self.kind == "revolute" else self.offset


def before_after(row: DHRow, convention: Convention) -> tuple[np.ndarray, np.ndarray]:
    """Return the constant transforms (4, 4) before and after the motion about (along) z."""
    screw_z = rot_z(row.constant_theta) @ translate(z=row.constant_d)
    if convention == "standard":
        return np.eye(4), screw_z @ translate(x=row.a) @ rot_x(row.alpha)
    return rot_x(row.alpha) @ translate(x=row.a), screw_z


def row_transform(
    theta: float = 0.0, d: float = 0.0, a: float = 0.0, alpha: float = 0.0
) -> np.ndarray:
    """Return the standard D-H matrix (4, 4) of four constants."""
    return rot_z(theta) @ translate(z=d) @ translate(x=a) @ rot_x(alpha)
