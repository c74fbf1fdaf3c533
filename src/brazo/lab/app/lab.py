"""`Lab`: one session with its scene, panels and server, and the threads that run them.

The player's thread steps the simulation.  The network thread exchanges messages with the pages.
The lab's thread (`worker.py`) runs requests of pages and of Python programs in order.  It also
updates the pages (`display.py`): the scene at up to 60 Hz, each panel at up to its own rate.  It
sleeps while the simulation is paused and there are no requests.

STOP has its own thread, so that it does not wait for other requests.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from brazo.lab.app import responsive
from brazo.lab.app.clock import Clock
from brazo.lab.app.context import PanelContext
from brazo.lab.app.control import Control
from brazo.lab.app.display import Display
from brazo.lab.app.imported_files import ImportedFiles
from brazo.lab.app.jobs import Job, Jobs
from brazo.lab.app.live import LiveSignals
from brazo.lab.app.opening import ROBOT, choices
from brazo.lab.app.panel import Panel
from brazo.lab.app.project_opening import Opening, opening_of
from brazo.lab.app.project_saving import ProjectSaving
from brazo.lab.app.replay import RecordingReplay, ReplayRobot
from brazo.lab.app.runs import Runs
from brazo.lab.app.session import Selection, Session
from brazo.lab.app.shared_points import SharedPoints
from brazo.lab.app.stop import Brakes, Stopper
from brazo.lab.app.undo import Undo
from brazo.lab.app.unsaved import Unsaved, Work
from brazo.lab.app.worker import Worker
from brazo.lab.scene.scene import Scene
from brazo.lab.scene.view import View
from brazo.lab.server.lab_server import LabServer
from brazo.lab.server.notices import Notices
from brazo.lab.server.requests import Requests
from brazo.operate import Mover
from brazo.project.history import History
from brazo.project.home import imported_folder
from brazo.simulation import Simulation
from brazo.simulation.robot import SimRobot

BRAND = (232, 89, 12)
IDLE = 3.0  # s without requests


class Lab:
    """A running lab: a simulation or replay that is shown on browser pages; thread-safe.

    Attributes: `sim` is the simulation or replay, `selection` the selected robot and joint, `robot`
    the selected robot, and `runs` the folder of recordings.

    Arguments: `source` is what to open first, as in `open`.  If `keep` is true or `source` is a
    project folder, the user's work is saved in a project (`brazo.project`).  If `wait` is true, the
    simulation starts when the first page connects.
    """

    def __init__(
        self,
        source: Any,
        panels: Sequence[Callable[[PanelContext], Panel]],
        host: str = "127.0.0.1",
        port: int = 8080,
        wait: bool = False,
        token: bool = False,
        runs: str | Path | None = None,
        keep: bool = False,
    ) -> None:
        self._waits = wait  # start the simulation when the first page connects
        self._used = time.monotonic()  # time of the last request
        self._brakes = Brakes()
        self.runs = Runs(runs)
        self._keep = keep
        self._opening = opening = opening_of(source, keep)
        self.session = Session(opening.sim, opening.own)
        self._requests = Requests()
        try:
            self._server = LabServer(host, port, self._requests, token)
        except BaseException:
            if opening.project is not None:
                opening.project.release()
            raise
        self.channel = self._server.channel
        self.uploads = self._server.uploads
        self.notices = Notices(self.channel)
        self._worker = Worker(self._requests, self._call, self._frame, self._wait)
        try:
            self._furnish(panels)
        except BaseException:
            self._server.stop()
            if opening.project is not None:
                opening.project.release()
            raise
        responsive.begin()
        self._stopper = Stopper(self._stop_now)
        self._worker.start()
        self._begin()

    def _furnish(self, panels: Sequence[Callable[[PanelContext], Panel]]) -> None:
        gui = self._server.viser.gui
        gui.configure_theme(brand_color=BRAND, show_logo=False, show_share_button=False)
        gui.main_panel.minimize()  # the lab's own bars and docks replace viser's panel
        session, channel, notices = self.session, self.channel, self.notices
        self.jobs = Jobs(self.post, lambda jobs: channel.put({"jobs": jobs}))
        self.scene = Scene(self._server.viser, self._clicked)
        self.view = View(self.scene, channel)
        self.clock = Clock(session, channel, notices, self._each_panel)
        self.display = Display(session, self.scene, self.view, self.clock, channel, notices)
        self.control = Control(
            channel, lambda: self._each_panel(lambda panel: panel.driver_changed())
        )
        self.mover = Mover(lambda: session.sim, session.require_running)
        self.live = LiveSignals(session, self.post)
        self.unsaved = Unsaved(
            session, channel, self.jobs, self._server.download, self.post, self._unsaved_work,
            lambda: self.saving.keeps,
        )  # fmt: skip
        self.history = History()
        self.undo = Undo(self.history, channel, notices)
        self.imported = ImportedFiles(imported_folder if self._keep else None)
        self.points = SharedPoints(self.history)
        session.on_rename(self.points.rename_robots)
        session.on_rename(self.points.rename_frames, every=True)
        self.saving = ProjectSaving(
            self._keep, session, self.points, self.runs, channel, notices, self.post,
            self._server.download, lambda: self.display.panels.values(), self._open_asking,
        )  # fmt: skip
        context = PanelContext(
            session=session,
            scene=self.scene,
            channel=channel,
            notices=notices,
            uploads=self.uploads,
            imported=self.imported,
            download=self._server.download,
            jobs=self.jobs,
            runs=self.runs,
            unsaved=self.unsaved,
            history=self.history,
            points=self.points,
            saving=self.saving,
            mover=self.mover,
            live=self.live,
            clock=self.clock,
            open=self.open,
            post=self.post,
            each_panel=self._each_panel,
        )
        made = [make(context) for make in panels]
        channel.on("stop", self._stop_pressed, free=True, now=True)
        channel.on("open", self._open_shipped, str)
        channel.on("select", session.select, str, int)
        channel.on("cancel-job", self.jobs.cancel, int, still=True)
        channel.on_pages(self._page_came)
        channel.stop_again = self.halt
        session.listener = self.display
        self.saving.before_change(self._opening)
        self.display.show(made)
        self.saving.after_change(self._opening)

    # ---- for programs ------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """URL of the lab's page, with the token if one is required."""
        return self._server.url

    def browser_url(self) -> str:
        """URL with which to start a browser; it has a single-use code instead of the token."""
        return self._server.browser_url()

    @property
    def note(self) -> str:
        """Message about the start of the lab, such as a changed port; empty if there is none."""
        return self._server.note

    @property
    def sim(self) -> Simulation | RecordingReplay:
        """The simulation or replay that is shown."""
        return self.session.shown

    @property
    def selection(self) -> Selection:
        """The selected robot and joint."""
        return self.session.selection

    @property
    def robot(self) -> SimRobot | ReplayRobot:
        """The selected robot."""
        return self.session.shown_robot

    @property
    def panels(self) -> dict[str, Panel]:
        """All panels: id -> panel."""
        return dict(self.display.panels)

    def open(self, source: Any, before: Callable[[], None] | None = None, ask: str = "") -> None:
        """Open another cell, robot, file or simulation; block until it is open.

        `before` is called after the source was loaded, before the user is asked and before the
        current cell is closed.  If `before` raises, the current cell stays open.  If `ask` is not
        empty and unsaved work would be lost, a page asks the user for confirmation, and this method
        returns as soon as the question is shown.  `ask` is the name of the source in this question.
        """
        opening = opening_of(source, self.saving.keep, self.saving.project)

        def change() -> None:
            if before is not None:
                before()
            if ask:
                self.unsaved.before_opening(
                    ask, lambda: self._change(opening), lambda: self._abandon(opening)
                )
            else:
                self._change(opening)

        try:
            self.do(change)
        except BaseException:
            self._abandon(opening)
            raise

    def set_robot(self, robot: Any) -> None:
        """Open a single robot, given as an object, a name or a file; block until it is open."""
        self.open(f"{ROBOT}{robot}" if isinstance(robot, str | Path) else robot)

    def set_q(self, q: Any, robot: str | None = None) -> None:
        """Set the joint positions of a robot to q (n,), in rad and m, with zero velocity.

        `robot` is the name of a robot, by default the selected one.  Blocks until the positions are
        set.
        """
        self.do(lambda: self._set_q(q, robot or self.selection.robot))

    def say(self, text: str, kind: str = "info") -> None:
        """Show a message on the pages; call only on the lab's thread.

        `kind` is `info`, `warn` or `error`.
        """
        self.notices.say(text, kind)

    def stop_motion(self) -> None:
        """STOP: brake all robots as fast as their limits allow, pause programs, cancel requests."""
        self.channel.halt()
        self._stop_now()

    def halt(self) -> str | None:
        """Brake all robots and pause programs; thread-safe.

        Returns a message for the user if nothing was moving, otherwise None.
        """
        return self._brakes.apply(self.sim)

    def stop(self) -> None:
        """Close the lab, release its port and finish its recordings; later calls do nothing."""
        if self._worker.closed:
            return
        self._worker.close()
        self._stopper.close()
        self.jobs.close()
        self.unsaved.close()
        self.notices.guard(self.saving.close)
        for panel in self.panels.values():
            panel.closed()
        self.imported.close()
        self.live.close()
        self.session.close()
        self._server.stop()
        responsive.end()
        self.runs.finish()

    def post(self, call: Callable[[], None]) -> None:
        """Queue a call for the lab's thread and return immediately."""
        self._worker.post(call)

    def do(self, call: Callable[[], None]) -> None:
        """Run a call on the lab's thread; block until it returns, and re-raise its exception."""
        self._worker.do(call)

    def _set_q(self, q: Any, robot: str) -> None:
        self.session.place(self.session.sim.robots[robot], q)

    # ---- opening -----------------------------------------------------------------------------

    def _change(self, opening: Opening) -> None:
        try:
            self.saving.before_change(opening)
        except BaseException:
            self._abandon(opening)
            raise
        self.history.clear()  # its edits refer to the cell that is closed
        self.session.change(opening.sim, opening.own)
        self.saving.after_change(opening)
        self._begin()

    def _abandon(self, opening: Opening) -> None:
        """Release a loaded source that will not be opened."""
        if opening.own and opening.sim is not self.sim:
            opening.sim.player.close()
        if opening.project is not None and opening.project is not self.saving.project:
            opening.project.release()

    def _open_asking(self, source: Any, name: str) -> None:
        """Open a source in a background job; ask the user first if unsaved work would be lost."""

        def work(job: Job) -> None:
            self.open(source, job.settle, name)

        job = self.jobs.start(
            f"Open {name}" if name else "Open",
            work,
            lambda _: self.post(lambda: self.jobs.cancel(job.number)),
        )

    def _begin(self) -> None:
        """Start the simulation, unless it waits for the first page.

        A replay stays paused at its start.
        """
        if not self._waits and self.session.replay is None:
            self.sim.player.play()

    def _page_came(self) -> None:
        if self._waits and self.channel.pages:
            self._waits = False
            self._begin()

    def _open_shipped(self, name: str) -> None:
        # Only names of shipped cells and robots: a page must not open arbitrary files.
        shipped = choices()
        kind, _, rest = name.partition(":")
        if rest in shipped.get(f"{kind}s", ()):
            saving = self.saving
            self.unsaved.before_opening(
                rest, lambda: self._change(opening_of(name, saving.keep, saving.project))
            )

    def _clicked(self, drawn: int, shift: bool) -> None:
        self.post(self.channel.unless_stopped(lambda: self.display.clicked(drawn, shift)))

    def _unsaved_work(self) -> list[Work]:
        work = [one for panel in self.panels.values() for one in panel.unsaved()]
        # A project keeps everything that has files; a program that runs ends all the same.
        return [one for one in work if not (one.files and self.saving.keeps)]

    def _each_panel(self, call: Callable[[Panel], Any]) -> None:
        self.display.each_panel(call)

    # ---- STOP --------------------------------------------------------------------------------

    def _stop_pressed(self) -> None:
        # On the network thread, so that later events of this page count as sent after the STOP.
        self.channel.halt()
        self._stopper.press()

    def _stop_now(self) -> None:
        unseen = self.halt()
        self.clock.stopped()
        self._requests.put(lambda: self._after_stop(unseen), "stopped")

    def _after_stop(self, unseen: str | None = None) -> None:
        overtaken, self.channel.overtaken = self.channel.overtaken, False
        if overtaken:
            self.say("STOP: pending requests were cancelled", "warn")
        elif unseen:
            self.say(unseen)
        self._each_panel(lambda panel: panel.stopped())
        self.channel.put({"stops": self.channel.stops})  # several presses may cause a single stop

    # ---- the lab's thread ----------------------------------------------------------------------

    def _call(self, request: Callable[[], None]) -> None:
        self._used = time.monotonic()
        self.display.changed()
        self.notices.guard(request)
        self.channel.page = None
        self.saving.touched()

    def _frame(self) -> None:
        if self.channel.driving.settle():
            self.notices.guard(self.control.show)
        self.notices.guard(self.display.frame)
        self.notices.guard(self.saving.poll)
        if time.monotonic() - self._used > IDLE and not self.sim.moving:
            responsive.rest()

    def _wait(self, due: float) -> float:
        wait = self.display.wait(due)
        saving = self.saving.wait()
        if saving is not None:
            wait = min(wait, saving + 0.01)
        settling = self.channel.driving.wait()
        return wait if settling is None else min(wait, settling + 0.01)
