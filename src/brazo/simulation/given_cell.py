"""Conversion of user input (an object, a name or a file path) to a cell.

A robot is converted to a cell with this robot and a floor.  The floor is at the bottom of the
robot's base, or below all links if the robot extends below its base (see `floor_height`).
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
    """Return the names of the shipped cells and robots, with the keys `cells` and `robots`."""
    return {"cells": cell_names(), "robots": robot_names()}


def as_cell(source: Any) -> Cell:
    """Return the cell that `source` specifies: a `Cell`, a `Robot`, a name or a file path.

    If a cell and a robot have the same name, the name selects the cell.  A prefix selects one of
    them explicitly, as in `cell:delta` and `robot:delta`.
    """
    if isinstance(source, Cell):
        return source
    if isinstance(source, Robot):
        return alone(source_of(source), source)
    if not isinstance(source, str | Path):
        raise BrazoError(
            f"an object of type {type(source).__name__} is neither a cell nor a robot; give a cell "
            f"({', '.join(cell_names())}), a robot (a result of brazo.load, or a name: "
            f"{', '.join(robot_names())}), or the path of a cell or robot file"
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
    """Whether `path` is an existing cell file; raise `BrazoError` if it is a program file."""
    found = existing(path)
    if found is None or found.suffix.lower() not in (".yaml", ".yml") or not is_regular(found):
        return False
    root = read_document(found)
    fields = root.mapping() if root.is_mapping else {}
    if "robots" in fields and fields["robots"].is_mapping:
        raise BrazoError(
            f"{path}: this file is a program, not a robot or cell; open its cell and load it in "
            "the Program panel, or run it with `brazo run`"
        )
    return any(key in CELL_FIELDS for key in fields)


def lone_robot(name_or_path: str | Path) -> Cell:
    """Return a cell with a floor and one robot, given by its name or file path."""
    return alone(RobotSource.load(name_or_path), load(name_or_path))


def alone(source: RobotSource, robot: Robot) -> Cell:
    """Return a cell with a floor and one robot; `source` and `robot` describe the same robot."""
    start = default_start(source.model, source.model.limits)
    return lone_cell(robot, source, floor_under(robot, start))


def floor_under(robot: Robot, q: np.ndarray) -> float:
    """Return the height (m) of the floor for a robot at `q` (n,), from its visible parts."""
    return floor_height(robot, q, visible_parts(robot.model, robot.parts))
