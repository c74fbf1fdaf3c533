"""Denavit–Hartenberg rows, standard (distal) and modified (Craig), as joints of the model.

    standard:  A = Rz(theta) Tz(d) Tx(a) Rx(alpha)      frame i at the far end of link i
    modified:  A = Rx(alpha) Tx(a) Rz(theta) Tz(d)      frame i on the axis of joint i

The joint coordinate q gives theta = q + offset (revolute) or d = q + offset (prismatic). A joint of
the model has the form `before · motion(z) · after`. In the standard convention, `after` contains
all constants. In the modified convention, `before` contains alpha and a, and `after` the
constant parts of theta and d.
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
    """One row of a D-H table.

    A revolute joint has the constant `d` and theta = q + `offset` (rad). A prismatic joint has the
    constant `theta` and d = q + `offset` (m).
    """

    kind: JointKind
    theta: float = 0.0  # constant part (prismatic only)
    d: float = 0.0  # constant part (revolute only)
    a: float = 0.0
    alpha: float = 0.0
    offset: float = 0.0

    @property
    def constant_theta(self) -> float:
        """Angle theta (rad) of the row at q = 0."""
        return self.offset if self.kind == "revolute" else self.theta

    @property
    def constant_d(self) -> float:
        """Distance d (m) of the row at q = 0."""
        return self.d if self.kind == "revolute" else self.offset


def before_after(row: DHRow, convention: Convention) -> tuple[np.ndarray, np.ndarray]:
    """Return the constant transforms (4, 4) before and after the joint motion.

    The motion is a rotation about z (revolute) or a translation along z (prismatic).
    """
    screw_z = rot_z(row.constant_theta) @ translate(z=row.constant_d)
    if convention == "standard":
        return np.eye(4), screw_z @ translate(x=row.a) @ rot_x(row.alpha)
    return rot_x(row.alpha) @ translate(x=row.a), screw_z


def row_transform(
    theta: float = 0.0, d: float = 0.0, a: float = 0.0, alpha: float = 0.0
) -> np.ndarray:
    """Return the standard D-H matrix (4, 4) of the four constants of a row."""
    return rot_z(theta) @ translate(z=d) @ translate(x=a) @ rot_x(alpha)
