"""The robots that ship with brazo, by name, and how a name or path becomes a file."""

from __future__ import annotations

import difflib
from importlib.resources import files
from pathlib import Path

from brazo.errors import BrazoError
from brazo.files import require_file

SUFFIXES = (".yaml", ".yml", ".urdf", ".xacro", ".xml")


def robot_directory() -> Path:
    """Where the shipped robot files are."""
    return Path(str(files("brazo.library") / "robots"))


def robot_names() -> list[str]:
    """Names of the shipped robots, sorted."""
    return sorted(path.stem for path in robot_directory().glob("*.yaml"))


def find_robot(name_or_path: str | Path) -> Path:
    """The file of a shipped robot's name or of a path to a robot file."""
    text = str(name_or_path)
    path = Path(text)
    if path.suffix.lower() in SUFFIXES:
        if not _exists(path):
            raise BrazoError(f"{text[:200]}: no such file")
        require_file(path.expanduser())
        return path.expanduser()
    names = robot_names()
    if text in names:
        return robot_directory() / f"{text}.yaml"
    if _exists(path) and path.expanduser().is_file():
        raise BrazoError(
            f"{path}: unknown kind of file; robots are read from {', '.join(SUFFIXES)}"
        )
    close = difflib.get_close_matches(text.lower()[:80], names, n=1)
    hint = f"did you mean '{close[0]}'? " if close else ""
    raise BrazoError(
        f"no robot named '{text[:80]}'; {hint}shipped: {', '.join(names)}. "
        f"A path to a robot file ({', '.join(SUFFIXES)}) works too"
    )


def _exists(path: Path) -> bool:
    try:
        return path.expanduser().exists()
    except (OSError, RuntimeError, ValueError):  # too long, no such user, a null character
        return False
