"""Conversion of taught points to a program."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brazo.operate import Point


def as_program(robot: str, points: Iterable[Point], cell: str) -> str:
    """YAML text of a program that moves through the points, each preceded by a note of its name."""
    from brazo.program.program import Program
    from brazo.program.steps import MoveJoints, Note, Step

    steps: list[Step] = []
    for point in points:
        to = tuple(float(value) for value in point.q)
        steps += [Note(text=point.name), MoveJoints(to=to)]
    return Program(f"{robot} taught points", cell=cell, steps={robot: steps}).to_yaml()
