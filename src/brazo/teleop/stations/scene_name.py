"""Name of the shipped cell or robot of a follower, from which a master draws the scene."""

from __future__ import annotations

from pathlib import Path

from brazo.formats.library import robot_names
from brazo.world import Cell, cell_names, load_cell
from brazo.world.robot_source import Edits

CELL, ROBOT = "cell:", "robot:"


def scene_name(cell: Cell) -> str:
    """Return `cell:NAME` or `robot:NAME` if the cell or robot is shipped with brazo, else "".

    The result is also "" if the robots, fixtures or chutes of the cell were changed.
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
    """Return whether a received value is the scene name of a shipped cell or robot."""
    if not isinstance(name, str):
        return False
    if name.startswith(CELL):
        return name.removeprefix(CELL) in cell_names()
    return name.startswith(ROBOT) and name.removeprefix(ROBOT) in robot_names()


def _parts(cell: Cell) -> list[tuple[object, ...]]:
    """Return names and poses of robots, fixtures and chutes, and robot edits, to compare cells."""
    robots = [(one.name, one.source.edits, one.base.tobytes()) for one in cell.robots]
    fixed = [(one.name, one.pose.tobytes()) for one in (*cell.fixtures, *cell.chutes)]
    return [*robots, *fixed]


def _is_shipped(path: Path) -> bool:
    library = Path(__file__).parents[2] / "library"
    return path.resolve().is_relative_to(library.resolve())
