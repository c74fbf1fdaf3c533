"""Files shipped with brazo, and the lookup of a file by name or path."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from brazo.errors import BrazoError
from brazo.files import existing, require_file


@dataclass(frozen=True)
class FileLibrary:
    """Shipped files of one kind: robots, cells or programs."""

    kind: str  # singular noun for messages
    folder: str  # in brazo.library
    suffixes: tuple[str, ...] = (".yaml", ".yml")  # of a user's files

    def directory(self) -> Path:
        """Return the folder of the shipped files."""
        return _directory(self.folder)

    def names(self) -> list[str]:
        """Return the names of the shipped files without suffix, sorted."""
        return list(_names(self.directory()))

    def find(self, name_or_path: str | Path) -> Path:
        """Return the path of a file.

        The argument is the name of a shipped file, or the path of any file.  A path must end in one
        of `suffixes`.
        """
        text = str(name_or_path)
        path = existing(text)
        if Path(text).suffix.lower() in self.suffixes:
            if path is None:
                raise BrazoError(f"{text[:200]}: no such file")
            require_file(path)
            return path
        names = self.names()
        if text in names:
            return self.directory() / f"{text}.yaml"
        allowed = ", ".join(self.suffixes)
        if path is not None and path.is_file():
            raise BrazoError(f"{text}: not a {self.kind} file; allowed file types: {allowed}")
        close = difflib.get_close_matches(text.lower()[:80], names, n=1)
        hint = f"did you mean '{close[0]}'? " if close else ""
        raise BrazoError(
            f"no {self.kind} named '{text[:80]}'; {hint}shipped: {', '.join(names)}. "
            f"The path of a {self.kind} file ({allowed}) is allowed too"
        )


# Shipped files do not change while a process runs, and the lab asks for them many times a second.


@cache
def _directory(folder: str) -> Path:
    return Path(str(files("brazo.library") / folder))


@cache
def _names(directory: Path) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in directory.glob("*.yaml")))


ROBOTS = FileLibrary("robot", "robots", (".yaml", ".yml", ".urdf", ".xacro", ".xml"))
robot_directory, robot_names, find_robot = ROBOTS.directory, ROBOTS.names, ROBOTS.find


def mesh_directory() -> Path:
    """Return the folder of the shipped meshes."""
    return ROBOTS.directory().parent / "meshes"
