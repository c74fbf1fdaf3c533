"""Conversion of targets typed on the pendant to tool poses.

A page sends pairs of name and value, for example `["x", 120]` or `["x", "12cm"]`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brazo.kinematics.orientation import (
    matrix_from_oat,
    matrix_from_rpy,
    oat_from_matrix,
    rpy_from_matrix,
)
from brazo.lab.app.quantities import read_quantity
from brazo.operate.mover import displaced

ANGLE = ("a0", "a1", "a2")
Given = dict[str, float | str]


def unit_of(kind: str, si: bool) -> Any:
    """Unit of a number that was typed without a unit.

    `kind` is "revolute" for angles and "prismatic" for lengths.  `si` selects rad and m instead of
    degrees and mm.
    """
    if kind == "revolute":
        return "rad" if si else "deg"
    return "m" if si else "mm"


def read_pairs(targets: list[Any]) -> Given | None:
    """Convert pairs `[["q0", 45], …]` to a dict from name to value; None if malformed."""
    given: Given = {}
    for pair in targets:
        if not (isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str)):
            return None
        if not isinstance(pair[1], int | float | str) or isinstance(pair[1], bool):
            return None
        given[pair[0]] = pair[1]
    return given


def displaced_pose(T: np.ndarray, given: Given, si: bool) -> np.ndarray:
    """Pose T (4, 4) displaced along its own axes by the values x, y and z in `given`.

    Numbers without a unit are in m if `si`, else in mm.
    """
    twist = np.zeros(6)
    for i, name in enumerate("xyz"):
        if name in given:
            twist[i] = read_quantity(given[name], unit_of("prismatic", si))
    return displaced(T, twist, T[:3, :3])


def typed_pose(T: np.ndarray, given: Given, angles: str, si: bool) -> np.ndarray:
    """Copy of the pose T (4, 4) with the coordinates and angles in `given` replaced.

    `angles` is the angle convention, "oat" or "rpy".  Numbers without a unit are in m and rad if
    `si`, else in mm and degrees.
    """
    T = T.copy()
    for i, name in enumerate("xyz"):
        if name in given:
            T[i, 3] = read_quantity(given[name], unit_of("prismatic", si))
    if any(name in given for name in ANGLE):
        to, back = (
            (oat_from_matrix, matrix_from_oat)
            if angles == "oat"
            else (rpy_from_matrix, matrix_from_rpy)
        )
        turned = np.array(to(T[:3, :3]))
        for i, name in enumerate(ANGLE):
            if name in given:
                turned[i] = read_quantity(given[name], unit_of("revolute", si))
        T[:3, :3] = back(turned)
    return T
