"""Open the cell of a project, and find the project of a source."""

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
    """A simulation or replay to show, and the project that keeps the work on it."""

    sim: Simulation | RecordingReplay
    own: bool = True  # whether the lab made the simulation
    project: Project | None = None
    digest: str = ""  # of the cell as its source describes it
    note: str = ""  # message for the user
    fresh: bool = False  # whether the work kept in the project is discarded


@dataclass(frozen=True, slots=True)
class Fresh:
    """The source of a project as something to open: the work kept in the project is discarded."""

    project: Project


def opening_of(source: Any, keep: bool, held: Project | None = None) -> Opening:
    """Open a source; with `keep`, the project of a name or file keeps the work.

    A project folder is always kept.  Objects made in Python and recordings have no project.
    `held` is the project that the lab has open.
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
    """Open the cell of a project with its controllers; with `fresh`, the cell of its source.

    Nothing is deleted here: a source that cannot be opened costs no work.
    """
    if held is not None and held.folder.resolve() == project.folder.resolve():
        project = held
    elif not project.acquire():
        raise BrazoError(f"{project.folder}: open in another lab; close it there first")
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
            note = f"{head.source} changed since; the edited cell of the project is used"
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
        unfit = f"{CONTROLLERS} does not fit the robots ({error}); it is kept as {aside}"
        note = f"{note}; {unfit}" if note else unfit
    return Opening(sim, True, project, digest or head.digest, note)


def _named(source: Any) -> str:
    """Name under which an untitled project is kept; empty if there is none."""
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
