"""Selection of the cell in which a recording is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from brazo.errors import BrazoError
from brazo.files import is_regular
from brazo.recording.origin import LEFT_OUT, origin_of
from brazo.recording.source import ColumnSource
from brazo.simulation.given_cell import as_cell, lone_robot
from brazo.world import Cell
from brazo.world.recorded_cell import restored_cell


def recorded_cell(source: ColumnSource, path: Path, given: Any = None) -> tuple[Cell, list[str]]:
    """Return the cell in which a recording is shown, and a list of messages.

    The messages report how this cell may differ from the cell of the recorded run.  The first of
    these cells that is available is used: `given` (a cell, a robot, a name or a path), the cell
    stored in the recording, the cell file named in the recording, the shipped cell or robot with
    the recorded name.  `path` is the file of the recording.
    """
    if given is not None:
        return as_cell(given), []
    try:
        stored = restored_cell(source.about)
    except BrazoError as error:
        raise BrazoError(
            f"{path}: the cell stored in the recording cannot be loaded: {error}; specify "
            "another cell with `--cell CELL`"
        ) from None
    if stored is not None:
        return stored
    cell = _named_cell(source, path)
    file = source.about.get("cell_file", "")
    if left_out := source.about.get(LEFT_OUT):
        return cell, [
            f"The recording does not contain its cell ({left_out}). Cell '{cell.name}' is shown as "
            "it is now."
        ]
    state = origin_of(source.about)
    if state == "changed":
        return cell, [
            f"The cell file has changed since the run: {file}. The current version is shown."
        ]
    if state == "gone" and origin_of(source.about, cell.path) != "same":
        where = f" ({cell.path})" if cell.path is not None else ""
        return cell, [
            f"The cell file no longer exists: {file}. Cell '{cell.name}'{where} is shown."
        ]
    return cell, []


def _named_cell(source: ColumnSource, path: Path) -> Cell:
    about = source.about
    file = Path(about.get("cell_file", ""))
    if about.get("cell_file") and is_regular(file):
        return as_cell(file)  # a robot file if the lab had opened a single robot
    name, robot = about.get("cell"), about.get("robot")
    if not (name or robot):
        raise BrazoError(
            f"{path}: the recording does not name its cell or robot, so it cannot be drawn: "
            "specify the cell with `--cell CELL`, or use `brazo report` for plots"
        )
    try:
        return as_cell(name) if name else lone_robot(str(robot))
    except BrazoError as error:
        what = f"in cell '{name}'" if name else f"with robot '{robot}'"
        why = f" The cell is not recorded: {about[LEFT_OUT]}." if about.get(LEFT_OUT) else ""
        raise BrazoError(
            f"{path}: the recording was made {what}, which is not found ({error}).{why} "
            "Specify the cell: `brazo replay FILE --cell CELL` or "
            "`brazo convert FILE OUT.html --cell CELL`"
        ) from None
