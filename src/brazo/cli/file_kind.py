"""Detect whether a YAML file describes a robot, a cell or a program, from its fields."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from brazo.errors import BrazoError
from brazo.files import existing, is_regular

FileKind = Literal["robot", "cell", "program"]
SUFFIXES = (".yaml", ".yml")
_CELL = ("bodies", "fixtures", "chute", "frames", "floor")
_ROBOT = (
    "joints", "kind", "convention", "base", "parameters", "poses", "gripper", "tool", "body"
)  # fmt: skip


def kind_of(name_or_path: str) -> FileKind | None:
    """Return the kind of a YAML file ("robot", "cell" or "program").

    Returns None if the argument is not the path of a YAML file.  Raises BrazoError for a YAML file
    of another kind.
    """
    from brazo.formats.document import read_document

    path = existing(name_or_path)
    if path is None or path.suffix.lower() not in SUFFIXES or not is_regular(path):
        return None
    root = read_document(path)
    fields = root.mapping() if root.is_mapping else {}
    robots = fields.get("robots")
    if robots is not None and robots.is_mapping:
        return "program"
    if robots is not None or any(name in fields for name in _CELL):
        return "cell"
    if any(name in fields for name in _ROBOT):
        return "robot"
    found = ", ".join(list(fields)[:8]) or "none"
    raise BrazoError(
        f"{path}: not a robot, cell or program file. A robot has the field 'joints' or 'kind: "
        "delta'; a cell has 'robots' as a list, or 'bodies', 'fixtures', 'chute', 'frames' or "
        f"'floor'; a program has 'robots' as a map of steps. Fields found: {found}. Point "
        "files and scripts are checked only when they are loaded"
    )


def cell_of(program_path: Path | None, cell: str | None) -> str:
    """Return the cell of a program: the name of a shipped cell, or the path of a cell file.

    `cell` is the field `cell` of the program file.  A path in it is relative to the folder of the
    program file.
    """
    from brazo.world.cell_file import CELLS

    if cell is None:
        raise BrazoError(
            f"{program_path}: has no field 'cell'; add it, or use 'brazo run CELL -p PROGRAM'"
        )
    if Path(cell).suffix.lower() in CELLS.suffixes and program_path is not None:
        return str(program_path.parent / cell)
    return cell
