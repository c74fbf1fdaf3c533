"""A run: its signals with units on one time axis, its events, and every form it can leave in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from brazo.errors import BrazoError
from brazo.recording.conversion import writer_of
from brazo.recording.event import Event
from brazo.recording.names import check_names, choose, hint
from brazo.recording.source import Progress, Source, event_time, memory_source, open_source

if TYPE_CHECKING:
    from brazo.recording.export import Export

Signals = str | Sequence[str]


@dataclass(frozen=True, eq=False)
class Recording:
    """What happened in a run.

    `recording["scara1.q.shoulder"]` is a signal, `recording[2.0:5.0]` the same run from 2 s to 5 s,
    `recording.t` the time axis.  Signals are in SI and radians; `unit` says which.

    `columns` maps a name to values and unit, the time first; `events` are moments with a kind and a
    sentence (`Event`); `about` says what the run was.  A recording is never changed: what cuts it,
    chooses from it or samples it anew gives another.
    """

    columns: Mapping[str, tuple[np.ndarray, str]]
    events: Sequence[Any] = field(default_factory=list)  # each becomes an `Event`
    about: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()  # on the file it was read from: which of two, what was damaged

    def __post_init__(self) -> None:
        if not self.columns:
            raise BrazoError("a recording needs at least one column, the time")
        rows = {name: np.shape(values) for name, (values, _) in self.columns.items()}
        first, *others = rows.values()
        if len(first) != 1 or any(shape != first for shape in others):
            odd = next(name for name, s in rows.items() if s != first or len(s) != 1)
            raise BrazoError(
                f"signal '{odd}' has shape {rows[odd]}; every signal is a row of {first[0]} numbers"
                if len(first) == 1
                else f"signal '{odd}' has shape {rows[odd]}; a signal is one row of numbers"
            )
        check_names(self.columns)
        events = [one if isinstance(one, Event) else Event(one) for one in self.events]
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
        """Read a .parquet or .csv recording, or the .part an interrupted run left.

        Only `signals` (names or patterns) and the rows from `start` to `stop` (s) are kept, if
        given.  Where only `run.parquet.part` exists, it is read for `run.parquet`.  A damaged file
        is refused with the place of the damage; `salvage` reads what is intact.  `notes` of the
        result report either.
        """
        source = open_source(path, salvage)
        if signals is not None:
            source = source.select(signals)
        if start is not None or stop is not None:
            source = source.between(start, stop)
        return cls(source.columns(), list(source.events), source.about, source.notes)

    @property
    def t(self) -> np.ndarray:
        """The time axis (s): the first column."""
        return next(iter(self.columns.values()))[0]

    @property
    def names(self) -> list[str]:
        """The signals, without the time axis."""
        return list(self.columns)[1:]

    @property
    def duration(self) -> float:
        """From the first moment to the last (s)."""
        return float(self.t[-1] - self.t[0]) if len(self) else 0.0

    @property
    def limits(self) -> dict[str, tuple[float, float]]:
        """Least and greatest allowed value of signals that have them, as the run wrote them down.

        They are read from `about["limits"]`, a JSON map of signal to `[low, high]`; null is no
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
                raise BrazoError("recording[start:stop] has no step; use resample(dt)")
            return self.between(name.start, name.stop)
        if name not in self.columns:
            names = list(self.columns)
            raise BrazoError(f"no signal named '{name}' in this recording; {hint(names, name)}")
        return self.columns[name][0]

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

    def unit(self, name: str) -> str:
        """The unit of a signal."""
        self[name]
        return self.columns[name][1]

    def select(self, signals: Signals) -> Recording:
        """Only these signals: names, patterns (`scara1.q.*`) or starts of names (`scara1.q`)."""
        names = [next(iter(self.columns)), *choose(self.names, signals)]
        return replace(self, columns={name: self.columns[name] for name in names})

    def matrix(self, signals: Signals) -> np.ndarray:
        """The chosen signals side by side, (rows, signals)."""
        return np.column_stack([self[name] for name in choose(self.names, signals)])

    def between(self, start: float | None = None, stop: float | None = None) -> Recording:
        """The rows and events from one moment to another (s), both included; None is open."""
        source = self._source().between(start, stop)
        return Recording(source.columns(), list(source.events), self.about)

    def resample(self, dt: float, method: Literal["linear", "previous"] = "linear") -> Recording:
        """The same run at moments `dt` (s) apart.

        Between two rows a signal is interpolated linearly, or keeps its last value (`previous`, for
        counters and switches).  Nothing is filtered: what is faster than 1/(2 dt) aliases.
        """
        if not np.isfinite(dt) or dt <= 0:
            raise BrazoError(f"resample: dt is {dt} s; it must be positive")
        if method not in ("linear", "previous"):
            raise BrazoError(f"resample: method '{method}'; choose linear or previous")
        t = self.t
        if len(t) < 2:
            return self
        if not (np.diff(t) > 0).all():
            raise BrazoError("resample: the time axis does not always grow (was the run reset?)")
        # The last moment belongs to it when the span is a whole number of steps, up to rounding.
        count = int(np.floor((t[-1] - t[0]) / dt * (1 + 1e-12) + 1e-9)) + 1
        moments = np.minimum(t[0] + dt * np.arange(count), t[-1])
        axis, (_, unit) = next(iter(self.columns.items()))
        columns = {axis: (moments, unit)}
        at = np.searchsorted(t, moments + 1e-6 * dt, side="right") - 1  # past rounding
        for name in self.names:
            values, unit = self.columns[name]
            new = np.interp(moments, t, values) if method == "linear" else values[at]
            columns[name] = (new, unit)
        return replace(self, columns=columns)

    def events_of(self, *kinds: str) -> list[Event]:
        """The events of some kinds, or all, in the order of time."""
        found = [e for e in self.events if not kinds or e.get("kind") in kinds]
        return sorted(found, key=event_time)

    def to(self, path: str | Path, progress: Progress | None = None) -> Path:
        """Write in the format of the path's ending: .parquet, .csv, .xlsx, .mcap or .html.

        `progress` is called with the fraction done.
        """
        path = Path(path)
        if path.suffix.lower() in (".xlsx", ".mcap"):
            return self.export(path).wait(progress=progress)
        writer_of(path)(path, self._source(), progress)
        return path

    def export(self, path: str | Path) -> Export:
        """Start writing in a process of its own and return at once; see `Export`.

        Nothing that runs here is held up: a loop at 1 kHz goes on as if nothing happened.
        """
        from brazo.recording.export import Export

        return Export(self, path)

    def to_parquet(self, path: str | Path) -> Path:
        """Write Parquet: every column with its unit, events and description inside."""
        return self.to(_ending(path, ".parquet"))

    def to_csv(self, path: str | Path) -> Path:
        """Write CSV with two heading rows, names and units."""
        return self.to(_ending(path, ".csv"))

    def to_xlsx(self, path: str | Path, progress: Progress | None = None) -> Path:
        """Write an Excel workbook: data with units, charts, events; in a process of its own."""
        return self.to(_ending(path, ".xlsx"), progress)

    def to_mcap(self, path: str | Path, progress: Progress | None = None) -> Path:
        """Write MCAP for robotics viewers; in a process of its own."""
        return self.to(_ending(path, ".mcap"), progress)

    def to_html(self, path: str | Path, progress: Progress | None = None) -> Path:
        """Write the run as a 3D replay in one page that needs nothing else."""
        return self.to(_ending(path, ".html"), progress)

    def plot(
        self,
        signals: Signals,
        path: str | Path | None = None,
        *,
        title: str = "",
        degrees: bool = True,
        events: bool | Sequence[str] = True,
    ) -> Any:
        """Draw signals over time, an axis a unit; return matplotlib's figure.

        With a `path` it is written, too: .png, .svg or .pdf.  `events` chooses which kinds of
        events are marked (or all, or none); angles are shown in degrees unless `degrees` is false.
        """
        from brazo.recording.plots import figure, save

        drawn = figure(self, signals, title=title, degrees=degrees, events=events)
        if path is not None:
            save(drawn, path)
        return drawn

    def report(self, path: str | Path, title: str = "", **options: Any) -> Path:
        """Write the run as a page: key numbers, figures, events; see `write_report`."""
        from brazo.recording.report import write_report

        return write_report(self, path, title, **options)

    def _source(self) -> Source:
        return memory_source(self.columns, self.events, self.about)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(value)
    return float(value)


def _ending(path: str | Path, ending: str) -> Path:
    path = Path(path)
    if path.suffix.lower() != ending:
        raise BrazoError(f"{path}: the name must end in {ending}")
    return path
