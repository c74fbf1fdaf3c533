"""The lab put together: one session, its scene, its panels, and the thread that runs them.

Three threads share the work.  The simulation's player lets time pass.  The network's thread talks
to the pages.  The lab's own thread (`worker.py`) does, in order, whatever a page or a program asks
for, and shows the outcome (`display.py`): the scene at most 60 times a second, each panel as often
as it asks.  While the simulation is paused and nobody does anything it sleeps.

STOP has a thread of its own, so that it never waits behind anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from brazo.lab.app import responsive
from brazo.lab.app.clock import Clock
from brazo.lab.app.context import Context
from brazo.lab.app.control import Control
from brazo.lab.app.display import Display
from brazo.lab.app.jobs import Jobs
from brazo.lab.app.live import Live
from brazo.lab.app.opening import ROBOT, choices
from brazo.lab.app.panel import Panel
from brazo.lab.app.replay import Replay, ReplayRobot
from brazo.lab.app.runs import Runs
from brazo.lab.app.session import Selection, Session, as_shown
from brazo.lab.app.stop import Brakes, Stopper
from brazo.lab.app.unsaved import Unsaved, Work
from brazo.lab.app.worker import Worker
from brazo.lab.scene.scene import Scene
from brazo.lab.scene.view import View
from brazo.lab.server.lab_server import LabServer
from brazo.lab.server.notices import Notices
from brazo.lab.server.requests import Requests
from brazo.operate import Mover
from brazo.simulation import Simulation
from brazo.simulation.robot import SimRobot

BRAND = (232, 89, 12)


class Lab:
    """A running lab; use from any thread.

    `sim` is its simulation, `selection` what the user points at, `robot` the selected robot, `runs`
    the folder of its recordings.
    """

    def __init__(
        self,
        source: Any,
        panels: Sequence[Callable[[Context], Panel]],
        host: str = "127.0.0.1",
        port: int = 8080,
        wait: bool = False,
        token: bool = False,
        runs: str | Path | None = None,
    ) -> None:
        self._waits = wait  # time begins when the first page is there
        self._brakes = Brakes()
        self.runs = Runs(runs)
        self.session = Session(source)
        self._requests = Requests()
        self._server = LabServer(host, port, self._requests, token)
        self.channel = self._server.channel
        self.uploads = self._server.uploads
        self.notices = Notices(self.channel)
        self._worker = Worker(self._requests, self._call, self._frame, self._wait)
        try:
            self._furnish(panels)
        except BaseException:
            self._server.stop()
            raise
        responsive.begin()
        self._stopper = Stopper(self._stop_now)
        self._worker.start()
        self._begin()

    def _furnish(self, panels: Sequence[Callable[[Context], Panel]]) -> None:
        gui = self._server.viser.gui
        gui.configure_theme(brand_color=BRAND, show_logo=False, show_share_button=False)
        gui.main_panel.minimize()  # the page's own bars and docks stand for viser's
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
        self.live = Live(session, self.post)
        self.unsaved = Unsaved(
            session, channel, self.jobs, self._server.download, self.post, self._unsaved_work
        )
        context = Context(
            session=session,
            scene=self.scene,
            channel=channel,
            notices=notices,
            uploads=self.uploads,
            download=self._server.download,
            jobs=self.jobs,
            runs=self.runs,
            unsaved=self.unsaved,
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
        self.display.show(made)

    # ---- for programs ------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """The link to open."""
        return self._server.url

    def browser_url(self) -> str:
        """The address to start a browser with; it does not hold the token."""
        return self._server.browser_url()

    @property
    def note(self) -> str:
        """What the user should know about the start; empty when all went as asked."""
        return self._server.note

    @property
    def sim(self) -> Simulation | Replay:
        """The simulation or replay on show."""
        return self.session.shown

    @property
    def selection(self) -> Selection:
        """What the user points at."""
        return self.session.selection

    @property
    def robot(self) -> SimRobot | ReplayRobot:
        """The selected robot."""
        return self.session.shown_robot

    @property
    def panels(self) -> dict[str, Panel]:
        """The panels by their names."""
        return dict(self.display.panels)

    def open(self, source: Any, before: Callable[[], None] | None = None, ask: str = "") -> None:
        """Show another cell, robot, file or simulation; returns once it is done.

        `before` is called when everything is read, and may raise to call it off.  With `ask`, the
        name the user knows it by, the page is asked first when work would be lost.
        """
        sim = as_shown(source)

        def change() -> None:
            if before is not None:
                before()
            if ask:
                self.unsaved.before_opening(
                    ask, lambda: self._change(sim, sim is not source), sim.player.close
                )
            else:
                self._change(sim, sim is not source)

        try:
            self.do(change)
        except BaseException:
            if sim is not source and sim is not self.sim:
                sim.player.close()
            raise

    def set_robot(self, robot: Any) -> None:
        """Show a robot alone (or name or file of one); returns once it is done."""
        self.open(f"{ROBOT}{robot}" if isinstance(robot, str | Path) else robot)

    def set_q(self, q: Any, robot: str | None = None) -> None:
        """Put a robot's joints at q (n,), rad and m, at rest; returns once it is done."""
        self.do(lambda: self._set_q(q, robot or self.selection.robot))

    def say(self, text: str, kind: str = "info") -> None:
        """Show a sentence on the pages: `info`, `warn` or `error`; on the lab's thread."""
        self.notices.say(text, kind)

    def stop_motion(self) -> None:
        """STOP: every robot comes to rest within its limits, programs pause.

        What was asked for before and has not begun is not done any more.
        """
        self.channel.halt()
        self._stop_now()

    def halt(self) -> str | None:
        """Bring to rest what moves now; from any thread.

        Returns what is to be said where nobody would see a difference.
        """
        return self._brakes.apply(self.sim)

    def stop(self) -> None:
        """End the lab, release its port and finish its recordings; a second call does nothing."""
        if self._worker.closed:
            return
        self._worker.close()
        self._stopper.close()
        self.jobs.close()
        self.unsaved.close()
        for panel in self.panels.values():
            panel.closed()
        self.live.close()
        self.session.close()
        self._server.stop()
        responsive.end()
        self.runs.finish()

    def post(self, call: Callable[[], None]) -> None:
        """Have something done on the lab's thread."""
        self._worker.post(call)

    def do(self, call: Callable[[], None]) -> None:
        """Have something done on the lab's thread; returns once it is, and raises what it did."""
        self._worker.do(call)

    def _set_q(self, q: Any, robot: str) -> None:
        self.session.place(self.session.sim.robot(robot), q)

    # ---- what is open ------------------------------------------------------------------------

    def _change(self, sim: Simulation | Replay, own: bool) -> None:
        self.session.change(sim, own)
        self._begin()

    def _begin(self) -> None:
        """Let time pass in a simulation; a recording waits at its start for somebody to look."""
        if not self._waits and self.session.replay is None:
            self.sim.player.play()

    def _page_came(self) -> None:
        if self._waits and self.channel.pages:
            self._waits = False
            self._begin()

    def _open_shipped(self, name: str) -> None:
        # A page must not name files.
        shipped = choices()
        kind, _, rest = name.partition(":")
        if rest in shipped.get(f"{kind}s", ()):
            self.unsaved.before_opening(rest, lambda: self._change(as_shown(name), True))

    def _clicked(self, drawn: int, shift: bool) -> None:
        self.post(self.channel.unless_stopped(lambda: self.display.clicked(drawn, shift)))

    def _unsaved_work(self) -> list[Work]:
        return [one for panel in self.panels.values() for one in panel.unsaved()]

    def _each_panel(self, call: Callable[[Panel], Any]) -> None:
        self.display.each_panel(call)

    # ---- STOP --------------------------------------------------------------------------------

    def _stop_pressed(self) -> None:
        # On the network's thread: what that page sends from here on comes after the STOP.
        self.channel.halt()
        self._stopper.press()

    def _stop_now(self) -> None:
        unseen = self.halt()
        self._requests.put(lambda: self._after_stop(unseen), "stopped")

    def _after_stop(self, unseen: str | None = None) -> None:
        overtaken, self.channel.overtaken = self.channel.overtaken, False
        if overtaken:
            self.say("STOP: pending requests were cancelled", "warn")
        elif unseen:
            self.say(unseen)
        self._each_panel(lambda panel: panel.stopped())
        self.channel.put({"stops": self.channel.stops})  # several presses may be one stop

    # ---- the lab's thread ----------------------------------------------------------------------

    def _call(self, request: Callable[[], None]) -> None:
        self.display.changed()
        self.notices.guard(request)
        self.channel.page = None

    def _frame(self) -> None:
        if self.channel.driving.settle():
            self.notices.guard(self.control.show)
        self.notices.guard(self.display.frame)

    def _wait(self, due: float) -> float:
        wait = self.display.wait(due)
        settling = self.channel.driving.wait()
        return wait if settling is None else min(wait, settling + 0.01)
