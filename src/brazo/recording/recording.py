"""`Recording`: signals with units on a common time axis, events, and export to all formats."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from brazo.errors import BrazoError
from brazo.recording.conversion import writer_of
from brazo.recording.event import RecordedEvent
from brazo.recording.names import check_names, choose, hint, renamed, warn_renamed_signal
from brazo.recording.source import ColumnSource, Progress, event_time, memory_source, open_source
from brazo.text import html_table

if TYPE_CHECKING:
    from brazo.recording.export_process import Export

Signals = str | Sequence[str]
MOST_SHOWN = 30  # signals in a notebook


@dataclass(frozen=True, eq=False)
class Recording:
    """Signals and events of a run.

    `recording["scara1.q.shoulder"]` is a signal, `recording[2.0:5.0]` the run from 2 s to 5 s,
    `recording.t` the time axis.  Signals are in SI units and radians; see `unit`.

    `columns` maps a name to values and unit; the first column is the time axis.  `events` is a list
    of `RecordedEvent`; `about` describes the run.  A recording is immutable: methods that cut,
    select or resample return a new recording.
    """

    columns: Mapping[str, tuple[np.ndarray, str]]
    events: Sequence[Any] = field(default_factory=list)  # each becomes a `RecordedEvent`
    about: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()  # about the file it was read from: which of two, damage

    def __post_init__(self) -> None:
        if not self.columns:
            raise BrazoError("a recording needs at least one column, the time")
        rows = {name: np.shape(values) for name, (values, _) in self.columns.items()}
        first, *others = rows.values()
        if len(first) != 1 or any(shape != first for shape in others):
            odd = next(name for name, s in rows.items() if s != first or len(s) != 1)
            raise BrazoError(
                f"signal '{odd}' has shape {rows[odd]}; expected ({first[0]},)"
                if len(first) == 1
                else f"signal '{odd}' has shape {rows[odd]}; expected a one-dimensional array"
            )
        check_names(self.columns)
        events = [
            one if isinstance(one, RecordedEvent) else RecordedEvent(one) for one in self.events
        ]
        object.__setattr__(self, "events", events)

    @classmethod
    def open(
        cls,
        path: str | Path,
        signals: Signals | None = None,
        start: float | None = None,
        stop: float | None = None,
        salvage: bool = False,
    ) -> Recording:
        """Read a .parquet or .csv recording, or the .part file of an interrupted run.

        `signals` (names or patterns), `start` and `stop` (s) limit what is read; by default
        everything is read.  If only `run.parquet.part` exists, it is read instead of `run.parquet`.
        A damaged file raises an error with the position of the damage; with `salvage` its intact
        rows are read.  `notes` of the result report if a .part file exists or rows were skipped.
        """
        source = open_source(path, salvage)
        if signals is not None:
            source = source.select(signals)
        if start is not None or stop is not None:
            source = source.between(start, stop)
        return cls(source.columns(), list(source.events), source.about, source.notes)

    @property
    def t(self) -> np.ndarray:
        """Time axis (s): the first column."""
        return next(iter(self.columns.values()))[0]

    @property
    def names(self) -> list[str]:
        """Names of the signals, without the time axis."""
        return list(self.columns)[1:]

    @property
    def duration(self) -> float:
        """Time from the first row to the last (s)."""
        return float(self.t[-1] - self.t[0]) if len(self) else 0.0

    @property
    def limits(self) -> dict[str, tuple[float, float]]:
        """Lower and upper limits of signals, as stored by the run.

        They are read from `about["limits"]`, a JSON map of signal to `[low, high]`; null means no
        limit.
        """
        try:
            found = json.loads(self.about.get("limits", "{}"))
            return {
                name: (
                    -np.inf if low is None else _number(low),
                    np.inf if high is None else _number(high),
                )
                for name, (low, high) in found.items()
            }
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            raise BrazoError("about.limits: not a JSON map of signal to [low, high]") from None

    @overload
    def __getitem__(self, name: str) -> np.ndarray: ...
    @overload
    def __getitem__(self, name: slice) -> Recording: ...

    def __getitem__(self, name: str | slice) -> np.ndarray | Recording:
        if isinstance(name, slice):
            if name.step is not None:
                raise BrazoError("recording[start:stop] accepts no step; use resample(dt)")
            return self.between(name.start, name.stop)
        return self._column(name)[0]

    def _column(self, name: str) -> tuple[np.ndarray, str]:
        if name not in self.columns:
            if (other := renamed(name)) not in self.columns:
                names = list(self.columns)
                raise BrazoError(f"no signal named '{name}' in this recording; {hint(names, name)}")
            warn_renamed_signal(name, other)
            name = other
        return self.columns[name]

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        return (
            f"<Recording: {len(self.names)} signals, {len(self)} rows, {self.duration:g} s, "
            f"{len(self.events)} events>"
        )

    def _repr_html_(self) -> str:
        shown = self.names[:MOST_SHOWN]
        rows = [
            (name, self.unit(name), *(f"{x:.6g}" for x in _range(self[name]))) for name in shown
        ]
        more = len(self.names) - len(shown)
        title = repr(self).strip("<>") + (f"; {more} more signals" if more else "")
        return html_table(title, ("signal", "unit", "first", "last", "min", "max"), rows)

    def unit(self, name: str) -> str:
        """Return the unit of a signal."""
        return self._column(name)[1]

    def select(self, signals: Signals) -> Recording:
        """Return a recording with only the signals that match names, patterns or prefixes.

        Examples: `scara1.q.shoulder`, `scara1.q.*`, `scara1.q`.
        """
        names = [next(iter(self.columns)), *choose(self.names, signals)]
        return replace(self, columns={name: self.columns[name] for name in names})

    def matrix(self, signals: Signals) -> np.ndarray:
        """Return the matching signals as an array (rows, signals)."""
        return np.column_stack([self[name] for name in choose(self.names, signals)])

    def between(self, start: float | None = None, stop: float | None = None) -> Recording:
        """Return the rows and events from `start` to `stop` (s), inclusive; None means no limit."""
        source = self._source().between(start, stop)
        return Recording(source.columns(), list(source.events), self.about)

    def resample(self, dt: float, method: Literal["linear", "previous"] = "linear") -> Recording:
        """Return the run resampled with period `dt` (s).

        `method` is "linear" (linear interpolation between rows) or "previous" (the value of the
        previous row, for counters and switches).  There is no filter: frequencies above 1/(2 dt)
        alias.  A recording with fewer than two rows is returned unchanged.
        """
        if not np.isfinite(dt) or dt <= 0:
            raise BrazoError(f"resample: dt is {dt} s; it must be positive")
        if method not in ("linear", "previous"):
            raise BrazoError(f"resample: unknown method '{method}'; choose 'linear' or 'previous'")
        t = self.t
        if len(t) < 2:
            return self
        if not (np.diff(t) > 0).all():
            raise BrazoError(
                "resample: the time axis is not increasing (was the run reset?); select a part "
                "with recording[start:stop]"
            )
        # The last time is included if the duration is an integer number of steps, up to rounding.
        count = int(np.floor((t[-1] - t[0]) / dt * (1 + 1e-12) + 1e-9)) + 1
        times = np.minimum(t[0] + dt * np.arange(count), t[-1])
        axis, (_, unit) = next(iter(self.columns.items()))
        columns = {axis: (times, unit)}
        at = np.searchsorted(t, times + 1e-6 * dt, side="right") - 1  # tolerates rounding
        for name in self.names:
            values, unit = self.columns[name]
            new = np.interp(times, t, values) if method == "linear" else values[at]
            columns[name] = (new, unit)
        return replace(self, columns=columns)

    def events_of(self, *kinds: str) -> list[RecordedEvent]:
        """Return the events of the given kinds (by default all), sorted by time."""
        found = [e for e in self.events if not kinds or e.get("kind") in kinds]
        return sorted(found, key=event_time)

    def to(self, path: str | Path, progress: Progress | None = None) -> Path:
        """Write the recording to a file; the suffix sets the format.

        The suffixes are .parquet, .csv, .xlsx and .mcap; .html is a 3D replay; .mp4, .webm and .gif
        are videos.  `progress` is called with the completed fraction.
        """
        path = Path(path)
        if path.suffix.lower() in (".xlsx", ".mcap"):
            return self.export(path).wait(progress=progress)
        writer_of(path)(path, self._source(), progress)
        return path

    def export(self, path: str | Path) -> Export:
        """Start writing to a file in a separate process and return without waiting; see `Export`.

        The recording is first copied to a temporary Parquet file in the calling process.  The
        conversion does not slow down the calling process, so a 1 kHz loop can continue.
        """
        from brazo.recording.export_process import Export

        return Export(self, path)

    def to_parquet(self, path: str | Path) -> Path:
        """Write Parquet with units, events and description."""
        return self.to(_ending(path, ".parquet"))

    def to_csv(self, path: str | Path) -> Path:
        """Write CSV with two header rows, names and units."""
        return self.to(_ending(path, ".csv"))

    def to_xlsx(self, path: str | Path, progress: Progress | None = None) -> Path:
        """Write an Excel workbook with data, charts and events, in a separate process."""
        return self.to(_ending(path, ".xlsx"), progress)

    def to_mcap(self, path: str | Path, progress: Progress | None = None) -> Path:
        """Write MCAP for robotics viewers, in a separate process."""
        return self.to(_ending(path, ".mcap"), progress)

    def to_html(self, path: str | Path, progress: Progress | None = None) -> Path:
        """Write a 3D replay as a self-contained HTML page."""
        return self.to(_ending(path, ".html"), progress)

    def to_video(
        self,
        path: str | Path,
        progress: Progress | None = None,
        *,
        cell: Any = None,
        **options: Any,
    ) -> Path:
        """Render an .mp4, .webm or .gif file without a browser; options as for `brazo.video`."""
        video: Any = import_module("brazo.video")
        return video(self, path, cell=cell, progress=progress, **options)

    def animate(self, **options: Any) -> Any:
        """Render a short video for display in a notebook; options as for `brazo.video`.

        The result has a method `save(path)`.
        """
        return import_module("brazo.video.animation").animate(self, **options)

    def plot_scope(self, plane: str = "xy", path: str | Path | None = None, **options: Any) -> Any:
        """Plot a tool's path in a plane with its reference; see `brazo.recording.plot_scope`."""
        from brazo.recording.scope import plot_scope

        return plot_scope(self, path, plane, **options)

    def plot(
        self,
        signals: Signals,
        path: str | Path | None = None,
        *,
        title: str = "",
        degrees: bool = True,
        events: bool | Sequence[str] = True,
    ) -> Any:
        """Plot signals over time, one axis per unit; return the matplotlib figure.

        If `path` is given, the figure is also written to this file: .png, .svg or .pdf.  `events`
        selects the events that are marked: True (all), False (none) or a list of kinds.  Angles are
        in degrees unless `degrees` is false.
        """
        from brazo.recording.plots import figure, save

        drawn = figure(self, signals, title=title, degrees=degrees, events=events)
        if path is not None:
            save(drawn, path)
        return drawn

    def report(self, path: str | Path, title: str = "", **options: Any) -> Path:
        """Write an HTML report: key figures, plots, events; see `write_report`."""
        from brazo.recording.report import write_report

        return write_report(self, path, title, **options)

    def _source(self) -> ColumnSource:
        return memory_source(self.columns, self.events, self.about)


def _range(values: np.ndarray) -> tuple[float, ...]:
    """Return the first, last, min and max value of a signal; NaN if there are none."""
    if not np.isfinite(values).any():
        return (math.nan,) * 4
    return values[0], values[-1], np.nanmin(values), np.nanmax(values)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(value)
    return float(value)


def _ending(path: str | Path, ending: str) -> Path:
    path = Path(path)
    if path.suffix.lower() != ending:
        raise BrazoError(f"{path}: the name must end in {ending}")
    return path
