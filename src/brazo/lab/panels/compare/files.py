"""Writing of the figure or table of a comparison, in a separate process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from brazo.recording.comparison import Comparison
from brazo.recording.recording import Recording


def write_comparison(
    progress: Callable[..., None],
    runs: Mapping[str, Recording],
    robot: str,
    path: str,
    shown: Sequence[str] = (),
) -> str:
    """Write a figure of the runs, or their metrics table if `path` ends in .csv; return `path`.

    `shown` are the plotted signals: none for the overview, one for a plot over time, or two for
    an XY plot.  `progress(fraction, text)` is called before drawing.
    """
    progress(None, "drawing")
    comparison = Comparison(runs, robot)
    if Path(path).suffix == ".csv":
        comparison.to_csv(path)
    elif len(shown) == 2:
        comparison.plot_xy(*shown, path=path)
    else:
        comparison.plot(list(shown) or None, path)
    return path


def needed(recording: Recording, robot: str) -> Recording:
    """Copy of a recording that contains only the signals of one robot, for `write_comparison`.

    A recording without such signals is returned unchanged.
    """
    names = [name for name in recording.names if name.startswith(f"{robot}.")]
    about: dict[str, Any] = dict(recording.about)
    if not names:
        return recording
    chosen = recording.select(names)
    return Recording(chosen.columns, [], about)
