"""Inverse kinematics in closed form: every branch of an arm, by the family it belongs to.

`recognise(chain)` looks at the geometry of the joint axes and gives the solver, or the reasons
why the arm is of none of the families.
"""

from __future__ import annotations

from brazo.kinematics.chain import Chain
from brazo.kinematics.closed_form import (
    coaxial_scara,
    five_axis,
    redundant_scara,
    scara,
    spherical_wrist,
)
from brazo.kinematics.closed_form.base import ClosedForm, Mismatch, Solutions

__all__ = ["ClosedForm", "Mismatch", "Solutions", "recognise"]

FAMILIES = (spherical_wrist, five_axis, scara, coaxial_scara, redundant_scara)


def recognise(chain: Chain) -> ClosedForm | tuple[Mismatch, ...]:
    """The closed-form solver of an arm, or why each family does not fit it."""
    mismatches = []
    for family in FAMILIES:
        found = family.recognise(chain)
        if isinstance(found, ClosedForm):
            return found
        mismatches.append(found)
    return tuple(mismatches)
