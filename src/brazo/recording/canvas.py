"""Common style of all figures: print sizes, light axes, labels at the ends of lines.

A figure is 6.9 inches wide, the text width of a page, with 8 point type.  It is rendered without a
display (Agg, SVG, PDF), so it works on a server and in a thread.  Names are drawn literally, never
parsed as formulas.
"""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.files import replacing
from brazo.recording.colors import GRID, INK, SOFT

WIDTH = 6.9  # inches
FONT, SMALL, TITLE = 8.0, 7.0, 9.5  # points
ENDINGS = (".png", ".svg", ".pdf")
MIN_SPAN = 1e-3  # of the largest value on an axis
POINTS = 1600  # max points of a line; more would overlap in print

# The settings of matplotlib are global, so only one figure is drawn or written at a time.
_DRAWING = threading.RLock()
_STYLE: dict[Any, Any] = {
    "font.size": FONT,
    "font.family": "sans-serif",
    "text.color": INK,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.labelsize": FONT,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.xmargin": 0.0,
    "axes.unicode_minus": True,
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": (-4, 6),
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": SMALL + 0.5,
    "ytick.labelsize": SMALL + 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 1.2,
    "lines.solid_capstyle": "round",
    "svg.hashsalt": "brazo",  # the same figure gives identical SVG
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "text.parse_math": False,
    "figure.autolayout": False,  # `finish` fixes the layout
    "figure.constrained_layout.use": False,
}


@contextmanager
def drawing() -> Iterator[None]:
    """Apply the common style while figures are drawn or written (context manager)."""
    import matplotlib

    with _DRAWING, matplotlib.rc_context(_STYLE):
        yield


def new_figure(height: float, title: str = "", width: float = WIDTH) -> Any:
    """Return an empty figure with its title on the left; `height` and `width` are in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    fig = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(fig)
    engine = fig.get_layout_engine()
    assert engine is not None
    engine.set(w_pad=0.05, h_pad=0.03, hspace=0.05, wspace=0.05)  # pyright: ignore
    if title:
        fig.suptitle(title, fontsize=TITLE, weight="bold", x=0.006, ha="left")
    return fig


def thinned(t: np.ndarray, y: np.ndarray, points: int = POINTS) -> tuple[np.ndarray, np.ndarray]:
    """Return t and y (m,) reduced to about `points` rows: the min and max of y in each interval.

    Spikes are thus kept.  Shorter data is returned unchanged.
    """
    if len(t) <= points:
        return t, y
    size = -(-len(t) // (points // 2))
    count = -(-len(t) // size)
    last = len(t) - 1
    blocks = np.minimum(np.arange(count * size), last).reshape(count, size)
    values = y[blocks]
    missing = np.isnan(values)
    low = np.where(missing, np.inf, values).argmin(1)
    high = np.where(missing, -np.inf, values).argmax(1)
    rows = np.arange(count)
    picked = np.stack([blocks[rows, low], blocks[rows, high]], 1)
    keep = np.unique(np.append(picked.ravel(), [0, last]))
    return t[keep], y[keep]


def label_lines(ax: Any, labels: Sequence[tuple[str, float, str]], size: float = SMALL) -> None:
    """Add labels (text, y in data units, colour) at the right ends of lines.

    Call this after the limits of the axis are final; `finish` moves overlapping labels apart.
    """
    ax._brazo_labels = []
    for text, height, color in labels:
        if not np.isfinite(height):  # a line without values
            height = 0.5 * sum(ax.get_ylim())
        note = ax.annotate(
            text,
            (1.0, height),
            xycoords=ax.get_yaxis_transform(),
            xytext=(9, 0),
            textcoords="offset points",
            va="center",
            ha="left",
            fontsize=size,
            color=color,
            annotation_clip=False,
        )
        ax._brazo_labels.append((note, height, color))


def finish(fig: Any) -> Any:
    """Lay out a figure and move its line labels so that they do not overlap.

    The figure is not drawn for this, because drawing takes as long as writing the file.
    """
    fig.get_layout_engine().execute(fig)
    # With None instead of "none" matplotlib does not draw a figure twice to write it.
    fig.set_layout_engine(None)
    for ax in fig.axes:
        # The layout solver differs in the last bit from run to run.
        ax.set_position([round(float(v), 6) for v in ax.get_position(original=True).bounds])
        ax.apply_aspect()
        ax.get_ylim()  # updates the limits that `transData` uses
    for ax in fig.axes:
        found = getattr(ax, "_brazo_labels", [])
        if not found:
            continue
        points = 72.0 / fig.dpi
        low, high = (v * points for v in (ax.bbox.y0, ax.bbox.y1))
        to_point = ax.transData.transform
        wanted = np.array([to_point((0.0, h))[1] * points for _, h, _ in found])
        wanted = np.clip(np.nan_to_num(wanted, nan=low), low, high)
        step = found[0][0].get_fontsize() * 1.15
        placed = spread(wanted, step, low + 2, high - 2)
        for (note, height, color), at, before in zip(found, placed, wanted, strict=True):
            home = to_point((0.0, height))[1] * points
            note.set_position((9, at - home) if np.isfinite(home) else (9, 0))
            if abs(at - before) > 2.0:
                hair = {"arrowstyle": "-", "lw": 0.5, "color": color, "shrinkA": 0, "shrinkB": 1}
                ax.annotate(
                    "",
                    (1.0, height),
                    xycoords=ax.get_yaxis_transform(),
                    xytext=(8, at - home),
                    textcoords="offset points",
                    arrowprops=hair,
                    annotation_clip=False,
                )
    return fig


def spread(wanted: np.ndarray, step: float, low: float, high: float) -> np.ndarray:
    """Return positions near `wanted`, in the same order, at least `step` apart, in [low, high].

    If the positions do not fit, the distance between them is reduced.
    """
    count = len(wanted)
    if count == 0:
        return wanted
    step = min(step, (high - low) / max(1, count - 1)) if count > 1 else step
    order = np.argsort(wanted, kind="stable")
    # After subtracting the steps this is isotonic regression (pool adjacent violators).
    target = wanted[order] - step * np.arange(count)
    pools: list[list[float]] = []  # mean, size
    for value in target:
        pools.append([float(value), 1.0])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (a, m), (b, n) = pools[-2], pools[-1]
            pools[-2:] = [[(a * m + b * n) / (m + n), m + n]]
    flat = np.concatenate([np.full(int(n), mean) for mean, n in pools])
    flat = np.clip(flat, low, max(low, high - step * (count - 1)))
    placed = np.empty(count)
    placed[order] = flat + step * np.arange(count)
    return placed


def save(fig: Any, path: str | Path) -> Path:
    """Write a figure as .png (200 dpi), .svg or .pdf, and return the path."""
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in ENDINGS:
        raise BrazoError(f"{path}: figures are written as {', '.join(ENDINGS)}")
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(kind)
    with drawing(), replacing(path) as temporary:
        fig.savefig(temporary, format=kind[1:], dpi=200, metadata=undated, facecolor="white")
    return path


def svg_text(fig: Any) -> str:
    """Return a figure as SVG for an HTML page, without background and with rounded coordinates."""
    out = io.StringIO()
    with drawing():
        fig.savefig(out, format="svg", metadata={"Date": None}, transparent=True)
    text = out.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    for name, title in getattr(fig, "_brazo_titles", {}).items():
        text = text.replace(f'<g id="{name}">', f"<g><title>{escape(title)}</title>")
    # Only coordinates are shortened, never the text on the axes.
    return re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d\.\d\d)\d+", r"\1", tag[0]), text)


def hover(artist: Any, title: str) -> None:
    """Set the tooltip of a part of a figure in an HTML page."""
    fig = artist.get_figure()
    titles = fig.__dict__.setdefault("_brazo_titles", {})
    name = f"hover-{len(titles)}"
    titles[name] = title
    artist.set_gid(name)


def widen(ax: Any, share: float = MIN_SPAN) -> None:
    """Widen the y range of an axis to at least `share` times the larger absolute y limit.

    Without this, rounding errors of a constant signal would fill the axis.
    """
    low, high = ax.get_ylim()
    span = share * max(abs(low), abs(high))
    if high - low < span:
        middle = 0.5 * (low + high)
        ax.set_ylim(middle - 0.5 * span, middle + 0.5 * span)
