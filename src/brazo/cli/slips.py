"""Numbers in files that were probably written in mm or degrees, reported on the error stream.

Every command that reads a robot, cell or program reads it through here, except `check` and `show`,
which report all findings.  The result on the standard stream stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

from brazo.text import one_line

if TYPE_CHECKING:
    from brazo.model.description import Finding
    from brazo.robot import Robot
    from brazo.world import Cell


def load_robot(name_or_path: str, tip: str | None = None) -> Robot:
    """A robot as `brazo.load` reads it; slips of units in its file are reported."""
    import brazo

    robot = brazo.load(name_or_path, tip=tip)
    warn_slips(robot.model.findings)
    return robot


def warn_cell(cell: Cell) -> None:
    """Report slips of units in a cell file and in the files of its robots."""
    warn_slips([f for robot in cell.robots for f in robot.model.findings] + [*cell.findings])


def warn_slips(findings: Iterable[Finding]) -> None:
    """Report those findings that are slips of units, each once."""
    warn(dict.fromkeys(str(finding) for finding in findings if finding.slip))


def warn(notes: Iterable[str]) -> None:
    """Warnings on the error stream, one a line."""
    for note in notes:
        typer.secho(f"warning: {one_line(note)}", fg="yellow", err=True)
