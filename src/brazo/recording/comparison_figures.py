"""Figures of a comparison: one colour for each run, references in grey.

The overview shows the tool path, the distance of the tool from its reference, and the tracking
error of each joint, or the position of each joint if no run has tracking errors.  An overlay has
one axis for each signal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.errors import BrazoError
from brazo.recording.canvas import FONT, SMALL, drawing, finish, new_figure, thinned, widen
from brazo.recording.colors import COLORS
from brazo.recording.comparison import TOOL_ERROR
from brazo.recording.display import display_unit

if TYPE_CHECKING:
    from brazo.recording.comparison import ComparedRun, Comparison

MOST_AXES = 24
MOVED = 1e-4  # m; a shorter tool path is not drawn
POINTS = 4000  # max points of a path
GREY = "#9aa3af"
ROW = 1.2  # inches, height of an axis


def color_of(k: int) -> str:
    """Return the colour of run number k."""
    return COLORS[k % len(COLORS)]


def overview_figure(comparison: Comparison, title: str = "") -> Any:
    """Return the figure of tool path, tool error and tracking error of each joint.

    Without tracking errors, the positions of the joints are shown instead.
    """
    signals = comparison.signals
    errors = [name for name in signals if name.startswith("error.")]
    if not errors:
        errors = [name for name in signals if name.startswith("q.")]
    path = _plane(comparison)
    tool = TOOL_ERROR in signals
    rows = -(-len(errors) // 2)
    top = bool(path or tool)
    heights = ([2.4] if top else []) + [ROW] * rows
    with drawing():
        fig = new_figure(sum(heights) + 0.75 + (0.25 if title else 0.0), title)
        grid = fig.add_gridspec(len(heights), 2, height_ratios=heights)
        grey = False
        if path:
            ax = fig.add_subplot(grid[0, 0] if tool else grid[0, :])
            grey |= _draw_xy(ax, comparison, f"tool.{path[0]}", f"tool.{path[1]}")
        if tool:
            ax = fig.add_subplot(grid[0, 1] if path else grid[0, :])
            grey |= _draw_signal(ax, comparison, TOOL_ERROR)
            ax.set_xlabel("t [s]")
        for k, name in enumerate(errors):
            ax = fig.add_subplot(grid[top + k // 2, k % 2])
            grey |= _draw_signal(ax, comparison, name)
            if k + 2 >= len(errors):
                ax.set_xlabel("t [s]")
        _legend(fig, comparison, grey)
        return finish(fig)


def overlay_figure(comparison: Comparison, signals: Sequence[str], title: str = "") -> Any:
    """Return a figure with one axis per signal, over time since the start of the motion."""
    if len(signals) > MOST_AXES:
        raise BrazoError(f"{len(signals)} signals; at most {MOST_AXES} fit in one figure")
    columns = 1 if len(signals) < 4 else 2
    rows = -(-len(signals) // columns)
    with drawing():
        height = (1.9 if columns == 1 else ROW) * rows + 0.75 + (0.25 if title else 0.0)
        fig = new_figure(height, title)
        grid = fig.add_gridspec(rows, columns)
        grey = False
        for k, name in enumerate(signals):
            ax = fig.add_subplot(grid[k // columns, k % columns])
            grey |= _draw_signal(ax, comparison, name)
            if k + columns >= len(signals):
                ax.set_xlabel("t [s]")
        _legend(fig, comparison, grey)
        return finish(fig)


def xy_figure(comparison: Comparison, x: str, y: str, title: str = "") -> Any:
    """Return the figure of one signal over another."""
    with drawing():
        fig = new_figure(4.4 + (0.25 if title else 0.0), title)
        grey = _draw_xy(fig.subplots(), comparison, x, y)
        _legend(fig, comparison, grey)
        return finish(fig)


def reference_of(run: ComparedRun, signal: str) -> str | None:
    """Return the name of the signal's reference in a run; None if no reference was recorded."""
    group, dot, rest = signal.partition(".")
    name = f"{group}_ref{dot}{rest}"
    return name if group in ("q", "qd", "qdd", "tool") and name in run.signals else None


def _draw_signal(ax: Any, comparison: Comparison, signal: str) -> bool:
    """Draw a signal of all runs; return whether a reference was drawn."""
    found = [(k, run) for k, run in enumerate(comparison.runs) if signal in run.signals]
    largest = max(float(np.fmax.reduce(np.abs(r.values(signal)), initial=0.0)) for _, r in found)
    unit, factor = display_unit(found[0][1].signals[signal], largest)
    shown = False
    for k, run in found:
        reference = reference_of(run, signal)
        if reference is not None and not shown:
            ax.plot(*thinned(run.t, factor * run.values(reference)), color=GREY, lw=2.6, zorder=1.5)
            shown = True
        ax.plot(*thinned(run.t, factor * run.values(signal)), color=color_of(k), lw=1.1, zorder=2)
    ax.set_xlim(0.0, max(comparison.end, 1e-3))
    widen(ax)
    ax.set_title(title_of(signal), loc="left", fontsize=SMALL + 0.5, weight="bold", pad=3)
    ax.set_ylabel(f"[{unit}]" if unit else "")
    return shown


def _draw_xy(ax: Any, comparison: Comparison, x: str, y: str) -> bool:
    """Draw one signal over another for all runs; return whether a reference was drawn."""
    found = [
        (k, run) for k, run in enumerate(comparison.runs) if x in run.signals and y in run.signals
    ]
    if not found:
        raise BrazoError(f"no run has both '{x}' and '{y}'")
    units = [display_unit(comparison.signals[name]) for name in (x, y)]
    shown = False
    for k, run in found:
        inside = np.flatnonzero((run.t >= 0.0) & (run.t <= comparison.end))
        rows = inside[:: max(1, len(inside) // POINTS)]
        references = reference_of(run, x), reference_of(run, y)
        if all(references) and not shown:
            pair = [
                f * run.values(str(r))[rows] for r, (_, f) in zip(references, units, strict=True)
            ]
            ax.plot(*pair, color=GREY, lw=2.6, zorder=1.5)
            shown = True
        pair = [f * run.values(name)[rows] for name, (_, f) in zip((x, y), units, strict=True)]
        ax.plot(*pair, color=color_of(k), lw=1.1, zorder=2)
    ax.margins(0.06)
    if units[0] == units[1]:
        ax.set_aspect("equal", adjustable="datalim")
    (unit_x, _), (unit_y, _) = units
    ax.set_xlabel(f"{title_of(x)} [{unit_x}]" if unit_x else title_of(x), fontsize=FONT)
    ax.set_ylabel(f"{title_of(y)} [{unit_y}]" if unit_y else title_of(y), fontsize=FONT)
    return shown


def _legend(fig: Any, comparison: Comparison, grey: bool) -> None:
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], color=GREY, lw=2.6, label="reference")] if grey else []
    lines += [
        Line2D([], [], color=color_of(k), lw=1.6, label=run.name)
        for k, run in enumerate(comparison.runs)
    ]
    columns = min(len(lines), 4)
    fig.legend(handles=lines, loc="outside upper left", ncols=columns, frameon=False, fontsize=FONT)


def _plane(comparison: Comparison) -> str:
    """Return the two axes along which the tool path has the largest extent, sorted, e.g. "xz".

    The result is empty if no tool path was recorded or its extent is below `MOVED`.
    """
    extents = {}
    for axis in "xyz":
        name = f"tool.{axis}"
        values = [run.values(name) for run in comparison.runs if name in run.signals]
        if not values:
            return ""
        extents[axis] = max(float(np.nan_to_num(np.ptp(v))) for v in values)
    if max(extents.values()) < MOVED:
        return ""
    return "".join(sorted(sorted(extents, key=lambda axis: extents[axis])[1:]))


_GROUPS = {
    "q": "position",
    "qd": "velocity",
    "qdd": "acceleration",
    "q_ref": "reference position",
    "qd_ref": "reference velocity",
    "qdd_ref": "reference acceleration",
    "error": "tracking error",
    "torque": "torque",
    "external": "external torque",
    "measured": "encoder",
}


def title_of(signal: str) -> str:
    """Return the title of a signal of a robot, e.g. `elbow: tracking error` or `tool x`."""
    if signal == TOOL_ERROR:
        return "tool: tracking error"
    group, _, rest = signal.partition(".")
    if group in _GROUPS and rest:
        return f"{rest}: {_GROUPS[group]}"
    if group == "tool_ref":
        return f"tool reference {rest}"
    return signal.replace(".", " ")
