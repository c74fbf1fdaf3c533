"""Open a source, and find the project that stores the user's work on it.

A source is a project, a shipped cell or robot, a file or a Python object.  The work consists of the
user's edits of the cell, points, programs, trajectories and other data of the panels.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brazo.errors import BrazoError
from brazo.lab.app.opening import CELL, ROBOT, as_cell, choices, is_recording
from brazo.lab.app.replay import RecordingReplay
from brazo.lab.app.session import as_shown
from brazo.program.controller_file import controllers_in
from brazo.project import home
from brazo.project.folder import CONTROLLERS, Project, is_project, kept_cell
from brazo.simulation import Simulation
from brazo.world import Cell


@dataclass(frozen=True, slots=True)
class Opening:
    """A loaded simulation or replay, and the project that stores the user's work on it."""

    sim: Simulation | RecordingReplay
    own: bool = True  # whether the lab made the simulation
    project: Project | None = None
    digest: str = ""  # of the cell as its source describes it
    note: str = ""  # message for the user
    fresh: bool = False  # whether the work kept in the project is discarded


@dataclass(frozen=True, slots=True)
class Fresh:
    """Request to open a project from its source and to discard the work stored in it.

    The source of a project is the cell, robot or file from which the project was created.
    """

    project: Project


def opening_of(source: Any, keep: bool, held: Project | None = None) -> Opening:
    """Load a source and find the project that stores the user's work on it.

    If the source is a project, the work is stored in that project.  If it is a shipped cell or
    robot, or a file, the work is stored in an untitled project if `keep` is true, and otherwise not
    stored.  Python objects and recordings have no project.  `held` is the project that the lab has
    open now.
    """
    if isinstance(source, Project):
        return open_project(source, held)
    if isinstance(source, Fresh):
        return open_project(source.project, held, fresh=True)
    if isinstance(source, str | Path) and is_project(source):
        return open_project(Project(source), held)
    named = _named(source) if keep else ""
    if not named:
        sim = as_shown(source)
        return Opening(sim, sim is not source)
    as_cell(source)  # raises for a name or file that does not exist, before a folder is made
    return open_project(home.untitled(named, held), held)


def open_project(project: Project, held: Project | None = None, fresh: bool = False) -> Opening:
    """Load the cell and the controllers of a project, and lock the project.

    If `fresh` is true, the original cell is loaded from the source of the project, with default
    controllers.  The stored work is not deleted here, so none is lost if the source cannot be
    opened.  `held` is the project that the lab has open now.
    """
    if held is not None and held.folder.resolve() == project.folder.resolve():
        project = held
    elif not project.acquire():
        raise BrazoError(f"{project.folder}: the project is open in another lab; close it there")
    try:
        return _started_over(project) if fresh else _opened(project)
    except BaseException:
        if project is not held:
            project.release()
        raise


def _started_over(project: Project) -> Opening:
    cell = as_cell(project.head.source)
    digest = kept_cell(cell, project.folder, home.imported_folder())[1]
    return Opening(Simulation(cell), True, project, digest, fresh=True)


def _opened(project: Project) -> Opening:
    head, note = project.head, ""
    origin: Cell | None = None
    digest = ""
    if head.source:
        try:
            origin = as_cell(head.source)
            digest = kept_cell(origin, project.folder, home.imported_folder())[1]
        except BrazoError as error:
            note = f"{head.source} cannot be read ({error}); the cell of the project is used"
    if origin is None or head.edited:
        cell = project.cell()
        if head.digest and digest and digest != head.digest:
            note = f"{head.source} has changed; the edited cell of the project is used"
    else:
        cell = origin
    chosen = controllers_in(cell, project.controllers())
    try:
        sim = Simulation(cell, chosen)
    except BrazoError as error:
        if not chosen:
            raise
        sim = Simulation(cell)  # raises if the cell itself is the reason
        aside = project.set_aside(CONTROLLERS).name
        unfit = (
            f"{CONTROLLERS} does not match the robots ({error}); default controllers are used, "
            f"and the file is kept as {aside}"
        )
        note = f"{note}; {unfit}" if note else unfit
    return Opening(sim, True, project, digest or head.digest, note)


def _named(source: Any) -> str:
    """Return the text that identifies a source in a project, or "" if it has no project.

    The text is `cell:NAME`, `robot:NAME` or an absolute path.  Recordings and Python objects have
    no project.
    """
    if not isinstance(source, str | Path) or is_recording(source):
        return ""
    name, shipped = str(source), choices()
    if name.startswith((CELL, ROBOT)):
        kind, _, rest = name.partition(":")
        if rest in shipped[f"{kind}s"]:
            return name
        name = rest
    elif name in shipped["cells"]:
        return f"{CELL}{name}"
    elif name in shipped["robots"]:
        return f"{ROBOT}{name}"
    return str(Path(name).expanduser().resolve())
