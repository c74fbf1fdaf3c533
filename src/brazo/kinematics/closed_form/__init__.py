"""Closed-form inverse kinematics: one solver per family of arms; it finds all IK solutions.

`recognise(chain)` chooses the solver from the geometry of the joint axes, or returns the reasons
why the arm belongs to none of the families.
"""

from __future__ import annotations

from brazo.kinematics.chain import Chain
from brazo.kinematics.closed_form import (
    coaxial_scara,
    five_axis,
    general_six,
    planar_arm,
    point_arm,
    redundant_scara,
    scara,
    spherical_shoulder,
    spherical_wrist,
    three_parallel,
)
from brazo.kinematics.closed_form.base import ClosedForm, Mismatch, Solutions

__all__ = ["ClosedForm", "Mismatch", "Solutions", "recognise"]

FAMILIES = (
    spherical_wrist,
    three_parallel,
    five_axis,
    scara,
    coaxial_scara,
    redundant_scara,
    planar_arm,
    point_arm,
    spherical_shoulder,
    general_six,  # last: it solves special arms too, slower
)


def recognise(chain: Chain) -> ClosedForm | tuple[Mismatch, ...]:
    """Return the closed-form solver for an arm, or one `Mismatch` for each family of arms.

    A `Mismatch` contains the reason why the arm does not belong to a family.
    """
    mismatches = []
    for family in FAMILIES:
        found = family.recognise(chain)
        if isinstance(found, ClosedForm):
            return found
        mismatches.append(found)
    return tuple(mismatches)
