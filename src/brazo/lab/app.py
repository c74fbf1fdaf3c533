"""The lab put together: one robot, its scene, its panels, and the thread that runs them.

Whatever a page or a program wants is posted to one queue and done in order by one thread, which
then shows the outcome, at most `RATE` times a second; between wishes it sleeps.  The lab here is
kinematic: the robot is where it was last told to be.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import signal
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import brazo
from brazo.errors import BrazoError
from brazo.lab.panels import Panel
from brazo.lab.panels.joints import JointsPanel
from brazo.lab.scene import FIELD_OF_VIEW_DEG, Scene
from brazo.lab.server import LabServer
from brazo.model.library import robot_names

if TYPE_CHECKING:
    from brazo.robot import Robot

RATE = 60.0  # Hz
PANELS: tuple[type[Panel], ...] = (JointsPanel,)
PANEL_WIDTH = 320  # px
BRAND = (232, 89, 12)

log = logging.getLogger(__name__)


def serve(
    robot: Robot | str | Path,
    host: str = "127.0.0.1",
    port: int = 8080,
    open_browser: bool = True,
    block: bool = True,
) -> Lab:
    """Open the lab on a robot; with `block`, stay until Ctrl+C (or SIGTERM) and then stop.

    The robot may be given as what `brazo.load` takes: a shipped name or a file.
    A busy port makes way for the next free one.  Any host but the loopback asks for the token in
    `Lab.url`.
    """
    robot = as_robot(robot)
    if not block:
        return _open(robot, host, port, open_browser)
    with _until_signal() as stopped:
        lab = _open(robot, host, port, open_browser)
        try:
            _say(f"brazo lab: {lab.note}" if lab.note else "")
            _say(f"brazo lab: {lab.url}  (Ctrl+C stops)")
            while not stopped.wait(0.5):  # a wait without end could not be interrupted on Windows
                pass
        finally:
            lab.stop()
    return lab


class Lab:
    """A running lab.  `robot`, `q` (n,) and `tool` (4, 4) are its state; use from any thread."""

    def __init__(self, robot: Robot, host: str = "127.0.0.1", port: int = 8080) -> None:
        self._take(robot)
        self._given: dict[str, Robot] = {}
        self._wishes: queue.Queue[Callable[[], None] | None] = queue.Queue(maxsize=10_000)
        self._server = LabServer(host, port, self.post)
        self.channel = self._server.channel
        self._stopped = False
        try:
            self._furnish()
        except BaseException:
            self._server.stop()
            raise
        self._thread = threading.Thread(target=self._run, name="brazo lab", daemon=True)
        self._thread.start()

    def _furnish(self) -> None:
        gui = self._server.viser.gui
        gui.configure_theme(brand_color=BRAND, show_logo=False, show_share_button=False)
        # The page's own bars stand for viser's main panel.  On a narrow screen it is the sheet
        # that holds the panels, and shows viser's settings unless it has something else to show.
        gui.set_panel_label("brazo")
        gui.add_html("")
        gui.main_panel.minimize()
        self._scene = Scene(self._server.viser)
        self._panels = [make(self) for make in PANELS]
        dock = gui.add_panel()
        for panel in self._panels:
            with dock.add_tab(panel.title, panel.icon):
                panel.build(gui)
        dock.dock_left()
        dock.set_width(PANEL_WIDTH)
        self.channel.on("robot", self._load, str)
        self.channel.on("axes", self._show_axes, bool)
        self.channel.put({"view/axes": False, "view/fov": FIELD_OF_VIEW_DEG})
        self._give(self.robot)
        self._show_robot()
        self._publish()

    @property
    def url(self) -> str:
        """The link to open."""
        return self._server.url

    @property
    def note(self) -> str:
        """What the user should know about the start; empty when all went as asked."""
        return self._server.note

    def set_q(self, q: Any) -> None:
        """Put the joints at q (n,), rad and m; returns once it is done."""
        self._do(lambda: self.go_to(q))

    def set_robot(self, robot: Robot | str | Path) -> None:
        """Show another robot (or name or file of one); returns once it is done."""
        loaded = as_robot(robot)

        def give() -> None:
            self._change_robot(loaded)
            self._give(loaded)

        self._do(give)

    def stop(self) -> None:
        """End the lab and release its port; a second call does nothing."""
        if not self._stopped:
            self._stopped = True
            self._wishes.put(None)
            self._thread.join()
            self._server.stop()

    def post(self, wish: Callable[[], None]) -> None:
        """Have something done on the lab's thread; in a flood what does not fit is dropped."""
        with contextlib.suppress(queue.Full):
            self._wishes.put_nowait(wish)

    # ---- on the lab's thread only --------------------------------------------------------------

    @property
    def home(self) -> np.ndarray:
        """Where the robot starts: its home, else its first named pose, else zero in its limits."""
        return home(self.robot)

    def go_to(self, q: Any) -> None:
        """Move to q; a place the robot cannot be in raises, and nothing changes."""
        self.q, self._frames, self.tool = where(self.robot, q)
        self.channel.put({"notice": ""})
        self._dirty = True

    def _take(self, robot: Robot) -> None:
        self.q, self._frames, self.tool = where(robot, home(robot))
        self.robot = robot
        self._dirty = True

    def _show_robot(self) -> None:
        robot = self.robot
        self._scene.show(robot, self._frames, self.tool)
        for panel in self._panels:
            panel.robot_changed()
        self.channel.put(
            {
                "robot": robot.name,
                "about": robot.about,
                "view/robot": self._scene.root,  # a new one tells a page to frame what it sees
                "view/parts": self._scene.part_count,
                "notice": "",
            }
        )

    def _give(self, robot: Robot) -> None:
        """Keep a robot of the program's own for the pages to choose."""
        self._given[robot.name] = robot
        self.channel.put({"robots": sorted({*robot_names(), *self._given})})

    def _change_robot(self, robot: Robot) -> None:
        self._take(robot)
        self._show_robot()

    def _load(self, name: str) -> None:
        # What the program gave, or a shipped robot: a page must not name files.
        if name in self._given:
            self._change_robot(self._given[name])
        elif name in robot_names():
            self._change_robot(brazo.load(name))

    def _show_axes(self, visible: bool) -> None:
        self._scene.axes_visible = visible
        self.channel.put({"view/axes": visible})

    def _run(self) -> None:
        due = 0.0  # when the next outcome may be shown
        while True:
            wait = max(0.0, due - time.monotonic()) if self._dirty else None
            try:
                wish = self._wishes.get(timeout=wait)
            except queue.Empty:
                wish = _nothing
            if wish is None:
                return
            self._carefully(wish)
            if self._dirty and time.monotonic() >= due:
                due = time.monotonic() + 1.0 / RATE
                self._carefully(self._publish)

    def _carefully(self, wish: Callable[[], None]) -> None:
        try:
            wish()
        except BrazoError as error:
            self.channel.put({"notice": str(error)})
        except Exception:  # one broken panel must not stop the others
            log.exception("the lab could not do what was asked")

    def _publish(self) -> None:
        self._dirty = False
        self._scene.place(self._frames, self.tool)
        values: dict[str, Any] = {}
        for panel in self._panels:
            values |= panel.values()
        self.channel.put(values)

    def _do(self, wish: Callable[[], None]) -> None:
        done = threading.Event()
        errors: list[BaseException] = []

        def run() -> None:
            try:
                wish()
            except BaseException as error:
                errors.append(error)
            finally:
                done.set()

        if self._stopped:
            raise BrazoError("this lab has been stopped")
        if threading.current_thread() is self._thread:
            return wish()
        self._wishes.put(run)
        while not done.wait(0.2):
            if not self._thread.is_alive():
                raise BrazoError("this lab was stopped meanwhile")
        if errors:
            raise errors[0]


def as_robot(robot: Robot | str | Path) -> Robot:
    """The robot itself, or the one that a name or a path stands for."""
    if isinstance(robot, brazo.Robot):
        return robot
    if isinstance(robot, str | Path):
        return brazo.load(robot)
    raise BrazoError(
        f"the lab cannot show a {type(robot).__name__}: give a robot (of brazo.load), "
        f"the name of a shipped one ({', '.join(robot_names())}) or the path of a robot file"
    )


def home(robot: Robot) -> np.ndarray:
    """Where a robot starts: its home, else its first named pose, else zero within its limits."""
    for name in ("home", *robot.poses):
        if name in robot.poses:
            return np.array(robot.poses[name])
    return np.clip(np.zeros(robot.n), robot.limits[:, 0], robot.limits[:, 1])


def where(robot: Robot, q: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q (n,) and, there, the bodies (b, 4, 4) and the tool (4, 4); raises if the robot has none."""
    try:
        q = np.array(q, dtype=float)
    except (TypeError, ValueError):
        raise BrazoError(f"q: {robot.name} wants {robot.n} numbers") from None
    if q.shape != (robot.n,) or not np.isfinite(q).all():
        raise BrazoError(f"q has shape {q.shape}: {robot.name} wants ({robot.n},), all finite")
    frames, tool = np.array(robot.frames(q)), np.array(robot.fk(q))
    if not (np.isfinite(frames).all() and np.isfinite(tool).all()):
        raise BrazoError(f"q: {robot.name} cannot be put together with these joint values")
    return q, frames, tool


def _open(robot: Robot, host: str, port: int, open_browser: bool) -> Lab:
    lab = Lab(robot, host, port)
    if open_browser and _has_screen():
        threading.Thread(target=webbrowser.open, args=(lab.url,), daemon=True).start()
    return lab


def _has_screen() -> bool:
    """False where only a text browser could be opened, which would take the terminal over."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


@contextlib.contextmanager
def _until_signal() -> Iterator[threading.Event]:
    """An event that Ctrl+C and SIGTERM set, in place of what they otherwise do."""
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped  # signals are the main thread's; whoever waits here is stopped with it
        return
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {s: signal.signal(s, lambda *_: stopped.set()) for s in signals}
    try:
        yield stopped
    finally:
        for s, handler in before.items():
            signal.signal(s, handler)


def _nothing() -> None:
    pass


def _say(line: str) -> None:
    if line:
        print(line, flush=True)  # noqa: T201
