"""Convert what a user names (a cell, a robot, their name or file) to a cell.

A single robot becomes a cell with a floor at the bottom of its base, or below all of its links if
it hangs from its base.
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from brazo.body.stick_figure import visible_parts
from brazo.errors import BrazoError
from brazo.files import existing, is_regular
from brazo.formats.document import read_document
from brazo.formats.library import robot_names
from brazo.robot import Robot, load
from brazo.simulation.lone_robot import floor_height, lone_cell, source_of
from brazo.world import Cell, cell_names, load_cell
from brazo.world.cell import default_start
from brazo.world.robot_source import RobotSource

CELL_FIELDS = ("robots", "bodies", "fixtures", "chute", "frames")
CELL, ROBOT = "cell:", "robot:"


def choices() -> dict[str, list[str]]:
    """Names of the shipped cells and robots."""
    return {"cells": cell_names(), "robots": robot_names()}


def as_cell(source: Any) -> Cell:
    """Cell given by a `Cell`, a `Robot`, a name or a path.

    A name that is both a cell's and a robot's refers to the cell; the prefixes in `robot:delta`
    and `cell:delta` select one.
    """
    if isinstance(source, Cell):
        return source
    if isinstance(source, Robot):
        return alone(source_of(source), source)
    if not isinstance(source, str | Path):
        raise BrazoError(
            f"cannot show a {type(source).__name__}: give a cell ({', '.join(cell_names())}"
            f"), a robot (of brazo.load, or a name: {', '.join(robot_names())}), or the path of a "
            "cell or robot file"
        )
    name = str(source)
    if name.startswith(CELL):
        return load_cell(name.removeprefix(CELL))
    if name.startswith(ROBOT) or not (name in cell_names() or is_cell_file(Path(name))):
        if not (name.startswith(ROBOT) or Path(name).suffix or name in robot_names()):
            close = get_close_matches(name.lower()[:80], [*cell_names(), *robot_names()], n=1)
            hint = f"did you mean '{close[0]}'? " if close else ""
            raise BrazoError(
                f"no cell and no robot named '{name[:80]}'; {hint}cells: "
                f"{', '.join(cell_names())}; robots: {', '.join(robot_names())}; the path of a "
                "cell or robot file is accepted, too"
            )
        return lone_robot(name.removeprefix(ROBOT))
    return load_cell(source)


def is_cell_file(path: Path) -> bool:
    """Whether a path is a cell file rather than a robot file; raise for a program file."""
    found = existing(path)
    if found is None or found.suffix.lower() not in (".yaml", ".yml") or not is_regular(found):
        return False
    root = read_document(found)
    fields = root.mapping() if root.is_mapping else {}
    if "robots" in fields and fields["robots"].is_mapping:
        raise BrazoError(
            f"{path}: a program, not a robot or cell: load it in the Program panel of its cell, or "
            "start it with brazo run"
        )
    return any(key in CELL_FIELDS for key in fields)


def lone_robot(name_or_path: str | Path) -> Cell:
    """Cell with a single robot, given by name or file."""
    return alone(RobotSource.load(name_or_path), load(name_or_path))


def alone(source: RobotSource, robot: Robot) -> Cell:
    """Cell with a single robot and a floor."""
    start = default_start(source.model, source.model.limits)
    return lone_cell(robot, source, floor_under(robot, start))


def floor_under(robot: Robot, q: np.ndarray) -> float:
    """Height (m) of the floor for a robot at `q` (n,), from the parts that the lab draws."""
    return floor_height(robot, q, visible_parts(robot.model, robot.parts))
