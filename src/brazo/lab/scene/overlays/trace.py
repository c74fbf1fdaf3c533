"""Overlay of the tool trace: the recent path of each tool, with a limited number of points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.lab.scene.overlays.base import Overlay

if TYPE_CHECKING:
    from brazo.lab.scene.shown import Shown
    from brazo.lab.scene.snapshot import SceneSnapshot

COLORS = ((255, 193, 7), (32, 201, 151), (151, 117, 250), (255, 107, 107))
STEP = 0.002  # min distance between points, relative to the size of the cell
MOST = 1200  # max number of points
SENT_EVERY = 4  # updates


class TraceOverlay(Overlay):
    """Overlay with a line along the recent path of each tool."""

    id, title = "trace", "Tool trace"
    hint = "Recent path of each tool."

    def build(self, sim: Shown) -> None:
        from brazo.lab.scene.scene import tip_of

        scene = self.scene.server.scene
        self._traces: list[_Trace] = []
        self._time, self._count = -1.0, 0
        for k, (name, robot) in enumerate(sim.robots.items()):
            lines = scene.add_line_segments(
                f"{self.scene.root}/trace-{k}",
                np.zeros((1, 2, 3)),
                COLORS[k % len(COLORS)],
                thickness=2.5,
                thickness_units="screen",
                visible=False,
            )
            self.handles.append(lines)
            tool = np.asarray(robot.arm.model.tool)  # type: ignore[attr-defined]
            self._traces.append(
                _Trace(lines, tip_of(sim, name), tool[:, 3], STEP * self.scene.size)
            )

    def update(self, snapshot: SceneSnapshot) -> None:
        if snapshot.time < self._time:  # the simulation was reset
            for trace in self._traces:
                trace.clear()
        self._time = snapshot.time
        self._count += 1
        for trace in self._traces:
            trace.follow(snapshot.poses)
            if self._count % SENT_EVERY == 0:
                trace.send()


class _Trace:
    def __init__(self, lines: Any, tip: int, tool: np.ndarray, step: float) -> None:
        self._lines, self._tip, self._tool, self._step = lines, tip, tool, step
        self._points: list[np.ndarray] = []
        self._news = False

    def follow(self, poses: np.ndarray) -> None:
        point = (poses[self._tip] @ self._tool)[:3]
        if self._points and np.linalg.norm(point - self._points[-1]) < self._step:
            return
        self._points.append(point)
        del self._points[:-MOST]
        self._news = True

    def send(self) -> None:
        if self._news and len(self._points) > 1:
            self._news = False
            path = np.array(self._points, np.float32)
            self._lines.points = np.stack([path[:-1], path[1:]], axis=1)
            self._lines.visible = True

    def clear(self) -> None:
        self._points.clear()
        self._lines.visible = False
