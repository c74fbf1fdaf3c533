"""Scope section of the data panel: actual and reference tool path, projected onto a plane.

The paths are those of the selected robot.  A live plot covers the last `TRAIL` seconds.  For a
recording, the plot covers the whole path and has a cursor at the current replay time.  The error
statistics cover the same time span as the plot.
"""

from __future__ import annotations

import math
import time
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.lab.app.replay import RecordingReplay
from brazo.lab.panels.common.feeds import columns_of
from brazo.lab.panels.common.html import column, note, section, segments, table
from brazo.recording.recording import Recording
from brazo.recording.scope import NOTE, PLANES, scope_statistics

if TYPE_CHECKING:
    from brazo.lab.app.panel import Panel, Values

TRAIL = 10.0  # s
POINTS = 300  # max points of a live path sent to a page
RECORDED_POINTS = 2000  # of the path of a recording
RATE = 6.0  # Hz, of the live path
STATISTICS_EVERY = 1.0  # s
REFERENCE = 4  # colour index of references
ROWS = 3000  # the statistics use at most this many rows of a recording
_keys = count(1)


class Scope:
    """Plot of the tool path in a plane, with error statistics.  Use on the lab's thread only."""

    def __init__(self, panel: Panel) -> None:
        self._panel = panel
        self._live = panel.context.live
        self._plane = "xy"
        self._key = 0
        self._shown: tuple[Any, ...] = ()  # what the page has
        self._sent = self._measured = -np.inf  # s, of the monotonic clock
        self._path = np.empty((0, 5))  # of a recording: t, tool, reference
        self._rows: list[dict[str, str]] = []
        panel.on("scope-plane", self._set_plane, str)

    def html(self) -> str:
        """HTML of the section."""
        return section(
            "Scope",
            segments("scope-plane", {one: one.upper() for one in PLANES}, label="Plane"),
            '<brazo-xy name="scope" label="Scope" height="280" empty="No motion yet."></brazo-xy>',
            table(
                "scope-errors",
                [column("name", "Tool error"), column("value", "", digits=3)],
                label="Tool error",
                empty="No reference yet.",
            ),
            note(f"Tool path of the selected robot; the reference is dashed. {NOTE}"),
            id="scope",
        )

    def changed(self) -> None:
        """Redraw the plot and update the statistics in the next call of `values`.

        Call after the simulation, the selected robot or the plane changed.
        """
        self._shown, self._sent, self._measured = (), -np.inf, -np.inf
        self._path, self._rows = np.empty((0, 5)), []

    def values(self) -> Values:
        """Page values of the section, as a part of the result of `Panel.values`."""
        found: Values = {"scope-plane": self._plane, "scope-errors": self._rows}
        shown, robot = self._panel.session.shown, self._panel.session.selection.robot
        names = self._names(robot)
        if not names:
            return found | {"scope": None}
        if isinstance(shown, RecordingReplay):
            return found | self._replayed(shown, robot, names)
        now = time.monotonic()
        live = self._live
        if live.end == live.first or now < self._sent + 1.0 / RATE:
            return found
        self._sent = now
        state = (robot, self._plane, live.epoch, live.end)
        if state == self._shown:
            return found
        self._shown = state
        if now >= self._measured + STATISTICS_EVERY:
            self._measured = now
            self._measure(robot, live.window(TRAIL, self._columns(robot)))
        path = 1.0 * live.window(TRAIL, ["t", *names])
        return found | self._drawn(path, POINTS, seek="") | {"scope-errors": self._rows}

    def _set_plane(self, plane: str) -> None:
        if plane in PLANES:
            self._plane = plane
            rows = self._rows
            self.changed()
            self._rows = rows  # they do not depend on the plane

    def _replayed(self, replay: RecordingReplay, robot: str, names: list[str]) -> Values:
        found: Values = {}
        state = (robot, self._plane)
        if state != self._shown:
            self._shown = state
            self._path = replay.table([replay.time_name, *names])
            if not self._rows:
                rows = slice(None, None, max(1, math.ceil(replay.rows / ROWS)))
                wanted = [replay.time_name, *self._columns(robot)[1:]]
                self._measure(robot, replay.table(wanted, rows))
            found = self._drawn(self._path, RECORDED_POINTS, seek="replay/seek")
        row = self._path[replay.row]
        return found | {"scope-errors": self._rows} | self._now(row)

    def _names(self, robot: str) -> list[str]:
        """Signal names of the tool position in the plane, then of its reference if recorded.

        Empty if there is no tool position.
        """
        shown = self._panel.session.shown
        columns = shown.columns if isinstance(shown, RecordingReplay) else self._live.columns
        tool = [f"{robot}.tool.{axis}" for axis in self._plane]
        reference = [f"{robot}.tool_ref.{axis}" for axis in self._plane]
        if not all(one in columns for one in tool):
            return []
        return tool + (reference if all(one in columns for one in reference) else [])

    def _columns(self, robot: str) -> list[str]:
        """Names of the signals that the statistics need; the first is the time."""
        shown = self._panel.session.shown
        columns = shown.columns if isinstance(shown, RecordingReplay) else self._live.columns
        groups = tuple(f"{robot}.{group}." for group in ("q", "q_ref", "tool", "tool_ref"))
        return ["t", *(name for name in columns if name.startswith(groups))]

    def _measure(self, robot: str, rows: np.ndarray) -> None:
        names = self._columns(robot)
        columns = {name: (rows[:, k], "") for k, name in enumerate(names)}
        if len(rows) < 3:
            self._rows = []
            return
        texts = scope_statistics(Recording(columns), robot).texts()
        self._rows = [{"id": name, "name": name, "value": value} for name, value in texts]

    def _drawn(self, path: np.ndarray, most: int, seek: str) -> Values:
        """Page values that draw a path in mm, reduced to at most `most` points.

        The columns of `path` (rows, 3 or 5) are the time, two tool coordinates and, optionally, two
        reference coordinates (m).  `seek` is the event that a click on the path sends.
        """
        self._key = next(_keys)
        step = max(1, -(-len(path) // most))
        # The last row is always sent: it is where the tool is.
        rows = path[(len(path) - 1) % step :: step]
        lines, data = [], []
        for k in range(1, path.shape[1], 2):
            of_tool = k == 1
            lines.insert(0, _line(of_tool))
            data.insert(0, columns_of(rows[:, [0, k, k + 1]] * [1.0, 1e3, 1e3]))
        axes = [{"label": axis, "unit": "mm"} for axis in self._plane]
        message = {
            "key": self._key,
            "x": axes[0],
            "y": axes[1],
            "equal": True,
            "seek": seek,
            "lines": lines,
            "data": data,
        }
        return {"scope": message} | self._now(path[-1])

    def _now(self, row: np.ndarray) -> Values:
        points: list[list[float] | None] = []
        for k in range(1, len(row), 2):
            point = 1e3 * row[k : k + 2]
            known = np.isfinite(point).all()
            points.insert(0, [float(f"{v:.6g}") for v in point] if known else None)
        return {"scope/now": {"key": self._key, "points": points}}


def _line(of_tool: bool) -> dict[str, Any]:
    if of_tool:
        return {"label": "tool", "unit": "", "dashed": False, "color": 0}
    return {"label": "reference", "unit": "", "dashed": True, "color": REFERENCE}
