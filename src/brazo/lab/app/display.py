"""`Display`: shows a session on the browser pages (3D scene, clock and visible panels)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from brazo.lab.app.clock import Clock
from brazo.lab.app.opening import CELL, ROBOT, choices
from brazo.lab.app.panel import Panel
from brazo.lab.app.session import Session
from brazo.lab.scene.scene import FIELD_OF_VIEW_DEG, Scene
from brazo.lab.scene.snapshot import SceneSnapshot
from brazo.lab.scene.view import View
from brazo.lab.server.channel import PageChannel
from brazo.lab.server.notices import Notices

LOOK_EVERY = 0.25  # s, polling interval while paused: a Python program may move it
# s, min interval of scene updates of a running simulation while every page renders in software:
# such a page renders fewer frames a second than the lab could send.
SOFTWARE_EVERY = 0.05
# s, min interval of frames of a running simulation while no page renders with a graphics card.
FRAME_EVERY = 0.05


class Display:
    """Updates the browser pages when the session changes.  Use only on the lab's thread."""

    def __init__(
        self,
        session: Session,
        scene: Scene,
        view: View,
        clock: Clock,
        channel: PageChannel,
        notices: Notices,
    ) -> None:
        self._session, self._scene, self._view, self._clock = session, scene, view, clock
        self._channel, self._notices = channel, notices
        self.panels: Mapping[str, Panel] = {}
        self._due: dict[str, float] = {}
        self._pending: set[str] = set()
        self._shown_at = (-1.0, -1, False)  # time, version and running flag of the last frame
        self._dirty = True
        self._undrawn = False  # whether the scene has yet to show the last frame
        self._draw_due = 0.0  # monotonic time, s
        self._frame_due = 0.0  # earliest next frame of a running simulation (monotonic time, s)
        channel.put({"choices": choices(), "view/fov": FIELD_OF_VIEW_DEG})
        channel.on("panels-shown", self._panels_shown, list, free=True)
        channel.on("software-rendering", self._software_rendering, bool, free=True)
        channel.allows = self._is_allowed

    def show(self, panels: list[Panel]) -> None:
        """Show the given panels and the open cell; called once, when the lab starts."""
        self.panels = {panel.id: panel for panel in panels}
        self._due = dict.fromkeys(self.panels, 0.0)
        self._pending = set(self.panels)
        self.cell_opened()

    @property
    def shown_panels(self) -> list[Panel]:
        """The panels that are available for the open simulation or replay.

        The attributes `used_for` and `needs_robot` of a panel determine when it is available.
        """
        kind = "cell" if self._session.replay is None else "replay"
        robots = bool(self._session.shown.robots)
        return [
            panel
            for panel in self.panels.values()
            if kind in panel.used_for and (robots or not panel.needs_robot)
        ]

    def each_panel(self, call: Callable[[Panel], Any]) -> None:
        """Call `call(panel)` for every panel, including hidden ones; show errors to the user."""
        for panel in self.panels.values():
            self._notices.guard(lambda panel=panel: call(panel))

    # ---- changes ---------------------------------------------------------------------------

    def changed(self) -> None:
        """Request a complete update of the pages with the next frame."""
        self._dirty = True

    def cell_opened(self) -> None:
        session, sim, replay = self._session, self._session.shown, self._session.replay
        self._draw()
        self._clock.restart()
        self._channel.put(  # in one message, so that a page never mixes two cells
            {
                **self._scene_values(),
                "panels": [panel.description() for panel in self.shown_panels],
                "cell": sim.cell.name,
                "about": sim.cell.about if replay is None else f"Replay of {replay.path}",
                "source": _shipped_as(sim.cell) if replay is None else replay.title,
                "replay": replay is not None,
                "robots": list(sim.robots),
                "selection/robot": session.selection.robot,
                "selection/joint": -1,
            }
        )
        self._simulation_changed()
        self._dirty = True

    def cell_edited(self) -> None:
        self._clock.restart()
        self._draw()
        selection = self._session.selection
        self._channel.put(
            {
                "view/kept": self._scene.root,
                **self._scene_values(),
                "panels": [panel.description() for panel in self.shown_panels],
                "robots": list(self._session.shown.robots),
                "selection/robot": selection.robot,
            }
        )
        self._simulation_changed()

    def selection_changed(self) -> None:
        selection = self._session.selection
        self._highlight()
        joint = -1 if selection.joint is None else selection.joint
        self._channel.put({"selection/robot": selection.robot, "selection/joint": joint})
        for panel in self.shown_panels:
            self._notices.guard(panel.selection_changed)

    def clicked(self, drawn: int, shift: bool = False) -> None:
        """Handle a click on the object `world.drawn[drawn]` in the 3D scene.

        `shift` is true if the Shift key was held.  A click on a robot link selects the robot and
        the joint that moves the link, unless a panel handles the click.  A click on any other
        object selects that object.  A second click on the same link or object deselects the joint
        or the object.
        """
        shown = self._session.shown
        if drawn >= len(shown.world.drawn):
            return  # a click in a cell shown before
        if shown.world.drawn[drawn].kind != "robot":
            name = shown.world.drawn[drawn].name
            self._session.select_element("" if self._session.selection.element == name else name)
            return
        robot, joint = self._view.link_of(shown, drawn)
        if joint is not None and any(
            panel.clicked(robot, joint, shift) for panel in self.shown_panels
        ):
            return
        before = self._session.selection
        again = before.robot == robot and before.joint == joint
        self._session.select(robot, -1 if joint is None or again else joint)

    # ---- frames ----------------------------------------------------------------------------

    def wait(self, due: float) -> float:
        """Return the time (s) to wait before the next call of `frame`.

        `due` is the earliest time of the next frame (monotonic clock, s).
        """
        running = self._session.shown.player.running
        if self._dirty or self._late() or (self._undrawn and not running):
            return max(0.0, due - time.monotonic())
        return max(0.0, max(due, self._frame_due) - time.monotonic()) if running else LOOK_EVERY

    def frame(self) -> None:
        """Send the changes since the last frame to the pages."""
        sim = self._session.shown
        # The running flag detects a simulation stopped by an error, whose time no longer changes.
        now = (sim.time, self._session.version, sim.player.running)
        early = sim.player.running and time.monotonic() < self._frame_due
        changed = self._dirty or (now != self._shown_at and not early)
        if not changed and not self._undrawn and not self._late():
            return
        if changed:
            if self._dirty or not sim.player.running:
                self._draw_due = 0.0
            self._shown_at, self._dirty, self._undrawn = now, False, True
            self._frame_due = time.monotonic() + FRAME_EVERY if self._all_software() else 0.0
            self._pending = {panel.id for panel in self.shown_panels}
            snapshot = SceneSnapshot.of(sim)
            self._draw_state(snapshot)
            self._clock.update(snapshot)
            with sim.lock:
                for panel in self.shown_panels:
                    self._notices.guard(panel.follow)
        elif self._undrawn:
            self._draw_state(SceneSnapshot.of(sim))
        for panel in self._late():
            self._pending.discard(panel.id)
            self._due[panel.id] = time.monotonic() + 1.0 / panel.rate
            self._notices.guard(lambda panel=panel: self.ask(panel))

    def ask(self, panel: Panel) -> None:
        """Read the current values of a panel and send them to the pages."""
        with self._session.shown.lock:  # all values are read from one state
            values = panel.values()
        panel.put(values)

    def _late(self) -> list[Panel]:
        """Visible panels that do not show the current state yet and are due for an update."""
        if not self._pending:
            return []
        in_view = frozenset().union(*(page.shown for page in self._channel.pages))
        now = time.monotonic()
        return [self.panels[p] for p in self._pending & in_view if now >= self._due[p]]

    # ---- helpers ---------------------------------------------------------------------------

    def _draw_state(self, snapshot: SceneSnapshot) -> None:
        """Draw the bodies and overlays of a snapshot in the scene.

        Does nothing if the minimum interval since the last update has not passed.
        """
        now = time.monotonic()
        if now < self._draw_due:
            return
        software = bool(self._channel.pages) and self._all_software()
        self._undrawn, self._draw_due = False, now + SOFTWARE_EVERY if software else 0.0
        self._notices.guard(lambda: self._scene.place(snapshot.poses))
        self._view.update(snapshot)

    def _all_software(self) -> bool:
        """Return whether no connected page renders with a graphics card."""
        return all(page.software for page in self._channel.pages)

    def _draw(self) -> None:
        sim = self._session.shown
        self._scene.show(sim)
        self._view.rebuilt(sim)
        self._highlight()

    def _highlight(self) -> None:
        selection = self._session.selection
        self._view.highlight(
            self._session.shown, selection.robot, selection.joint, selection.element
        )

    def _simulation_changed(self) -> None:
        for panel in self.shown_panels:
            self._notices.guard(panel.simulation_changed)

    def _scene_values(self) -> dict[str, Any]:
        return {
            "view/root": self._scene.root,  # the page frames the view when this changes
            "view/parts": self._scene.part_count,
            "view/tools": self._scene.tools,
        }

    def _is_allowed(self, event: str) -> bool:
        """Whether an event may be handled: False if its panel is not available now, else True."""
        panel = self.panels.get(event.partition("/")[0])
        return panel is None or panel in self.shown_panels

    def _panels_shown(self, panels: list[Any]) -> None:
        page = self._channel.page
        if page is not None:
            page.shown = frozenset(p for p in panels if isinstance(p, str) and p in self.panels)

    def _software_rendering(self, software: bool) -> None:
        if self._channel.page is not None:
            self._channel.page.software = software


def _shipped_as(cell: Any) -> str:
    """Return `cell:NAME` or `robot:NAME` for a shipped cell or robot, else the cell's name."""
    shipped = choices()
    if cell.path is not None and cell.path.stem == cell.name and "library" in cell.path.parts:
        if cell.path.parent.name == "cells" and cell.name in shipped["cells"]:
            return f"{CELL}{cell.name}"
        if cell.path.parent.name == "robots" and cell.name in shipped["robots"]:
            return f"{ROBOT}{cell.name}"
    return cell.name
