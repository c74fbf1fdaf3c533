"""Shows a session on the pages: the scene, the bar of the clock, and the panels in view."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from brazo.lab.app.clock import Clock
from brazo.lab.app.opening import CELL, ROBOT, choices
from brazo.lab.app.panel import Panel
from brazo.lab.app.session import Session
from brazo.lab.scene.scene import FIELD_OF_VIEW_DEG, Scene
from brazo.lab.scene.snapshot import Snapshot
from brazo.lab.scene.view import View
from brazo.lab.server.channel import Channel
from brazo.lab.server.notices import Notices

LOOK_EVERY = 0.25  # s between looks at a simulation that is paused: a program may move it


class Display:
    """Follows a session; on the lab's thread."""

    def __init__(
        self,
        session: Session,
        scene: Scene,
        view: View,
        clock: Clock,
        channel: Channel,
        notices: Notices,
    ) -> None:
        self._session, self._scene, self._view, self._clock = session, scene, view, clock
        self._channel, self._notices = channel, notices
        self.panels: Mapping[str, Panel] = {}
        self._due: dict[str, float] = {}
        self._pending: set[str] = set()
        self._shown_at = (-1.0, -1, False)  # of the simulation last shown: time, version, running
        self._dirty = True
        channel.put({"choices": choices(), "view/fov": FIELD_OF_VIEW_DEG})
        channel.on("panels-shown", self._panels_shown, list, free=True)
        channel.allows = self._has_place

    def show(self, panels: list[Panel]) -> None:
        """Begin, with these panels."""
        self.panels = {panel.id: panel for panel in panels}
        self._due = dict.fromkeys(self.panels, 0.0)
        self._pending = set(self.panels)
        self.cell_opened()

    @property
    def shown_panels(self) -> list[Panel]:
        """The panels that have a use now: some need something to drive, one a recording."""
        kind = "cell" if self._session.replay is None else "replay"
        return [panel for panel in self.panels.values() if kind in panel.used_for]

    def each_panel(self, call: Callable[[Panel], Any]) -> None:
        """Call something for every panel, whether it is shown or not."""
        for panel in self.panels.values():
            self._notices.guard(lambda panel=panel: call(panel))

    # ---- what changes ----------------------------------------------------------------------

    def changed(self) -> None:
        """Something may have changed: the next frame shows everything."""
        self._dirty = True

    def cell_opened(self) -> None:
        session, sim, replay = self._session, self._session.shown, self._session.replay
        self._draw()
        self._clock.restart()
        self._channel.put(  # at once: a page must not frame one cell under the name of another
            {
                **self._scene_values(),
                "panels": [panel.told() for panel in self.shown_panels],
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
        self._channel.put({"view/kept": self._scene.root, **self._scene_values()})
        self._simulation_changed()

    def selection_changed(self) -> None:
        selection = self._session.selection
        self._view.highlight(self._session.shown, selection.robot, selection.joint)
        joint = -1 if selection.joint is None else selection.joint
        self._channel.put({"selection/robot": selection.robot, "selection/joint": joint})
        for panel in self.shown_panels:
            self._notices.guard(panel.selection_changed)

    def clicked(self, drawn: int, shift: bool = False) -> None:
        """A link was clicked: a panel that wants the click has it, else its joint is selected.

        A click on what is selected selects nothing.
        """
        link = self._view.link_of(self._session.shown, drawn)
        if link is None:
            return
        robot, joint = link
        if joint is not None and any(
            panel.clicked(robot, joint, shift) for panel in self.shown_panels
        ):
            return
        before = self._session.selection
        again = before.robot == robot and before.joint == joint
        self._session.select(robot, -1 if joint is None or again else joint)

    # ---- frames ----------------------------------------------------------------------------

    def wait(self, due: float) -> float:
        """How long nothing has to be shown (s), the next frame being allowed at `due`."""
        awake = self._dirty or self._session.shown.player.running or self._late()
        return max(0.0, due - time.monotonic()) if awake else LOOK_EVERY

    def frame(self) -> None:
        """Show what changed since the last frame."""
        sim = self._session.shown
        # Whether it runs counts: one that broke down does not change its time any more.
        now = (sim.time, self._session.version, sim.player.running)
        if now == self._shown_at and not self._dirty and not self._late():
            return
        if now != self._shown_at or self._dirty:
            self._shown_at, self._dirty = now, False
            self._pending = {panel.id for panel in self.shown_panels}
            snapshot = Snapshot.of(sim)
            self._notices.guard(lambda: self._scene.place(snapshot.poses))
            self._view.update(snapshot)
            self._clock.update(snapshot)
            with sim.lock:
                for panel in self.shown_panels:
                    self._notices.guard(panel.follow)
        for panel in self._late():
            self._pending.discard(panel.id)
            self._due[panel.id] = time.monotonic() + 1.0 / panel.rate
            self._notices.guard(lambda panel=panel: self.ask(panel))

    def ask(self, panel: Panel) -> None:
        """Show the present values of a panel."""
        with self._session.shown.lock:  # what it reads belongs to one state
            values = panel.values()
        panel.put(values)

    def _late(self) -> list[Panel]:
        """The panels in view that have not shown the present state and may do so now."""
        if not self._pending:
            return []
        in_view = frozenset().union(*(page.shown for page in self._channel.pages))
        now = time.monotonic()
        return [self.panels[p] for p in self._pending & in_view if now >= self._due[p]]

    # ---- inside ----------------------------------------------------------------------------

    def _draw(self) -> None:
        sim, selection = self._session.shown, self._session.selection
        self._scene.show(sim)
        self._view.rebuilt(sim)
        self._view.highlight(sim, selection.robot, selection.joint)

    def _simulation_changed(self) -> None:
        for panel in self.shown_panels:
            self._notices.guard(panel.simulation_changed)

    def _scene_values(self) -> dict[str, Any]:
        return {
            "view/root": self._scene.root,  # a new one tells a page to frame what it sees
            "view/parts": self._scene.part_count,
            "view/tools": self._scene.tools,
        }

    def _has_place(self, event: str) -> bool:
        """Whether an event may be acted on: those of panels without a use now may not."""
        panel = self.panels.get(event.partition("/")[0])
        return panel is None or panel in self.shown_panels

    def _panels_shown(self, panels: list[Any]) -> None:
        page = self._channel.page
        if page is not None:
            page.shown = frozenset(p for p in panels if isinstance(p, str) and p in self.panels)


def _shipped_as(cell: Any) -> str:
    """What a cell is called in the list of shipped ones; its name alone if it is not."""
    shipped = choices()
    if cell.path is not None and cell.path.stem == cell.name and "library" in cell.path.parts:
        if cell.path.parent.name == "cells" and cell.name in shipped["cells"]:
            return f"{CELL}{cell.name}"
        if cell.path.parent.name == "robots" and cell.name in shipped["robots"]:
            return f"{ROBOT}{cell.name}"
    return cell.name
