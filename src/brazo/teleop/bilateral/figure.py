"""Figure that compares bilateral runs: position, force and energy over time.

The figure has one column per run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.recording.canvas import SMALL, drawing, finish, label_lines, new_figure, save, thinned
from brazo.recording.colors import BAD, COLORS, INK, SOFT
from brazo.teleop.bilateral.trace import Trace

Array = np.ndarray
MASTER, FOLLOWER, BOTH = COLORS[0], COLORS[1], INK


def figure(traces: Sequence[Trace], title: str = "") -> Any:
    """Return a matplotlib figure of one or more runs.

    Vectors are projected on the direction from the start to the farthest point of the operator's
    reference.
    """
    if not traces or any(len(trace.t) < 2 for trace in traces):
        raise BrazoError("a figure needs at least one run, and each run at least two cycles")
    with drawing():
        fig = new_figure(4.6 if title else 4.35, title, width=3.45 * max(len(traces), 2))
        axes = fig.subplots(3, len(traces), sharex="col", squeeze=False)
        for column, trace in zip(axes.T, traces, strict=True):
            _run(column, trace)
        for row in (0, 1):
            _alike(axes[row])
        for ax in axes[:, 0]:
            ax.yaxis.label.set_visible(True)
        for column, trace in zip(axes.T, traces, strict=True):
            _names(column, trace)
        return finish(fig)


def plot(traces: Sequence[Trace], path: str | Path, title: str = "") -> Path:
    """Write the figure of the runs to a .png, .svg or .pdf file; return its path."""
    return save(figure(traces, title), path)


def _direction(trace: Trace) -> Array:
    """Return the unit vector (3,) from the start to the farthest point of the operator's reference.

    The result is the z axis if the reference does not move.
    """
    goal = trace.master.goal
    farthest = goal[int(np.argmax(np.linalg.norm(goal, axis=1)))]
    length = float(np.linalg.norm(farthest))
    return farthest / length if length > 0.0 else np.array([0.0, 0.0, 1.0])


def _run(column: Any, trace: Trace) -> None:
    place, force, energy = column
    along = _direction(trace)
    line = trace.line
    delay = f"{1e3 * line.get('delay', 0.0):.0f}"
    if line.get("jitter"):
        delay += f" ± {1e3 * line['jitter']:.0f}"
    place.set_title(f"{trace.scheme}, {delay} ms one way", loc="left", fontsize=SMALL + 0.5)
    m, f = trace.master, trace.follower
    _draw(place, trace, 1e3 * m.goal @ along, SOFT, ls="--", lw=0.9)
    _draw(place, trace, 1e3 * m.x @ along, MASTER)
    _draw(place, trace, 1e3 * f.x @ along, FOLLOWER)
    _draw(force, trace, -f.outside @ along, FOLLOWER, lw=0.8)
    _draw(force, trace, -m.force @ along, MASTER)
    _draw(energy, trace, m.energy, MASTER)
    _draw(energy, trace, f.energy, FOLLOWER)
    _draw(energy, trace, trace.energy, BOTH if trace.energy.min() >= 0.0 else BAD)
    energy.axhline(0.0, color=SOFT, lw=0.6)
    # Impacts are spikes of about 1 ms and ten times as high; the axis limits cut them off.
    felt = -m.force @ along
    force.set_ylim(min(1.1 * felt.min(), -1.0), max(1.2 * felt.max(), 1.0))
    energy.set_xlabel("t [s]")
    for ax, text in ((place, "position [mm]"), (force, "force [N]"), (energy, "input energy [J]")):
        ax.set_ylabel(text)
        ax.yaxis.label.set_visible(False)


def _names(column: Any, trace: Trace) -> None:
    place, force, energy = column
    along = _direction(trace)
    m, f = trace.master, trace.follower
    end, ink = 1e3 * along, BOTH if trace.energy.min() >= 0.0 else BAD
    for ax, lines in (
        (place, (("reference", m.goal[-1] @ end, SOFT), ("master", m.x[-1] @ end, MASTER),
                 ("follower", f.x[-1] @ end, FOLLOWER))),
        (force, (("contact", -f.outside[-1] @ along, FOLLOWER),
                 ("felt", -m.force[-1] @ along, MASTER))),
        (energy, (("master", m.energy[-1], MASTER), ("follower", f.energy[-1], FOLLOWER),
                  ("total", trace.energy[-1], ink))),
    ):  # fmt: skip
        low, high = ax.get_ylim()
        label_lines(ax, [(name, float(np.clip(y, low, high)), color) for name, y, color in lines])


def _draw(ax: Any, trace: Trace, y: Array, color: str, ls: str = "-", lw: float = 1.2) -> None:
    ax.plot(*thinned(trace.t, y), color=color, ls=ls, lw=lw)


def _alike(axes: Any) -> None:
    """Set the same y limits for all axes of a row."""
    limits = np.array([ax.get_ylim() for ax in axes])
    for ax in axes:
        ax.set_ylim(limits[:, 0].min(), limits[:, 1].max())
