"""`Project`: a folder that stores the work of a user in the lab, as plain YAML and Parquet files.

    project.yaml         name, source of the cell, the program that is shown, the selected robot
    cell/cell.yaml       the cell; the robot files that it needs are in the same folder
    points.yaml          named points of each robot
    trajectories.yaml    waypoints and curve of each robot
    compare.yaml         runs stored for comparison; their rows are in compare/
    controllers.yaml     controllers and gains that were chosen
    programs/NAME.yaml   programs
    view.yaml            camera and arrangement of the panels
    recordings/          recordings
    NAME.unread          file that could not be read, renamed so that it is not overwritten

Each file is replaced atomically.  The folder is locked while a lab has the project open.
"""

from __future__ import annotations

import contextlib
import filecmp
import hashlib
import io
import json
import shutil
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from brazo.control import Controller
from brazo.errors import BrazoError
from brazo.files import lock, replacing
from brazo.formats.document import read_document
from brazo.operate.points import Point
from brazo.program import Program, load_program, program_names
from brazo.program.controller_file import read_controllers
from brazo.program.flow import plain_text
from brazo.program.point_file import read_points
from brazo.recording.part_file import PART
from brazo.world import Cell, load_cell
from brazo.world.cell_writer import cell_files, file_name

FORMAT = "brazo project 1"
HEAD, POINTS, TRAJECTORIES = "project.yaml", "points.yaml", "trajectories.yaml"
CONTROLLERS, VIEW, COMPARE = "controllers.yaml", "view.yaml", "compare.yaml"
CELL_FOLDER, PROGRAMS, RECORDINGS, COMPARED = "cell", "programs", "recordings", "compare"
CELL = f"{CELL_FOLDER}/cell.yaml"
IMPORTED = "imported"  # folder of imported robots, in the folder of the cell
IMPORT_PREFIX = "brazo-lab-"  # of the names of folders of imported files
LOCK = ".lock"
UNREAD = ".unread"  # ending of the name of a file that could not be read
_HEAD = ("format", "name", "source", "digest", "edited", "program", "robot")
LONGEST = 60  # max characters of a name


@dataclass(frozen=True, slots=True)
class Head:
    """The fields of `project.yaml`."""

    name: str
    source: str = ""  # shipped cell or robot, or path, that the cell was made from
    digest: str = ""  # of that cell when it was last read
    edited: bool = False  # whether the cell differs from its source
    program: str = ""  # name of the program that is shown
    robot: str = ""  # the selected robot

    def text(self) -> str:
        """Return the text of the file `project.yaml`."""
        lines = [f"format: {FORMAT}", f"name: {plain_text(self.name)}"]
        for key in ("source", "digest", "program", "robot"):
            if value := getattr(self, key):
                lines.append(f"{key}: {plain_text(value)}")
        return "\n".join([*lines, f"edited: {'on' if self.edited else 'off'}"]) + "\n"


class Project:
    """A project folder.  `Project(folder)` opens a project; `Project.create` makes a new one."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).expanduser()
        self.head = _read_head(self.folder)
        self._locked: BinaryIO | None = None
        self._written: dict[str, str] = {}  # texts of the files as last written

    @classmethod
    def create(cls, folder: str | Path, name: str = "", source: str = "") -> Project:
        """Make a new project in `folder`; raise `BrazoError` if the folder is not empty.

        The folder is created if it does not exist.  The default of `name` is the folder name.
        """
        folder = Path(folder).expanduser()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if any(one.name != LOCK for one in folder.iterdir()):
                raise BrazoError(f"{folder}: the folder is not empty; choose another name")
        except OSError as error:
            raise BrazoError(f"{folder}: cannot be created: {error.strerror or error}") from None
        _write(folder / HEAD, Head(name or folder.name, source).text())
        return cls(folder)

    @property
    def name(self) -> str:
        """Name of the project."""
        return self.head.name

    # ---- contents --------------------------------------------------------------------------

    def cell(self) -> Cell:
        """The cell of the project."""
        path = self.folder / CELL
        if not path.is_file():
            raise BrazoError(f"{path}: no such file; open the project in the lab to create it")
        return load_cell(path)

    def points(self) -> dict[str, list[Point]]:
        """Named points of all robots: robot name -> points."""
        path = self.folder / POINTS
        return read_points(read_document(path)) if path.is_file() else {}

    def controllers(self) -> dict[str, Controller | str]:
        """Controllers that the user chose: robot name -> controller.

        Robots with their default controller are omitted.
        """
        path = self.folder / CONTROLLERS
        return read_controllers(read_document(path)) if path.is_file() else {}

    def programs(self) -> list[str]:
        """Names of the programs in the folder."""
        return sorted(path.stem for path in (self.folder / PROGRAMS).glob("*.yaml"))

    def program_path(self, name: str) -> Path:
        """Path of the program `name` in the folder; the file need not exist."""
        return self.folder / PROGRAMS / f"{file_name(name)}.yaml"

    def program(self, name: str = "") -> Program:
        """Load a program and add the points of the project to it.

        By default, the program that is shown is loaded; if none is shown, the first program in the
        folder.  If the folder does not contain the program `name`, the shipped program of that name
        is loaded.  If the program and the project both have a point with the same name, the point
        of the program is used.
        """
        name = name or self.head.program or next(iter(self.programs()), "")
        if not name:
            raise BrazoError(f"{self.folder}: the project has no program; create one in the lab")
        path = self.program_path(name)
        if not path.is_file() and name not in program_names():
            known = ", ".join([*self.programs(), *program_names()])
            raise BrazoError(f"{self.folder}: no program '{name}'; programs: {known}")
        program = load_program(path if path.is_file() else name)
        program.points = with_points(program.points, self.points())
        return program

    def text(self, name: str) -> str:
        """Text of a file of the project; empty if the file does not exist."""
        try:
            return (self.folder / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise BrazoError(f"{self.folder / name}: cannot be read: {error}") from None

    # ---- writing ---------------------------------------------------------------------------

    def write(self, files: Mapping[str, str], head: Head | None = None) -> None:
        """Write those `files` (path -> text) that changed since the last call.

        An empty text deletes the file.  Paths are relative to the project folder.  A file is
        written after the files that it refers to, and deletions come last, so that a killed process
        leaves no reference to a missing file.
        """
        if head is not None:
            self.head = head
            files = {**files, HEAD: head.text()}
        for name, text in sorted(files.items(), key=lambda one: _rank(*one)):
            if self._written.get(name) == text:
                continue
            path = self.folder / name
            if text:
                _write(path, text)
            else:
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)
            self._written[name] = text

    def set_aside(self, name: str) -> Path:
        """Rename a file that cannot be read, so that it is not overwritten; return its new path."""
        path, k = self.folder / name, 2
        aside = path.with_name(f"{path.name}{UNREAD}")
        while aside.exists():
            aside, k = path.with_name(f"{path.name}{UNREAD}-{k}"), k + 1
        try:
            path.rename(aside)
        except OSError as error:
            raise BrazoError(f"{path}: cannot be renamed: {error.strerror or error}") from None
        self._written.pop(name, None)
        return aside

    def acquire(self) -> bool:
        """Lock the folder; return False if another lab has the project open."""
        if self._locked is None:
            try:
                file = (self.folder / LOCK).open("ab")
            except OSError as error:
                raise BrazoError(
                    f"{self.folder}: cannot be written: {error.strerror or error}"
                ) from None
            if not lock(file):
                file.close()
                return False
            self._locked = file
        return True

    def release(self) -> None:
        """Release the lock of the folder."""
        if self._locked is not None:
            self._locked.close()
            self._locked = None

    def copy(self, folder: Path, name: str) -> Project:
        """Copy the project and its recordings to a new folder; return the new project."""
        other = Project.create(folder, name)
        try:
            for path in self._files():
                target = folder / path.relative_to(self.folder)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
        except OSError as error:
            raise BrazoError(f"{folder}: cannot be written: {error.strerror or error}") from None
        other.write({}, replace(self.head, name=name))
        return other

    def archive(self) -> bytes:
        """Return a .zip archive of all files of the project, as bytes."""
        top, archive = file_name(self.name), io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as written:
            for path in self._files():
                written.write(path, f"{top}/{path.relative_to(self.folder).as_posix()}")
        return archive.getvalue()

    def clear(self) -> None:
        """Delete all files except recordings, hidden files and `project.yaml`.

        `project.yaml` keeps only name and source.  The project then starts again from its source.
        """
        self._written.clear()
        try:
            for path in self.folder.iterdir():
                if path.name in (RECORDINGS, HEAD) or path.name.startswith("."):
                    continue
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()
        except OSError as error:
            raise BrazoError(
                f"{self.folder}: cannot be cleared: {error.strerror or error}"
            ) from None
        self.write({}, Head(self.name, self.head.source))

    def _files(self) -> list[Path]:
        """Files of the project, without hidden files and files that are still being written."""
        found = (path for path in sorted(self.folder.rglob("*")) if path.is_file())
        return [p for p in found if not p.name.startswith(".") and not p.name.endswith(PART)]


def _rank(name: str, text: str) -> int:
    """Return the sort key of a file for the order of writing; an empty text means deletion.

    The cell file and `project.yaml` refer to other files.  They are therefore written after all
    other files, in this order.  Deletions come last.
    """
    return 3 if not text else 2 if name == HEAD else 1 if name == CELL else 0


def is_project(path: str | Path) -> bool:
    """Whether a path is a project folder, that is, a folder that contains `project.yaml`."""
    try:
        return (Path(path).expanduser() / HEAD).is_file()
    except (OSError, RuntimeError, ValueError):
        return False


def kept_cell(cell: Cell, folder: Path, imported: Path | None = None) -> tuple[dict[str, str], str]:
    """Return the files that store a cell in a project (path -> text), and their digest.

    `folder` is the project folder; the paths of the files are relative to it.

    A robot from URDF or MJCF, or with meshes that are not shipped, cannot be written as a robot
    file.  It stays in its own file, and the cell file contains the path of that file.  The path is
    relative if the file is in the folder of the cell, otherwise absolute.  A file in the folder
    `imported`, or in a temporary folder of a lab, is an imported file.  The folder of an imported
    file is first copied into the project.
    """
    inside = (folder / CELL_FOLDER).resolve()
    copied: set[Path] = set()

    def refer(path: Path) -> str:
        path = path.resolve()
        if (origin := _import_folder(path, imported)) is not None:
            target = inside / IMPORTED / origin.name
            if origin not in copied:
                _copy_changed(origin, target)
                copied.add(origin)
            path = target / path.relative_to(origin)
        if path.is_relative_to(inside):
            return path.relative_to(inside).as_posix()
        return path.as_posix()

    files = cell_files(cell, refer, own=Path(CELL).name, beside=True)
    digest = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()[:16]
    return {f"{CELL_FOLDER}/{name}": text for name, text in files.items()}, digest


def _import_folder(path: Path, imported: Path | None) -> Path | None:
    """Return the folder of imported files that contains `path`; None if there is no such folder.

    `path` must be resolved (absolute, without symbolic links).
    """
    for parent, prefix in ((imported, ""), (Path(tempfile.gettempdir()), IMPORT_PREFIX)):
        if parent is not None and path.is_relative_to(parent := parent.resolve()):
            name, *rest = path.relative_to(parent).parts or ("",)
            if rest and name.startswith(prefix):
                return parent / name
    return None


def _copy_changed(origin: Path, target: Path) -> None:
    """Copy the files of `origin` that are missing or different in `target`."""
    try:
        for path in sorted(origin.rglob("*")):
            copy = target / path.relative_to(origin)
            if path.is_file() and not (copy.is_file() and filecmp.cmp(path, copy)):
                copy.parent.mkdir(parents=True, exist_ok=True)
                with replacing(copy) as temporary:
                    shutil.copy2(path, temporary)  # with its time, which `cmp` compares first
    except OSError as error:
        raise BrazoError(f"{target}: cannot be written: {error.strerror or error}") from None


def with_points(
    own: Mapping[str, Sequence[Point]], shared: Mapping[str, Sequence[Point]]
) -> dict[str, list[Point]]:
    """Return the points of a program (`own`) and of its project (`shared`), by robot name.

    If both have a point with the same name, the point of the program is used.
    """
    found = {robot: list(points) for robot, points in own.items()}
    for robot, points in shared.items():
        names = {one.name for one in found.get(robot, ())}
        found.setdefault(robot, []).extend(one for one in points if one.name not in names)
    return found


def check_name(name: str) -> str:
    """Return a project name with repeated, leading and trailing spaces removed.

    Raises `BrazoError` if the name cannot be used for a folder.
    """
    name = " ".join(name.split())
    if (
        not name
        or len(name) > LONGEST
        or not name.isprintable()
        or file_name(name) != name.replace(" ", "-")
    ):
        raise BrazoError(
            f"project name '{name[:LONGEST]}': use 1 to {LONGEST} letters, digits, spaces, -, _ "
            "and ., but no - or . at the start or end"
        )
    return name


def _read_head(folder: Path) -> Head:
    path = folder / HEAD
    if not folder.is_dir():
        raise BrazoError(f"{folder}: no such folder")
    if not path.is_file():
        raise BrazoError(f"{folder}: not a project folder, because {HEAD} is missing")
    root = read_document(path)
    fields = root.mapping(_HEAD, required=("format",))
    if (found := fields["format"].text()) != FORMAT:
        fields["format"].fail(f"expected '{FORMAT}', got '{found}'; update brazo")
    if "name" not in fields:
        root.missing("name")
    texts = {
        key: fields[key].text(1000).strip()
        for key in ("source", "digest", "program", "robot")
        if key in fields and not fields[key].is_null
    }
    edited = "edited" in fields and fields["edited"].choice("on", "off") == "on"
    return Head(fields["name"].identifier(), edited=edited, **texts)


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BrazoError(f"{path.parent}: cannot be created: {error.strerror or error}") from None
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
