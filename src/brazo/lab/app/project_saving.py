"""`ProjectSaving`: saves the work on the open cell in a project, and handles the project events.

After each request of a page, the work is collected on the lab's thread within `DELAY` seconds.
Another thread (`brazo.project.autosave`) writes the changed files.  If the process is killed, only
the work of the last `DELAY` seconds is lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import yaml

from brazo.errors import BrazoError
from brazo.lab.app.project_opening import Fresh, Opening
from brazo.lab.app.replay import RecordingReplay
from brazo.lab.app.runs import Runs
from brazo.lab.app.session import Session
from brazo.lab.app.shared_points import SharedPoints
from brazo.lab.app.shipped import shipped
from brazo.lab.server.channel import PageChannel
from brazo.lab.server.notices import Notices
from brazo.program.point_file import points_yaml
from brazo.project import home
from brazo.project.autosave import DELAY, Autosave
from brazo.project.folder import POINTS, RECORDINGS, VIEW, Head, Project, kept_cell
from brazo.world import Cell

if TYPE_CHECKING:
    from brazo.lab.app.panel import Panel

MOST_VIEW = 20_000  # max characters of the view that a page sends


class ProjectSaving:
    """Saves the work of a lab in its project.  Use only on the lab's thread.

    If `keep` is true, untitled projects store the work on cells and robots that were opened from
    the shipped ones or from a file.
    """

    def __init__(
        self,
        keep: bool,
        session: Session,
        points: SharedPoints,
        runs: Runs,
        channel: PageChannel,
        notices: Notices,
        post: Callable[[Callable[[], None]], None],
        download: Callable[[str, bytes | str], None],
        panels: Callable[[], Iterable[Panel]],
        open_source: Callable[[Any, str], None],
    ) -> None:
        self.keep = keep
        self.program = ""  # name of the program that is shown
        self._session, self._points, self._runs = session, points, runs
        self._channel, self._notices, self._post = channel, notices, post
        self._download, self._panels, self._open_source = download, panels, open_source
        self._autosave: Autosave | None = None
        self._digest = ""  # of the cell as its source describes it
        self._cell: tuple[Any, dict[str, str], str] | None = None
        self._seen: set[str] = set()  # files of the cell that were written
        self._view: dict[str, Any] = {}
        self._due: float | None = None
        self._problem = ""
        self._cell_problem = ""  # why the cell cannot be written; everything else is
        self._opened = 0
        on = channel.on
        on("project/view", self._take_view, dict, still=True)
        on("project/save-as", self.save_as, str)
        on("project/new", self._new, str)
        on("project/open", self._open_recent, str)
        on("project/export", self.export)
        on("project/start-over", self._start_over)
        on("start/list", self._list, free=True)

    @property
    def project(self) -> Project | None:
        """The project in which the work is saved; None if the work is not saved."""
        return None if self._autosave is None else self._autosave.project

    @property
    def keeps(self) -> bool:
        """Whether the work is being saved.

        False if no project is open, if a replay is shown, or after a failed write.
        """
        return self._autosave is not None and self._session.replay is None and not self._problem

    # ---- opening ---------------------------------------------------------------------------

    def before_change(self, opening: Opening) -> None:
        """Prepare to open another cell.

        Saves the current work; if `opening.fresh`, deletes the work stored in the project instead.
        Then loads the named points of the project to be opened.  If this method raises an error,
        the current cell stays open, and its work is still saved.
        """
        if opening.fresh and opening.project is not None:
            self.flush()
            opening.project.clear()
            self._due, self._seen = None, set()
        else:
            self.save()
        if isinstance(opening.sim, RecordingReplay):
            return  # the project stays open behind it
        self.flush()
        project = opening.project
        points = {} if project is None else project.points()  # may raise: before anything is closed
        if self._autosave is not None and project is not self._autosave.project:
            self._close_project()
        self._points.replace(points)

    def after_change(self, opening: Opening) -> None:
        """Start to save the work on the cell that is now open, and restore its saved work."""
        if isinstance(opening.sim, RecordingReplay):
            return
        project = opening.project
        self._digest, self._cell = opening.digest, None
        self._problem = self._cell_problem = ""
        self._view, self.program = {}, ""
        self._opened += 1
        if project is not None:
            if self._autosave is None:
                self._autosave = self._autosave_of(project)
            self._take_project(project)
        self._runs.use(self._recordings(project))
        self._show()
        if opening.note:
            self._notices.announce(opening.note, "warn")

    def _take_project(self, project: Project) -> None:
        self._notices.guard(lambda: home.note_opened(project))
        self.program = project.head.program
        self._seen = {f"cell/{path.name}" for path in (project.folder / "cell").glob("*.yaml")}
        for panel in self._panels():
            self._notices.guard(lambda panel=panel: self._restore(panel, project))
        if project.head.robot:
            self._session.select(project.head.robot)
        try:
            view = yaml.safe_load(project.text(VIEW)) or {}
        except (yaml.YAMLError, BrazoError):
            view = {}
        self._view = view if isinstance(view, dict) else {}
        self.touched()

    def _restore(self, panel: Panel, project: Project) -> None:
        """Restore the work of a panel from a project.

        If that fails, the files that the panel would overwrite are renamed, so that they are kept.
        """
        try:
            panel.restore(project)
        except BrazoError as error:
            lost = [
                name
                for name, text in panel.kept().items()
                if (project.folder / name).is_file() and not _same(project, name, text)
            ]
            aside = ", ".join(project.set_aside(name).name for name in lost)
            note = f"; the file is kept as {aside}" if aside else ""
            self._notices.announce(f"work was not restored: {error}{note}", "error")

    def _recordings(self, project: Project | None) -> Any:
        """Recordings folder of a named project; otherwise None, for the default folder."""
        if project is None or home.is_untitled(project.folder):
            return None
        return project.folder / RECORDINGS

    # ---- saving ----------------------------------------------------------------------------

    def touched(self) -> None:
        """Schedule a save, because a request may have changed the work."""
        if self._due is None and self._autosave is not None:
            self._due = time.monotonic() + DELAY

    def wait(self) -> float | None:
        """Time (s) until the scheduled save; None if no save is scheduled."""
        return None if self._due is None else max(0.0, self._due - time.monotonic())

    def poll(self) -> None:
        """Save the work if the scheduled time has passed."""
        if self._due is not None and time.monotonic() >= self._due:
            self.save()

    def save(self) -> None:
        """Collect the work and pass it to the thread that writes the files."""
        self._due = None
        if self._autosave is None or self._session.replay is not None:
            return
        try:
            files, head = self._collected(self._autosave.project)
        except BrazoError as error:
            self._report(self._autosave.project, str(error))
            return
        self._autosave.put(files, head)

    def flush(self) -> None:
        """Wait until all collected work is written."""
        if self._autosave is not None:
            self._autosave.flush()

    def close(self) -> None:
        """Save the work and release the project; called when the lab closes."""
        try:
            self.save()
        finally:
            self._close_project()

    def _close_project(self) -> None:
        autosave, self._autosave = self._autosave, None
        if autosave is not None:
            try:
                autosave.close()
            finally:
                autosave.project.release()

    def _collected(self, project: Project) -> tuple[Mapping[str, str], Head]:
        session = self._session
        try:
            files, digest = self._cell_files(project)
        except BrazoError as error:
            # The files of the cell stay as they are; points, trajectories and programs are written.
            self._cell_problem, files, edited = str(error), {}, project.head.edited
        else:
            self._cell_problem, edited = "", digest != self._digest
            files = {**dict.fromkeys(self._seen - set(files), ""), **files}
            self._seen |= set(files)
        files[POINTS] = points_yaml(self._points.lists())
        for panel in self._panels():
            files |= panel.kept()
        if self._view:
            files[VIEW] = yaml.safe_dump(self._view, sort_keys=False, width=100)
        head = replace(
            project.head,
            digest=self._digest,
            edited=edited,
            program=self.program,
            robot=session.selection.robot,
        )
        return files, head

    def _cell_files(self, project: Project) -> tuple[dict[str, str], str]:
        sim = self._session.sim
        responses = {name: one.contact_response for name, one in sim.world.robots.items()}
        key = (sim.cell, responses, project)
        if self._cell is None or self._cell[0][0] is not sim.cell or self._cell[0][1:] != key[1:]:
            cell = _with_response(sim.cell, responses)
            self._cell = (key, *kept_cell(cell, project.folder, home.imported_folder()))
        return self._cell[1], self._cell[2]

    def _autosave_of(self, project: Project) -> Autosave:
        def report(message: str) -> None:  # on the thread of the writer
            message = message or self._cell_problem
            # Posted only if it is new: a posted call counts as a request, and is saved after.
            if message != self._problem:
                self._post(lambda: self._report(project, message))

        return Autosave(project, report)

    def _report(self, project: Project, message: str) -> None:
        """Show the result of a write; `message` is empty if the write succeeded.

        The same error message is shown only once.
        """
        if project is not self.project:  # closed since the write was started
            if message:
                self._notices.announce(f"{project.name} was not saved: {message}", "error")
        elif message != self._problem:
            self._problem = message
            if message:
                self._notices.announce(f"the project is not saved: {message}", "error")
            self._show()

    # ---- events of pages -------------------------------------------------------------------

    def save_as(self, name: str) -> None:
        """Copy the project to a new project named `name`, and continue with the copy.

        If no project is open, the work is saved in a new project.
        """
        if self._session.replay is not None:
            raise BrazoError("a recording cannot be saved as a project: open a cell first")
        folder, name = home.new_folder(name)
        old = self._autosave
        if old is None:
            project = Project.create(folder, name)
        else:
            self.save()
            old.flush()
            project = old.project.copy(folder, name)
        project.acquire()
        self._cell, self._seen = None, set()
        if old is not None:
            old.close()
            old.project.release()
        self._autosave = self._autosave_of(project)
        self._problem = ""
        self._runs.use(self._recordings(project))
        self.save()
        home.note_opened(project)
        self._show()
        self._notices.say(f"Saved as {name}: {folder}")

    def export(self) -> None:
        """Send the project to the page as a .zip file."""
        if self._autosave is None:
            raise BrazoError("there is no project to export: save the work as a project first")
        self.save()
        self._autosave.flush()
        project = self._autosave.project
        self._download(f"{project.name}.zip", project.archive())

    def _new(self, name: str) -> None:
        folder, name = home.new_folder(name)
        project = Project.create(folder, name)
        files, _ = kept_cell(Cell(name=name), folder)
        project.write(files, replace(project.head, edited=True))
        self._open_source(project, name)

    def _open_recent(self, folder: str) -> None:
        # Only projects of the list: a page must not open arbitrary folders.
        for one in home.recent():
            if str(one.folder) == folder:
                self._open_source(Project(one.folder), one.name)
                return
        raise BrazoError("the selected project no longer exists: choose another one from the list")

    def _start_over(self) -> None:
        autosave = self._autosave
        if autosave is None or not autosave.project.head.source:
            raise BrazoError(
                "cannot start over: no project is open, or it was not made from a cell, robot or "
                "file"
            )
        self._open_source(Fresh(autosave.project), "")

    def _take_view(self, view: dict[str, Any]) -> None:
        if len(str(view)) <= MOST_VIEW:
            self._view = view
            self.touched()
            self._show_project()  # for a page that is loaded again

    # ---- display ---------------------------------------------------------------------------

    def _show(self) -> None:
        self._show_project()
        if self._channel.get("start") is not None:
            self._list()

    def _show_project(self) -> None:
        project = self.project
        untitled = project is not None and home.is_untitled(project.folder)
        self._channel.put(
            {
                "project": {
                    "name": "" if project is None else project.name,
                    "folder": "" if project is None else str(project.folder),
                    "untitled": untitled,
                    "kept": project is not None,
                    "source": "" if project is None else project.head.source,
                    "problem": self._problem,
                    "opened": self._opened,
                    "view": self._view,
                }
            }
        )

    def _list(self) -> None:
        """Publish the lists of the start page: projects, shipped cells, robots and programs."""
        recent = home.recent() if self.keep or self._autosave is not None else []
        self._channel.put(
            {
                "start": {
                    "projects": [
                        {
                            "id": str(one.folder),
                            "name": one.name,
                            "untitled": one.untitled,
                            "opened": one.opened,
                        }
                        for one in recent
                    ],
                    **shipped(),
                }
            }
        )


def _same(project: Project, name: str, text: str) -> bool:
    try:
        return project.text(name) == text
    except BrazoError:
        return False


def _with_response(cell: Cell, responses: Mapping[str, bool]) -> Cell:
    robots = tuple(
        one
        if one.contact_response == responses.get(one.name, one.contact_response)
        else replace(one, contact_response=not one.contact_response)
        for one in cell.robots
    )
    return replace(cell, robots=robots)
