"""Closed-form inverse kinematics: all branches of an arm, by family.

`recognise(chain)` returns the solver for the geometry of the joint axes, or the reasons why the arm
belongs to none of the families.
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
    """The closed-form solver of an arm, or the reason for each family why it does not fit."""
    mismatches = []
    for family in FAMILIES:
        found = family.recognise(chain)
        if isinstance(found, ClosedForm):
            return found
        mismatches.append(found)
    return tuple(mismatches)
