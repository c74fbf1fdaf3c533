"""Plots of tool and body paths: top view and side view with the same scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from brazo.recording.canvas import FONT, SMALL, WIDTH, drawing, finish, new_figure
from brazo.recording.colors import COLORS, SOFT
from brazo.recording.recording import Recording
from brazo.recording.timeline import Span, lanes

MOVED = 2e-3  # m; a body that moved less is not drawn
NAMED = 8  # bodies with a label; more labels would overlap
_POINTS = 2500
_BELOW = 0.62  # inches, for labels below a view


def moved_bodies(recording: Recording) -> list[str]:
    """Return the names of free bodies (signals `B.x`, `B.y`, `B.z`, `B.qw`) that moved."""
    found = []
    for name in recording.names:
        body, _, axis = name.rpartition(".")
        if axis == "x" and body and "." not in body and f"{body}.qw" in recording:
            p = xyz(recording, body)
            if len(p) and np.fmax.reduce(np.ptp(p, axis=0), initial=0.0) > MOVED:
                found.append(body)
    return found


def xyz(recording: Recording, prefix: str) -> np.ndarray:
    """Return the positions (rows, 3) in m from the signals `prefix.x`, `.y`, `.z`."""
    return np.column_stack([recording[f"{prefix}.{axis}"] for axis in "xyz"])


def holds(recording: Recording) -> dict[str, list[Span]]:
    """Return the time spans in which each robot held a body; the text of a span names the body."""
    end = float(recording.t[-1]) if len(recording) else 0.0
    found = lanes(recording.events_of("grasped", "released"), end)
    return {lane.name.removesuffix(" holds"): lane.spans for lane in found}


def path_figure(recording: Recording, robots: Sequence[str], title: str = "") -> Any:
    """Return a figure of tool paths in top view (x, y) and side view (x, z).

    The line is thick while a robot holds a body.  Paths of bodies that moved are dotted.
    """
    tools = {robot: 1e3 * xyz(recording, f"{robot}.tool") for robot in robots}
    bodies = {body: 1e3 * xyz(recording, body) for body in moved_bodies(recording)}
    points = np.concatenate([*tools.values(), *bodies.values()])
    points = points[np.isfinite(points).all(axis=1)]
    low, high = points.min(axis=0), points.max(axis=0)
    pad = 0.06 * max(float(np.max(high - low)), 1.0)
    low, high = low - pad, high + pad
    span = high - low
    # Both views have the same scale.  They are stacked if that makes them larger.
    beside = min((WIDTH - 1.6) / (2 * span[0]), 4.2 / max(span[1], span[2]))
    over = min((WIDTH - 1.0) / span[0], 5.6 / (span[1] + span[2]))
    stacked = over > 1.3 * beside
    scale = over if stacked else beside
    heights = [max(0.6, scale * span[1]), max(0.6, scale * span[2])]
    head = 0.3 if title else 0.1
    inches = head + (sum(heights) + 2 * _BELOW if stacked else max(heights) + _BELOW)
    with drawing():
        fig = new_figure(inches, title)
        text = "○ start   ● end   thick: holding   dotted: bodies"
        fig.text(0.994, 0.04 / inches, text, ha="right", va="bottom", fontsize=SMALL, color=SOFT)
        if stacked:
            axes = fig.subplots(2, 1, height_ratios=heights)
        else:
            axes = fig.subplots(1, 2)
        for ax, (i, j, name) in zip(axes, ((0, 1, "top view"), (0, 2, "side view")), strict=True):
            ax.set_xlim(low[i], high[i])
            ax.set_ylim(low[j], high[j])
            _view(ax, recording, tools, bodies, i, j)
            ax.set_title(name, loc="left", fontsize=SMALL + 0.5, weight="bold", pad=3)
            ax.set_aspect("equal", adjustable="box", anchor="N")
            ax.set_xlabel("x [mm]", fontsize=FONT)
            ax.set_ylabel(f"{'xyz'[j]} [mm]", fontsize=FONT)
            _ticks(ax)
        return finish(fig)


def _view(
    ax: Any,
    recording: Recording,
    tools: Mapping[str, np.ndarray],
    bodies: Mapping[str, np.ndarray],
    i: int,
    j: int,
) -> None:
    t = recording.t
    step = max(1, len(t) // _POINTS)
    for p in bodies.values():
        ax.plot(p[::step, i], p[::step, j], color=SOFT, lw=0.9, ls=(0, (1, 1.5)), zorder=1)
        ax.plot(*p[0, [i, j]], marker="s", ms=3, color=SOFT, ls="")
    held = holds(recording)
    for k, (robot, p) in enumerate(tools.items()):
        color = COLORS[k % len(COLORS)]
        ax.plot(p[::step, i], p[::step, j], color=color, lw=1.0, zorder=2)
        for one in held.get(robot, []):
            inside = (t >= one.start) & (t <= one.stop)
            ax.plot(p[inside][::step, i], p[inside][::step, j], color=color, lw=2.8, zorder=2)
        ax.plot(*p[0, [i, j]], marker="o", ms=4.5, mfc="white", mec=color, mew=1.2, ls="", zorder=4)
        ax.plot(*p[-1, [i, j]], marker="o", ms=4.5, color=color, ls="", zorder=4)
    names = [(robot, tools[robot], COLORS[k % len(COLORS)]) for k, robot in enumerate(tools)]
    names += [(body, bodies[body], SOFT) for body in list(bodies)[:NAMED]]
    taken = np.concatenate([p[::step][:, [i, j]] for p in (*tools.values(), *bodies.values())])
    for name, p, color in names:
        taken = np.concatenate([taken, _name(ax, name, p[0, [i, j]], taken, color)])


def _name(ax: Any, text: str, at: np.ndarray, taken: np.ndarray, color: str) -> np.ndarray:
    """Draw a label next to the point `at`, where it covers the fewest of the points `taken`.

    Returns points in the area of the label, to add to `taken`.
    """
    fig = ax.get_figure()
    scale = 72 * 0.8 * fig.get_size_inches()[0] / len({a.get_position().x0 for a in fig.axes})
    scale /= np.ptp(ax.get_xlim())  # points per data unit, approximately
    size = np.array([0.62 * SMALL * len(text), 1.1 * SMALL]) / scale
    gap = np.array([6.0, 4.0]) / scale
    ends = np.array([ax.get_xlim(), ax.get_ylim()])

    def box(side: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        near, far = at + gap * side, at + (gap + size) * side
        return np.minimum(near, far), np.maximum(near, far)

    def covered(side: tuple[int, int]) -> float:
        low, high = box(side)
        inside = ((taken >= low) & (taken <= high)).all(axis=1).sum()
        outside = np.maximum(ends[:, 0] - low, 0).sum() + np.maximum(high - ends[:, 1], 0).sum()
        return inside + 5 * scale * outside

    sides = [(1, 1), (-1, 1), (1, -1), (-1, -1)]
    right, up = min(sides, key=covered)
    ax.annotate(
        text, at, xytext=(6 * right, 4 * up), textcoords="offset points",
        ha="left" if right > 0 else "right", va="bottom" if up > 0 else "top",
        fontsize=SMALL, color=color, zorder=5,
    )  # fmt: skip
    low, high = box((right, up))
    grid = np.stack(np.meshgrid(*np.linspace(low, high, 12).T), axis=-1)
    return grid.reshape(-1, 2)


def _ticks(ax: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
