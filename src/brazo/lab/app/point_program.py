"""Conversion of taught points to a program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brazo.operate import Point
    from brazo.program.steps import Step


def as_program(robot: str, points: Sequence[Point], cell: str) -> str:
    """Return the YAML text of a program that defines the points and moves through them."""
    from brazo.program.program import Program

    steps = through(points)
    name = f"{robot} taught points"
    return Program(name, cell=cell, points={robot: list(points)}, steps={robot: steps}).to_yaml()


def through(points: Iterable[Point]) -> list[Step]:
    """Return one joint move to each point, in order; the moves refer to the points by name."""
    from brazo.program.steps import MoveJoints

    return [MoveJoints(to=point.name) for point in points]
