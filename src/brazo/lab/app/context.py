"""`PanelContext`: the parts of the lab that panels can access."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from brazo.lab.app.clock import Clock
from brazo.lab.app.imported_files import ImportedFiles
from brazo.lab.app.jobs import Jobs
from brazo.lab.app.live import LiveSignals
from brazo.lab.app.project_saving import ProjectSaving
from brazo.lab.app.runs import Runs
from brazo.lab.app.session import Session
from brazo.lab.app.shared_points import SharedPoints
from brazo.lab.app.unsaved import Unsaved
from brazo.lab.scene.scene import Scene
from brazo.lab.server.channel import PageChannel
from brazo.lab.server.notices import Notices
from brazo.lab.server.transfers import Uploads
from brazo.operate import Mover
from brazo.project.history import History


class Open(Protocol):
    """Function that opens another cell, robot, file or simulation; see `Lab.open`."""

    def __call__(
        self, source: Any, before: Callable[[], None] | None = None, ask: str = ""
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class PanelContext:
    """The parts of a lab that panels use.

    `post` and `open` may be called from any thread.  Use all other parts on the lab's thread.
    """

    session: Session  # the open simulation or replay, and the selection
    scene: Scene
    channel: PageChannel
    notices: Notices
    uploads: Uploads
    imported: ImportedFiles  # robot files, cell files and meshes of the user
    download: Callable[[str, bytes | str | Path], None]
    jobs: Jobs
    runs: Runs  # the folder of recordings
    unsaved: Unsaved
    history: History  # undo and redo: `history.do(Edit(label, apply, revert))`
    points: SharedPoints  # named points of the robots
    saving: ProjectSaving  # the project that keeps the work
    mover: Mover
    live: LiveSignals
    clock: Clock
    open: Open
    post: Callable[[Callable[[], None]], None]  # queues a call for the lab's thread
    each_panel: Callable[[Callable[[Any], Any]], None]  # calls a function with each panel
