"""Warnings on stderr about numbers in files that are probably in mm or degrees.

Commands that read a robot, cell or program use this module.  `check` and `show` do not, because
they print all warnings themselves.  Output on stdout is not affected.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import typer

from brazo.cli.robot_options import arguments_of
from brazo.text import one_line

if TYPE_CHECKING:
    from brazo.model.description import Finding
    from brazo.robot import Robot
    from brazo.world import Cell


def load_robot(
    name_or_path: str, tip: str | None = None, arg: Sequence[str] | None = None
) -> Robot:
    """Load a robot with `brazo.load` and warn about probable unit mistakes in its file."""
    import brazo

    robot = brazo.load(name_or_path, tip=tip, arguments=arguments_of(arg))
    warn_units(robot.model.findings)
    return robot


def warn_cell(cell: Cell) -> None:
    """Warn about probable unit mistakes in a cell file and in the files of its robots."""
    warn_units([f for robot in cell.robots for f in robot.model.findings] + [*cell.findings])


def warn_units(findings: Iterable[Finding]) -> None:
    """Print the warnings that are marked as probable unit mistakes, each once."""
    warn(dict.fromkeys(str(finding) for finding in findings if finding.slip))


def warn(notes: Iterable[str]) -> None:
    """Print warnings on stderr, one per line."""
    for note in notes:
        typer.secho(f"warning: {one_line(note)}", fg="yellow", err=True)
