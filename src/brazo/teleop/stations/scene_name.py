"""The shipped cell or robot that a follower consists of, so that a master can draw it."""

from __future__ import annotations

from pathlib import Path

from brazo.formats.library import robot_names
from brazo.world import Cell, cell_names, load_cell
from brazo.world.robot_source import Edits

CELL, ROBOT = "cell:", "robot:"


def scene_name(cell: Cell) -> str:
    """Return `cell:NAME` or `robot:NAME` of the library; empty for other cells.

    A cell whose robots were edited, or that was read from a user's file, has no such name.
    """
    if cell.path is not None and cell.path.stem in cell_names() and _is_shipped(cell.path):
        same = _parts(cell) == _parts(load_cell(cell.path.stem))
        return f"{CELL}{cell.path.stem}" if same else ""
    if any(robot.source.edits != Edits() for robot in cell.robots):
        return ""
    if len(cell.robots) == 1 and not (cell.bodies or cell.fixtures or cell.chutes):
        (robot,) = cell.robots
        path = robot.source.model.path
        if path is not None and path.stem in robot_names() and _is_shipped(path):
            return f"{ROBOT}{path.stem}" if robot.source.attachment is None else ""
    return ""


def is_scene_name(name: object) -> bool:
    """Return whether a name received from a follower is one of this library, not a path."""
    if not isinstance(name, str):
        return False
    if name.startswith(CELL):
        return name.removeprefix(CELL) in cell_names()
    return name.startswith(ROBOT) and name.removeprefix(ROBOT) in robot_names()


def _parts(cell: Cell) -> list[tuple[object, ...]]:
    """Return the properties of a cell that determine how it is drawn."""
    robots = [(one.name, one.source.edits, one.base.tobytes()) for one in cell.robots]
    fixed = [(one.name, one.pose.tobytes()) for one in (*cell.fixtures, *cell.chutes)]
    return [*robots, *fixed]


def _is_shipped(path: Path) -> bool:
    library = Path(__file__).parents[2] / "library"
    return path.resolve().is_relative_to(library.resolve())
