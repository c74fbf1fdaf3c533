"""The user's projects: their folder, the list of recent projects, and the untitled projects.

A shipped cell or robot, or a file, is the source of a project.  Work that starts from a source is
stored in an untitled project of this source, until the user saves it under a name.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import time
from dataclasses import dataclass
from pathlib import Path

from brazo.errors import BrazoError
from brazo.files import replacing
from brazo.folders import PROJECTS, projects_folder
from brazo.formats.document import read_document
from brazo.permissions import make_private
from brazo.program.flow import flow
from brazo.project.folder import IMPORTED, Project, check_name, is_project
from brazo.world.cell_writer import file_name

UNTITLED, RECENT = "untitled", "recent.yaml"
MOST = 20  # max number of projects in the list
TRIES = 20  # untitled projects of one source that may be open at once


@dataclass(frozen=True, slots=True)
class RecentProject:
    """An entry in the list of recently opened projects."""

    folder: Path
    name: str
    opened: float  # s since the Unix epoch
    untitled: bool


def home() -> Path:
    """Folder of the user's projects; it is created if it does not exist."""
    try:
        folder = projects_folder()
    except RuntimeError:  # no home folder
        raise BrazoError(
            f"there is no home folder for projects; set the variable {PROJECTS} to a folder"
        ) from None
    make_private(folder)
    return folder


def imported_folder() -> Path:
    """Folder of imported files; each lab stores its files in a subfolder."""
    return home() / IMPORTED


def is_untitled(folder: Path) -> bool:
    """Whether a folder is one of the untitled projects."""
    return folder.resolve().parent == (home() / UNTITLED).resolve()


def untitled(source: str, held: Project | None = None) -> Project:
    """Return the untitled project of a source, and lock it; it is created if it does not exist.

    `source` is `cell:NAME`, `robot:NAME` or a path.  If another lab has the project open, a second
    untitled project of the source is used, and so on, up to `TRIES`.  `held` is the project that
    this lab has already locked; it counts as not open in another lab and is not locked again.
    """
    kind, _, rest = source.partition(":")
    if kind in ("cell", "robot") and rest:
        stem = f"{kind}-{file_name(rest)}"
    else:
        stem = f"file-{file_name(Path(source).stem)}-{_short_hash(source)}"
    for k in range(1, TRIES + 1):
        folder = home() / UNTITLED / (stem if k == 1 else f"{stem}-{k}")
        if held is not None and held.folder.resolve() == folder.resolve():
            return held
        if is_project(folder):
            project = Project(folder)
        else:
            name = (rest if kind in ("cell", "robot") else Path(source).stem) or "untitled"
            project = Project.create(folder, name, source)
        if project.acquire():
            return project
    raise BrazoError(
        f"{home() / UNTITLED}: {TRIES} labs already have '{source}' open; close one of them"
    )


def new_folder(name: str) -> tuple[Path, str]:
    """Return the path of the folder for a new project, and the name without extra spaces.

    The folder is not created.  Raises `BrazoError` if the name is invalid or already used.
    """
    name = check_name(name)
    folder = home() / file_name(name)
    if file_name(name).casefold() in (UNTITLED, RECENT, IMPORTED):
        raise BrazoError(f"project name '{name}' is reserved; choose another name")
    if folder.exists():
        raise BrazoError(f"a project named '{name}' already exists; choose another name")
    return folder, name


def recent() -> list[RecentProject]:
    """The last projects that were opened and still exist, at most `MOST`, the most recent first."""
    found = []
    for folder, opened in _noted():
        with contextlib.suppress(BrazoError, OSError):  # a project that cannot be read
            found.append(RecentProject(folder, Project(folder).name, opened, is_untitled(folder)))
    return found


def note_opened(project: Project) -> None:
    """Move a project to the top of the list of recent projects."""
    folder = project.folder.resolve()
    others = [(one, opened) for one, opened in _noted() if one.resolve() != folder]
    rows = [(folder, time.time()), *others][:MOST]
    text = "".join(f"- {flow({'folder': str(f), 'opened': f'{t:.0f}'})}\n" for f, t in rows)
    with replacing(home() / RECENT) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _noted() -> list[tuple[Path, float]]:
    """Return the existing folders in the list of recent projects, and when they were opened.

    The times are in s since the Unix epoch.
    """
    found = []
    with contextlib.suppress(BrazoError, OSError):
        path = home() / RECENT
        for item in read_document(path).items() if path.is_file() else ():
            # Entries edited by hand that cannot be read are skipped.
            with contextlib.suppress(BrazoError, OSError, KeyError, ValueError):
                fields = item.mapping(("folder", "opened"))
                folder, opened = Path(fields["folder"].text()), float(fields["opened"].text())
                if is_project(folder) and math.isfinite(opened):
                    found.append((folder, opened))
    return found[:MOST]


def _short_hash(text: str) -> str:
    return hashlib.sha256(str(Path(text).expanduser().resolve()).encode()).hexdigest()[:8]
