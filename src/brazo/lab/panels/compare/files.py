"""Figure and table of a comparison, written in another process."""

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
    """Write the figure or, as .csv, the table of runs; return the path.

    `shown` is empty for the overview, one signal over time, or two for one over the other.
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
    """The signals of one robot, which is all that figure and table use."""
    names = [name for name in recording.names if name.startswith(f"{robot}.")]
    about: dict[str, Any] = dict(recording.about)
    if not names:
        return recording
    chosen = recording.select(names)
    return Recording(chosen.columns, [], about)
