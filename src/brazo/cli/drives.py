"""`--drives ideal|real`: the kind of drives of all robots of a cell."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import typer

from brazo.errors import BrazoError

if TYPE_CHECKING:
    from brazo.world import Cell

DRIVES = typer.Option(
    None, "--drives", help="ideal, or real: the motors, gears and servos of the robot files."
)


def cell_with_drives(cell: Cell, kind: str) -> Cell:
    """Return the cell with another kind of drives for all robots that have a choice."""
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
    """Return a cell or robot, given as for `brazo lab`, with another kind of drives."""
    import brazo
    from brazo.cli.file_kind import kind_of
    from brazo.simulation.lone_robot import lone_cell
    from brazo.world.cell_file import cell_names

    if not isinstance(source, str):
        return cell_with_drives(lone_cell(source), kind)
    is_cell = source in cell_names() or kind_of(source) == "cell"
    cell = brazo.load_cell(source) if is_cell else lone_cell(brazo.load(source))
    return cell_with_drives(cell, kind)
