"""Scope: path of a tool in a plane with its reference, a time cursor and error statistics.

The errors are those of `brazo.recording.metrics`: the distance of tool and reference at the same
time.  If the reference moves, path accuracy and repeatability of `brazo.recording.accuracy` are
added.  These two quantities have the names of ISO 9283; conformity is not claimed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.recording.accuracy import PathAccuracy, path_accuracy, robot_of
from brazo.recording.canvas import FONT, SMALL, WIDTH, drawing, finish, new_figure, save
from brazo.recording.colors import BAD, COLORS, SOFT
from brazo.recording.metrics import peak, rms, tool_error
from brazo.recording.paths import xyz
from brazo.recording.recording import Recording
from brazo.recording.robots import RecordedRobot

PLANES = ("xy", "xz", "yz")
ALL = "all"
NOTE = "Names as in ISO 9283; no conformity is claimed."
POINTS = 4000  # max points of a path
PAST = 0.35  # opacity of the path after the cursor


@dataclass(frozen=True, slots=True)
class ScopeStatistics:
    """Position errors of the tool in m; NaN where undefined."""

    rms_error: float  # of the distance between tool and reference at the same time
    max_error: float
    accuracy: PathAccuracy | None  # None if the reference does not move or was not recorded

    def texts(self) -> list[tuple[str, str]]:
        """Return names and values with units; undefined values are omitted."""
        found = [("RMS error", self.rms_error, "mm"), ("Max error", self.max_error, "mm")]
        if self.accuracy is not None:
            one = self.accuracy
            found += [
                ("Path accuracy AT_p", one.path_accuracy, "mm"),
                ("Path repeatability RT_p", one.path_repeatability, "mm"),
                ("Position overshoot OV", one.overshoot, "mm"),
                ("Stabilization time", one.stabilization_time, "s"),
            ]
        return [
            (name, f"{1e3 * value:.3f} mm" if unit == "mm" else f"{value:.3f} s")
            for name, value, unit in found
            if math.isfinite(value)
        ]


def scope_statistics(recording: Recording, robot: str | None = None) -> ScopeStatistics:
    """Return the errors of a robot's tool relative to its reference.

    RMS and max error are over the whole recording, `accuracy` over the motion (`path_accuracy`).
    The errors are NaN if the reference was not recorded.
    """
    chosen = robot_of(recording, robot)
    error = tool_error(chosen)
    if error is None:
        return ScopeStatistics(math.nan, math.nan, None)
    size = np.linalg.norm(error, axis=1)
    try:
        accuracy = path_accuracy(recording, robot=chosen.title)
    except BrazoError:  # the reference does not move
        accuracy = None
    return ScopeStatistics(float(rms(size)), float(peak(size)), accuracy)


def scope_figure(
    recording: Recording,
    plane: str = "xy",
    robot: str | None = None,
    time: float | None = None,
    title: str = "",
) -> Any:
    """Return the matplotlib figure of a tool's path in a plane (xy, xz, yz, or all of them).

    The reference is grey, and the error statistics are listed beside the path.  If `time` (s) is
    given, a cursor marks the tool and its reference at this time, and the later path is pale.
    """
    planes = PLANES if plane == ALL else (plane,)
    if not set(planes) <= set(PLANES):
        raise BrazoError(f"unknown plane '{plane}'; choose {', '.join(PLANES)} or {ALL}")
    chosen = robot_of(recording, robot)
    if not chosen.has_tool:
        raise BrazoError(f"robot '{chosen.title}': no tool signals in this recording")
    if not len(recording):
        raise BrazoError("the recording has no rows")
    t = recording.t
    if time is not None and not t[0] <= time <= t[-1]:
        raise BrazoError(f"time {time:g} s: the recording covers {t[0]:g} s to {t[-1]:g} s")
    tool = 1e3 * xyz(recording, chosen.prefix("tool"))
    reference = _reference(chosen)
    rows = scope_statistics(recording, chosen.title).texts()
    with drawing():
        fig = new_figure(3.6 if len(planes) == 1 else 2.9, title, WIDTH)
        axes = fig.subplots(
            1,
            len(planes) + 1,
            width_ratios=[*[1.0] * len(planes), 0.42 if len(planes) == 1 else 0.9],
        )
        for ax, (first, second) in zip(axes[:-1], planes, strict=True):
            i, j = "xyz".index(first), "xyz".index(second)
            _path(ax, t, tool[:, [i, j]], _columns(reference, i, j), time)
            ax.set_xlabel(f"{first} [mm]", fontsize=FONT)
            ax.set_ylabel(f"{second} [mm]", fontsize=FONT)
        axes[-1].axis("off")
        lines = [f"{name}\n{text}" for name, text in rows]
        head = chosen.title if time is None else f"{chosen.title}\nt = {time:.3f} s"
        axes[-1].text(
            0.0, 1.0, "\n\n".join([head, *lines]), va="top", fontsize=SMALL + 0.5,
            transform=axes[-1].transAxes,
        )  # fmt: skip
        legend = "line: tool, grey: reference" if reference is not None else "line: tool"
        note = f"{legend}. {NOTE}" if len(rows) > 2 else f"{legend}."
        axes[0].set_title(note, loc="left", fontsize=SMALL, color=SOFT, pad=4).set_in_layout(False)
        return finish(fig)


def plot_scope(
    recording: Recording,
    path: str | Path | None = None,
    plane: str = "xy",
    *,
    robot: str | None = None,
    time: float | None = None,
    title: str = "",
) -> Any:
    """Plot the path of a tool in a plane with its reference; return the matplotlib figure.

    Parameters
    ----------
    recording : recording with the signals `R.tool`, and `R.tool_ref` for the reference.
    path : the figure is also written to this file: .png, .svg or .pdf.
    plane : xy, xz, yz, or all.
    robot : name of the robot; default: the first one.
    time : time (s) of the cursor; default: no cursor.
    """
    drawn = scope_figure(recording, plane, robot, time, title)
    if path is not None:
        save(drawn, path)
    return drawn


def _reference(robot: RecordedRobot) -> np.ndarray | None:
    error = tool_error(robot)
    return None if error is None else 1e3 * xyz(robot.recording, robot.prefix("tool_ref"))


def _columns(points: np.ndarray | None, i: int, j: int) -> np.ndarray | None:
    return None if points is None else points[:, [i, j]]


def _path(
    ax: Any, t: np.ndarray, tool: np.ndarray, reference: np.ndarray | None, time: float | None
) -> None:
    step = max(1, len(t) // POINTS)
    if reference is not None:
        ax.plot(*reference[::step].T, color="#9aa3af", lw=3.2, alpha=0.6, zorder=1.5)
    past = t <= (math.inf if time is None else time)
    ax.plot(*tool[past][::step].T, color=COLORS[0], lw=1.2, zorder=2)
    if time is not None:
        ax.plot(*tool[~past][::step].T, color=COLORS[0], lw=1.0, alpha=PAST, zorder=1.8)
        row = int(np.searchsorted(t, time).clip(0, len(t) - 1))
        if reference is not None:
            ax.plot(*reference[row], marker="+", ms=9, mew=1.4, color=SOFT, ls="", zorder=3)
        ax.plot(*tool[row], marker="o", ms=5, color=BAD, ls="", zorder=4)
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.08)
