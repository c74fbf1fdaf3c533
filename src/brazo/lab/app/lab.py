"""The lab put together: one simulation, its scene, its panels, and the thread that runs them.

Three threads share the work.  The simulation's player lets time pass.  The network's thread talks
to the pages.  The lab's own thread does, in order, whatever a page or a program wants, and shows
the outcome: the scene at most `RATE` times a second, each panel as often as it asks.  While the
simulation is paused and nobody does anything it sleeps.

STOP has a thread of its own, so that it never waits behind anything.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.lab.app import responsive
from brazo.lab.app.clock import Clock
from brazo.lab.app.jobs import Jobs
from brazo.lab.app.opening import CELL, ROBOT, as_simulation, choices
from brazo.lab.app.program_run import program_in
from brazo.lab.app.replay import Replay
from brazo.lab.app.runs import Runs
from brazo.lab.app.stop import Stopper
from brazo.lab.app.unsaved import Unsaved
from brazo.lab.panels import Panel, panel_types
from brazo.lab.scene.scene import FIELD_OF_VIEW_DEG, Scene
from brazo.lab.scene.snapshot import Snapshot
from brazo.lab.scene.view import View
from brazo.lab.server.channel import topic_of
from brazo.lab.server.lab_server import LabServer
from brazo.lab.server.repeats import Repeats
from brazo.lab.server.requests import Requests
from brazo.operate import Mover, StopAll
from brazo.simulation import Simulation
from brazo.simulation.robot import SimRobot
from brazo.text import printable

RATE = 60.0  # Hz
LOOK_EVERY = 0.25  # s between looks at a simulation that is paused: a program may move it
BRAND = (232, 89, 12)

log = logging.getLogger(__name__)
log.addFilter(Repeats())


@dataclass(frozen=True, slots=True)
class Selection:
    """What the user points at: a robot and, when a link was clicked, the joint that moves it."""

    robot: str
    joint: int | None = None


class Lab:
    """A running lab; use from any thread.

    `sim` is its simulation, `selection` what the user points at, `robot` the selected robot, `runs`
    the folder of its recordings.
    """

    def __init__(
        self,
        source: Any,
        host: str = "127.0.0.1",
        port: int = 8080,
        wait: bool = False,
        token: bool = False,
        runs: str | Path | None = None,
    ) -> None:
        self._waits = wait  # time begins when the first page is there
        self.runs = Runs(runs)
        self.sim: Simulation = as_simulation(source)
        self._own = self.sim is not source
        self.selection = Selection(next(iter(self.sim.robots), ""))
        self._requests = Requests()
        self._ended = False  # set on the lab's thread
        self._server = LabServer(host, port, self._requests, token)
        self.channel = self._server.channel
        self.uploads = self._server.uploads
        self.jobs = Jobs(self.post, lambda jobs: self.channel.put({"jobs": jobs}))
        self._notices = 0
        self._closed = False
        self._driver = 0  # number of the page that drove when the panels were last told
        self._stop_all = StopAll()
        self._shown_at = (-1.0, -1, False)  # of the simulation last shown: time, number, running
        self._sims = 0
        self.opened = 0  # how many cells were opened after the first; edits do not count
        self._dirty = True
        try:
            self._furnish()
        except BaseException:
            self._server.stop()
            raise
        responsive.begin()
        self._stopper = Stopper(self._stop_now)
        self._thread = threading.Thread(target=self._run, name="brazo lab", daemon=True)
        self._thread.start()
        self._begin()

    def _furnish(self) -> None:
        gui = self._server.viser.gui
        gui.configure_theme(brand_color=BRAND, show_logo=False, show_share_button=False)
        gui.main_panel.minimize()  # the page's own bars and docks stand for viser's
        self.scene = Scene(self._server.viser, self._clicked)
        self.view = View(self)
        self.clock = Clock(self)
        self.mover = Mover(lambda: self.sim, self.require_running)
        self.unsaved = Unsaved(self)
        self.panels: dict[str, Panel] = {}
        for make in self.panel_types():
            self.panels[make.id] = make(self)
        self._due = dict.fromkeys(self.panels, 0.0)
        self._pending: set[str] = set(self.panels)
        self.channel.put({"choices": choices(), "view/fov": FIELD_OF_VIEW_DEG})
        on = self.channel.on
        on("stop", self._stop_pressed, free=True, now=True)
        on("open", self._open_shipped, str)
        on("select", self.select, str, int)
        on("cancel-job", self.jobs.cancel, int, still=True)
        on("panels-shown", self._panels_shown, list, free=True)
        on("control/ask", lambda: self._driving("ask"), free=True)
        on("control/hand-over", lambda: self._driving("hand_over"), still=True)
        on("control/keep", lambda: self._driving("keep"), still=True)
        self.channel.on_pages(self._show_driving)
        self.channel.on_pages(self._page_came)
        self.channel.allows = self._has_place
        self.channel.stop_again = self.halt
        self._show_simulation()

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
    def robot(self) -> SimRobot:
        """The selected robot."""
        return self.sim.robot(self.selection.robot)

    def open(self, source: Any, before: Callable[[], None] | None = None, ask: str = "") -> None:
        """Show another cell, robot, file or simulation; returns once it is done.

        `before` is called when everything is read, and may raise to call it off.  With `ask`, the
        name the user knows it by, the page is asked first when work would be lost.
        """
        sim = as_simulation(source)

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
        self.do(lambda: self.place(self.sim.robot(robot or self.selection.robot), q))

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
        sim = self.sim
        if isinstance(sim, Replay):
            still = not sim.player.running
            sim.player.pause()
            return "Nothing was moving." if still else None
        with sim.lock:
            program, still = program_in(sim), not sim.moving
            ran = program is not None and not (program.paused or program.done)
            self._stop_all.stop(sim)
            sim.log("stop", "stopped by the user")
        if not still:
            return None
        return "Nothing was moving; the program is paused." if ran else "Nothing was moving."

    def stop(self) -> None:
        """End the lab, release its port and finish its recordings; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self._requests.put(self._end)
        self._thread.join()
        self._stopper.close()
        self.jobs.close()
        self.unsaved.close()
        for panel in self.panels.values():
            panel.closed()
        self._let_go(self.sim)
        self._server.stop()
        responsive.end()
        self.runs.finish()

    def post(self, wish: Callable[[], None]) -> None:
        """Have something done on the lab's thread."""
        self._requests.put(wish)

    def do(self, wish: Callable[[], None]) -> None:
        """Have something done on the lab's thread; returns once it is, and raises what it did."""
        done = threading.Event()
        errors: list[BaseException] = []

        def run() -> None:
            try:
                wish()
            except BaseException as error:
                errors.append(error)
            finally:
                done.set()

        if self._closed:
            raise BrazoError("this lab has been stopped")
        if threading.current_thread() is self._thread:
            return wish()
        self._requests.put(run)
        while not done.wait(0.2):
            if not self._thread.is_alive():
                raise BrazoError("this lab was stopped meanwhile")
        if errors:
            raise errors[0]

    def panel_types(self) -> Sequence[type[Panel]]:
        """The windows it has."""
        return panel_types()

    # ---- for panels, on the lab's thread ------------------------------------------------------

    @property
    def shown_panels(self) -> list[Panel]:
        """The panels that have a use now: some need something to drive, one a recording."""
        kind = "replay" if isinstance(self.sim, Replay) else "cell"
        return [panel for panel in self.panels.values() if kind in panel.used_for]

    def say(self, text: str, kind: str = "info") -> None:
        """Show a sentence: `info`, `warn` or `error`; to the page that asked, else to all."""
        self._notices += 1
        notice = {"number": self._notices, "text": printable(text), "kind": kind}
        asked, topic = self.channel.page, topic_of(self.channel.event)
        if asked is not None and kind == "error" and topic:
            # One a panel: it goes with the next, or when that panel does as it is asked.
            notice["topic"] = topic
            asked.wrong[topic] = self._notices
        for page in self.channel.pages if asked is None else (asked,):
            page.tell("notice", notice)

    def download(self, name: str, content: bytes | str | Path) -> None:
        """Have the page that asked (else the one that drives) save a file."""
        offer = self._server.downloads.offer(name, content)
        asked = self.channel.page
        for page in (asked,) if asked is not None else self.channel.pages:
            if asked is not None or self.channel.driving.drives(page.key):
                page.tell("download", offer)

    def select(self, robot: str, joint: int = -1) -> None:
        """Point at a robot and, from 0 up, one of its joints."""
        if robot in self.sim.robots:
            n = self.sim.robots[robot].n
            self.selection = Selection(robot, joint if 0 <= joint < n else None)
            self.view.selected()
            self.channel.put(
                {"selection/robot": robot, "selection/joint": -1 if joint >= n else joint}
            )
            for panel in self.shown_panels:
                self._carefully(panel.selection_changed)

    def place(self, robot: SimRobot, q: Any) -> None:
        """Put a robot's joints at q, at rest."""
        try:
            q = np.array(q, dtype=float)
        except (TypeError, ValueError):
            raise BrazoError(f"q: {robot.name} wants {robot.n} numbers") from None
        if q.shape != (robot.n,) or not np.isfinite(q).all():
            raise BrazoError(f"q has shape {q.shape}: {robot.name} wants ({robot.n},), all finite")
        if isinstance(self.sim, Replay):
            raise BrazoError("this is a recording: its robots are where it says")
        with self.sim.lock:
            robot.world.set_state(q)
            robot.restart()

    def redraw(self) -> None:
        """Draw the cell anew, its robots having been edited; the view stays where it is."""
        self.scene.show(self.sim)
        self.view.rebuilt()
        self.channel.put({"view/kept": self.scene.root, **self._scene_told()})
        for panel in self.shown_panels:
            self._carefully(panel.simulation_changed)

    def replace_simulation(self, sim: Simulation) -> None:
        """Go on with a rebuilt simulation of the same cell; the view and the selection stay."""
        running, selection = self.sim.player.running, self.selection
        self._let_go(self.sim)
        self.sim, self._own, self.selection = sim, True, selection
        self._sims += 1
        self.clock.listen(sim)
        self.redraw()
        if running:
            sim.player.play()

    def require_running(self) -> None:
        """Raise, in words, when time stands still: what was asked for would never happen."""
        if not self.sim.player.running:
            raise BrazoError("the simulation is paused: press play, then try again")

    # ---- inside --------------------------------------------------------------------------------

    def _change(self, sim: Simulation, own: bool) -> None:
        old, self.sim = self.sim, sim
        if old is not sim:
            self._let_go(old)
        self._own = own
        self._sims += 1
        self.opened += 1
        self.selection = Selection(next(iter(sim.robots), ""))
        self._show_simulation()
        self._begin()

    def _begin(self) -> None:
        """Let time pass in a simulation; a recording waits at its start for somebody to look."""
        if not (self._waits or isinstance(self.sim, Replay)):
            self.sim.player.play()

    def _page_came(self) -> None:
        if self._waits and self.channel.pages:
            self._waits = False
            self._begin()

    def _has_place(self, event: str) -> bool:
        """Whether an event may be acted on: those of panels without a use now may not."""
        panel = self.panels.get(event.partition("/")[0])
        return panel is None or panel in self.shown_panels

    def _open_shipped(self, name: str) -> None:
        # A page must not name files.
        shipped = choices()
        kind, _, rest = name.partition(":")
        if rest in shipped.get(f"{kind}s", ()):
            self.unsaved.before_opening(rest, lambda: self._change(as_simulation(name), True))

    def _let_go(self, sim: Simulation) -> None:
        """A simulation the lab made ends with it; one it was given is only paused."""
        if self._own:
            sim.player.close()
        else:
            sim.player.pause()

    def _show_simulation(self) -> None:
        self.scene.show(self.sim)
        self.view.rebuilt()
        self.clock.listen(self.sim)
        replay = self.sim if isinstance(self.sim, Replay) else None
        self.channel.put(  # at once: a page must not frame one cell under the name of another
            {
                **self._scene_told(),
                "panels": [panel.told() for panel in self.shown_panels],
                "cell": self.sim.cell.name,
                "about": self.sim.cell.about if replay is None else f"Replay of {replay.path}",
                "source": self._shipped_as() if replay is None else replay.title,
                "replay": replay is not None,
                "robots": list(self.sim.robots),
                "selection/robot": self.selection.robot,
                "selection/joint": -1,
            }
        )
        for panel in self.shown_panels:
            self._carefully(panel.simulation_changed)
        self._dirty = True

    def _shipped_as(self) -> str:
        """What the cell is called in the list of shipped ones; its name alone if it is not."""
        cell, shipped = self.sim.cell, choices()
        if cell.path is not None and cell.path.stem == cell.name and "library" in cell.path.parts:
            if cell.path.parent.name == "cells" and cell.name in shipped["cells"]:
                return f"{CELL}{cell.name}"
            if cell.path.parent.name == "robots" and cell.name in shipped["robots"]:
                return f"{ROBOT}{cell.name}"
        return cell.name

    def _scene_told(self) -> dict[str, Any]:
        return {
            "view/root": self.scene.root,  # a new one tells a page to frame what it sees
            "view/parts": self.scene.part_count,
            "view/tools": self.scene.tools,
        }

    def _clicked(self, drawn: int, shift: bool) -> None:
        self.post(self.channel.unless_stopped(lambda: self.view.clicked(drawn, shift)))

    def _panels_shown(self, panels: list[Any]) -> None:
        page = self.channel.page
        if page is not None:
            page.shown = frozenset(p for p in panels if isinstance(p, str) and p in self.panels)

    def _driving(self, wish: str) -> None:
        page = self.channel.page
        if page is not None:
            getattr(self.channel.driving, wish)(page.key)
            self._show_driving()

    def _show_driving(self) -> None:
        driving = self.channel.driving
        self.channel.put(
            {
                "control/driver": driving.driver,
                "control/asking": driving.asking,
                "control/pages": driving.pages,
            }
        )
        if driving.driver != self._driver:  # not for pages that come, go or ask
            self._driver = driving.driver
            for panel in self.panels.values():
                self._carefully(panel.driver_changed)

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
            self.say("STOP came first: what was asked for and had not begun is not done", "warn")
        elif unseen:
            self.say(unseen)
        for panel in self.panels.values():
            self._carefully(panel.stopped)
        self.channel.put({"stops": self.channel.stops})  # several presses may be one stop

    # ---- the lab's thread ------------------------------------------------------------------------

    def _run(self) -> None:
        due = 0.0  # when the next frame may be shown
        while True:
            wish = self._requests.take(self._wait(due))
            if wish is not None:
                self._dirty = True
                self._carefully(wish)
                self.channel.page = None
            if self._ended:
                return
            if self.channel.driving.settle():
                self._carefully(self._show_driving)
            now = time.monotonic()
            if now >= due:
                due = max(due + 1.0 / RATE, now)
                self._carefully(self._frame)

    def _end(self) -> None:
        self._ended = True

    def _wait(self, due: float) -> float:
        awake = self._dirty or self.sim.player.running or self._late()
        wait = max(0.0, due - time.monotonic()) if awake else LOOK_EVERY
        passing = self.channel.driving.wait()
        return wait if passing is None else min(wait, passing + 0.01)

    def _frame(self) -> None:
        """Show what changed since the last frame."""
        # Whether it runs belongs to it: one that broke down has no later moment to be noticed by.
        now = (self.sim.time, self._sims, self.sim.player.running)
        if now == self._shown_at and not self._dirty and not self._late():
            return
        if now != self._shown_at or self._dirty:
            self._shown_at, self._dirty = now, False
            self._pending = {panel.id for panel in self.shown_panels}
            snapshot = Snapshot.of(self.sim)
            self._carefully(lambda: self.scene.place(snapshot.poses))
            self.view.update(snapshot)
            self.clock.update(snapshot)
            with self.sim.lock:
                for panel in self.shown_panels:
                    self._carefully(panel.follow)
        for panel in self._late():
            self._pending.discard(panel.id)
            self._due[panel.id] = time.monotonic() + 1.0 / panel.rate
            self._carefully(lambda panel=panel: self._ask(panel))

    def _ask(self, panel: Panel) -> None:
        with self.sim.lock:  # what it reads belongs to one moment
            values = panel.values()
        panel.put(values)

    def _late(self) -> list[Panel]:
        """The panels in view that have not shown the present state and may do so now."""
        if not self._pending:
            return []
        seen = frozenset().union(*(page.shown for page in self.channel.pages))
        now = time.monotonic()
        return [self.panels[p] for p in self._pending & seen if now >= self._due[p]]

    def _carefully(self, wish: Callable[[], Any]) -> None:
        try:
            wish()
        except BrazoError as error:
            self.say(str(error), "error")
        except Exception as error:  # one broken panel must not stop the others
            log.exception("the lab could not do what was asked")
            self.say(f"this should not have happened: {type(error).__name__}: {error}", "error")
