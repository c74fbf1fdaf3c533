"""Which kind of file a YAML file is: a robot, a cell or a program, told by its fields."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from brazo.errors import BrazoError

FileKind = Literal["robot", "cell", "program"]
SUFFIXES = (".yaml", ".yml")
_CELL = ("bodies", "fixtures", "chute", "floor")


def kind_of(name_or_path: str) -> FileKind | None:
    """The kind of a YAML file; None for names, other files, and what is none of the three."""
    from brazo.model.document import read_document

    path = Path(name_or_path).expanduser()
    if path.suffix.lower() not in SUFFIXES or not path.is_file():
        return None
    root = read_document(path)
    if not root.is_mapping:
        return None
    fields = root.mapping()
    robots = fields.get("robots")
    if robots is not None and robots.is_mapping:
        return "program"
    if robots is not None or any(name in fields for name in _CELL):
        return "cell"
    return "robot"


def cell_of(program_path: Path | None, cell: str | None) -> str:
    """The cell a program names: a shipped one, or a file beside the program."""
    from brazo.world.cell_file import SUFFIXES as CELL_SUFFIXES

    if cell is None:
        raise BrazoError(f"{program_path}: names no cell; give one: brazo run CELL -p PROGRAM")
    if Path(cell).suffix.lower() in CELL_SUFFIXES and program_path is not None:
        return str(program_path.parent / cell)
    return cell
