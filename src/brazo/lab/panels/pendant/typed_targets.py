"""Targets typed on the pendant: pairs of name and value, with or without a unit, to poses."""

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
    """Unit of a number without one, for a rotary (`"revolute"`) or linear quantity."""
    if kind == "revolute":
        return "rad" if si else "deg"
    return "m" if si else "mm"


def read_pairs(targets: list[Any]) -> Given | None:
    """Values by name from pairs `[["q0", 45], …]` of a page; None if they are malformed."""
    given: Given = {}
    for pair in targets:
        if not (isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str)):
            return None
        if not isinstance(pair[1], int | float | str) or isinstance(pair[1], bool):
            return None
        given[pair[0]] = pair[1]
    return given


def displaced_pose(T: np.ndarray, given: Given, si: bool) -> np.ndarray:
    """The pose T (4, 4) displaced by x, y, z along its own axes."""
    twist = np.zeros(6)
    for i, name in enumerate("xyz"):
        if name in given:
            twist[i] = read_quantity(given[name], unit_of("prismatic", si))
    return displaced(T, twist, T[:3, :3])


def typed_pose(T: np.ndarray, given: Given, angles: str, si: bool) -> np.ndarray:
    """The pose T (4, 4) with the given coordinates and angles (`"oat"` or `"rpy"`) replaced."""
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
