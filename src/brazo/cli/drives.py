"""Option `--drives ideal|real`: the drive model of all robots of a cell."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import typer

from brazo.errors import BrazoError

if TYPE_CHECKING:
    from brazo.world import Cell

DRIVES = typer.Option(
    None, "--drives", help="Drives: ideal, or real (motors, gears and servos of the robot files)."
)


def cell_with_drives(cell: Cell, kind: str) -> Cell:
    """Return the cell with the given kind of drives ("ideal" or "real") for all robots.

    Robots without actuator data in their file stay unchanged.  Raises BrazoError if `kind` is
    "real" and none of the robots has actuator data, or if `kind` is unknown.
    """
    from brazo.model.actuators import DRIVE_KINDS, DriveKind, with_drives

    if kind not in DRIVE_KINDS:
        raise BrazoError(f"--drives {kind}: choose {' or '.join(DRIVE_KINDS)}")
    chosen = cast(DriveKind, kind)
    robots = [
        replace(one, drives=chosen) if any(d.actuator for d in one.model.drives) else one
        for one in cell.robots
    ]
    if chosen == "real" and robots and all(one.drives != "real" for one in robots):
        with_drives(cell.robots[0].model, "real")  # raises the error with the missing fields
    return replace(cell, robots=tuple(robots))


def source_with_drives(source: Any, kind: str) -> Any:
    """Return the cell of `source` with this kind of drives ("ideal" or "real").

    `source` is a `Robot`, or the name or file of a cell or robot, as in `brazo lab`.  A robot is
    placed alone in a new cell.
    """
    import brazo
    from brazo.cli.file_kind import kind_of
    from brazo.simulation.lone_robot import lone_cell
    from brazo.world.cell_file import cell_names

    if not isinstance(source, str):
        return cell_with_drives(lone_cell(source), kind)
    is_cell = source in cell_names() or kind_of(source) == "cell"
    cell = brazo.load_cell(source) if is_cell else lone_cell(brazo.load(source))
    return cell_with_drives(cell, kind)
