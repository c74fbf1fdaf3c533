"""Figures of a recording, fit to print: one axis a unit, direct labels, no ornament.

Signals are chosen by name or by pattern (`scara1.q.*`); those that share a unit share an axis.
Drawing is done without a screen (Agg, SVG), so it works on a server and in a thread.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.files import replacing
from brazo.recording.recording import Recording

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c564b")
_DEGREES = {"rad": ("deg", 180 / math.pi), "rad/s": ("deg/s", 180 / math.pi)}
_POINTS = 4000  # more would only overlap on paper


def choose(recording: Recording, patterns: Sequence[str]) -> list[str]:
    """The signals that match the patterns, in the recording's order."""
    names = [
        name
        for name in list(recording.columns)[1:]
        if any(name == pattern or fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    ]
    if not names:
        some = ", ".join(list(recording.columns)[1:6])
        raise BrazoError(f"no signal matches {', '.join(patterns)}; there are {some}, …")
    return names


def figure(
    recording: Recording,
    patterns: str | Sequence[str],
    title: str = "",
    degrees: bool = True,
    events: bool | Sequence[str] = True,
) -> Any:
    """A matplotlib figure: signals over time, an axis a unit, events as thin lines."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names = choose(recording, [patterns] if isinstance(patterns, str) else patterns)
    marked = recording.events_of(*(() if isinstance(events, bool) else events)) if events else []
    units = list(dict.fromkeys(recording.unit(name) for name in names))
    fig = Figure(figsize=(6.4, 0.6 + 1.9 * len(units)), layout="constrained")
    FigureCanvasAgg(fig)
    axes = fig.subplots(len(units), 1, sharex=True, squeeze=False)[:, 0]
    t = recording[next(iter(recording.columns))]
    for ax, unit in zip(axes, units, strict=True):
        shown, scale = _DEGREES.get(unit, (unit, 1.0)) if degrees else (unit, 1.0)
        mine = [name for name in names if recording.unit(name) == unit]
        common = _common_prefix(mine)
        lines: dict[str, Any] = {}
        for i, name in enumerate(mine):
            x, y = _thinned(t, scale * recording[name])
            color = COLORS[i % len(COLORS)]
            style = "-" if i < len(COLORS) else "--"
            (line,) = ax.plot(x, y, style, lw=1.1, color=color)
            lines[_literal(name[len(common) :] or name)] = line
        for event in marked:
            ax.axvline(float(event.get("t", 0.0)), color="#bbbbbb", lw=0.6, zorder=0)
        label = f"{common.rstrip('.')} [{shown}]" if common else f"[{shown}]"
        ax.set_ylabel(_literal(label), fontsize=8)
        ax.tick_params(labelsize=8)
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(True, lw=0.4, color="#e5e5e5")
        ax.margins(x=0.0)
        if len(mine) > 1:
            ax.legend(
                list(lines.values()),
                list(lines),
                fontsize=7,
                frameon=False,
                loc="upper left",
                bbox_to_anchor=(1.0, 1.0),
            )
    axes[-1].set_xlabel("time [s]", fontsize=8)
    if title:
        fig.suptitle(_literal(title), fontsize=10, x=0.01, ha="left")
    return fig


def plot(recording: Recording, patterns: Sequence[str], path: str | Path, title: str = "") -> Path:
    """Write a figure as .png, .svg or .pdf."""
    return save(figure(recording, patterns, title), path)


def save(fig: Any, path: str | Path) -> Path:
    """Write a matplotlib figure."""
    path = Path(path)
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise BrazoError(f"{path}: figures are written as .png, .svg or .pdf")
    with replacing(path) as temporary:
        fig.savefig(temporary, format=path.suffix[1:].lower(), dpi=200)
    return path


def svg(recording: Recording, patterns: Sequence[str], title: str = "") -> str:
    """A figure as SVG text, for pages."""
    import io

    import matplotlib

    out = io.StringIO()
    # Fixed ids and no date: the same recording gives the same text.
    with matplotlib.rc_context({"svg.hashsalt": "brazo", "svg.fonttype": "none"}):
        figure(recording, patterns, title).savefig(out, format="svg", metadata={"Date": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def _thinned(t: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest of each bucket: spikes survive, overlap does not."""
    if len(t) <= _POINTS:
        return t, y
    size = math.ceil(len(t) / (_POINTS // 2))
    count = math.ceil(len(t) / size)
    last = len(t) - 1
    blocks = np.minimum(np.arange(count * size), last).reshape(count, size)
    values = y[blocks]
    low = np.where(np.isnan(values), np.inf, values).argmin(1)
    high = np.where(np.isnan(values), -np.inf, values).argmax(1)
    rows = np.arange(count)
    picked = np.stack([blocks[rows, low], blocks[rows, high]], 1)
    keep = np.unique(np.append(picked.ravel(), [0, last]))
    return t[keep], y[keep]


def _literal(text: str) -> str:
    """Text that is drawn as it stands, not read as a formula."""
    return text.replace("$", r"\$")


def _common_prefix(names: list[str]) -> str:
    """Leading words, up to a dot, that all names share."""
    parts = [name.split(".")[:-1] for name in names]
    shared = []
    for words in zip(*parts, strict=False):
        if len(set(words)) > 1:
            break
        shared.append(words[0])
    return ".".join(shared) + "." if shared else ""
