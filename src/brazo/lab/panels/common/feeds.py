"""Data sources of the plots on a page.

Feed      live signals of the simulation, sent as they are sampled
Track     signals of a recording, with a marker at the current replay time
Figure    a fixed set of lines, sent once

A page draws the plot `<brazo-plot name="NAME">` (`plot.js`) from two values: `NAME/lines` describes
the lines, and `NAME` contains the samples.  Each message of a `Feed` repeats the last `OVERLAP`
seconds of the previous message, so that a page that misses one message loses no data.  A page that
misses more messages requests the whole history.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.lab.panels.common.html import escape
from brazo.recording.display import display_unit

if TYPE_CHECKING:
    from brazo.lab.app.panel import Panel
    from brazo.lab.app.replay import RecordingReplay

OVERLAP = 0.5  # s of the previous message that each message repeats
SENT = (
    3000  # max number of rows of a recording sent to a page; longer ones are reduced by `outlined`
)
_keys = count(1)


@dataclass(frozen=True, slots=True)
class PlotLine:
    """Line of a plot: the name of a signal, and its label in the legend."""

    signal: str
    label: str
    dashed: bool = False
    color: int | None = None  # index of one of eight colours; None: by position in the plot


def plot(name: str, label: str, *, height: int = 180, empty: str = "", span: float = 10.0) -> str:
    """HTML of the element that plots the `Feed`, `Track` or `Figure` with the same `name`.

    `height` is in px.  `span` is the visible time span (s).  `empty` is shown while there is no
    data.
    """
    return (
        f'<brazo-plot name="{escape(name)}" label="{escape(label)}" height="{height}" '
        f'span="{span:g}" empty="{escape(empty)}"></brazo-plot>'
    )


class _Signals:
    """Base class of `Feed` and `Track`: the signals shown in one plot of a panel."""

    def __init__(self, panel: Panel, name: str) -> None:
        self._panel, self._name = panel, name
        self._lines: tuple[PlotLine, ...] = ()
        self._factors = np.empty(0)  # from SI units to those displayed
        self._key = 0

    @property
    def lines(self) -> tuple[PlotLine, ...]:
        """Lines of the plot.  Assignment drops lines of unknown signals and redraws the plot."""
        return self._lines

    @lines.setter
    def lines(self, lines: Sequence[PlotLine]) -> None:
        columns = self._columns
        self._lines = tuple(line for line in lines if line.signal in columns)
        units = [display_unit(columns[line.signal]) for line in self._lines]
        self._factors = np.array([factor for _, factor in units])
        self._key = next(_keys)
        names = [unit for unit, _ in units]
        self._draw({"key": self._key, "lines": _described(self._lines, names)})

    @property
    def _columns(self) -> Mapping[str, str]:
        """Signals that can be plotted, as a dict from name to unit."""
        raise NotImplementedError

    def _draw(self, described: dict[str, Any]) -> None:
        """Send the description of the lines (`described`) and their samples to the pages."""
        raise NotImplementedError


class Feed(_Signals):
    """Plot of live signals of the simulation."""

    def __init__(self, panel: Panel, name: str) -> None:
        super().__init__(panel, name)
        self._live = panel.context.live
        self._sent = (0, 0)  # epoch, and index after the last row sent
        panel.on(f"{name}/history", self._tell_all, free=True, passive=True)

    @property
    def _columns(self) -> Mapping[str, str]:
        return self._live.columns

    def _draw(self, described: dict[str, Any]) -> None:
        self._sent = (self._live.epoch, self._live.end)
        self._panel.put({f"{self._name}/lines": described})
        self._panel.put(self.values())

    def values(self) -> dict[str, Any]:
        """Rows sampled since the last call, as a part of the result of `Panel.values`.

        The rows of the `OVERLAP` seconds before the last call are repeated.  Rows older than
        `4 * OVERLAP` seconds are omitted.
        """
        live = self._live
        epoch, sent = self._sent
        self._sent = (live.epoch, live.end)
        start = sent - round(OVERLAP / live.every) if epoch == live.epoch else live.first
        most = round(4 * OVERLAP / live.every)
        return {self._name: self._chunk(max(start, live.end - most))}

    def _tell_all(self) -> None:
        page = self._panel.context.channel.page
        # A page may still request signals of the previous cell, which do not exist here.
        if page is not None and all(line.signal in self._live.columns for line in self._lines):
            name = self._panel.name(f"{self._name}/all")
            page.send_soon({name: self._chunk(self._live.first)})

    def _chunk(self, start: int) -> dict[str, Any]:
        live = self._live
        rows = live.rows(start, ["t", *(line.signal for line in self._lines)])
        t, *y = columns_of(rows * np.array([1.0, *self._factors]))
        return {"key": self._key, "epoch": live.epoch, "at": max(start, live.first), "t": t, "y": y}


class Track(_Signals):
    """Plot of signals of a recording.

    The whole recording is sent with at most `SENT` rows.  When the user zooms in, the visible part
    is sent separately, also with at most `SENT` rows.
    """

    def __init__(self, panel: Panel, name: str) -> None:
        super().__init__(panel, name)
        panel.on(f"{name}/part", self._tell_part, float, float, free=True, passive=True)

    @property
    def _columns(self) -> Mapping[str, str]:
        return self._replay.columns

    def _draw(self, described: dict[str, Any]) -> None:
        replay = self._replay
        span = [replay.start, replay.end]
        t, y = outlined(replay.table([replay.time_name])[:, 0], self._table())
        x, *columns = columns_of(np.column_stack([t, y]))
        self._panel.put(
            {
                f"{self._name}/lines": {**described, "whole": True, "track": span},
                self._name: {"key": self._key, "epoch": 0, "at": 0, "t": x, "y": columns},
                **self.values(),
            }
        )

    def values(self) -> dict[str, Any]:
        """Replay time and signal values at this time, as a part of the result of `Panel.values`."""
        replay = self._replay
        row = replay.present([line.signal for line in self._lines]) * self._factors
        now = [float(f"{value:.6g}") if value == value else None for value in row.tolist()]
        return {f"{self._name}/now": {"key": self._key, "t": round(replay.time, 6), "y": now}}

    @property
    def _replay(self) -> RecordingReplay:
        from brazo.lab.app.replay import RecordingReplay

        sim = self._panel.session.shown
        assert isinstance(sim, RecordingReplay)
        return sim

    def _table(self, rows: slice = slice(None)) -> np.ndarray:
        return self._replay.table([line.signal for line in self._lines], rows) * self._factors

    def _tell_part(self, start: float, stop: float) -> None:
        from brazo.lab.app.replay import RecordingReplay

        page, sim = self._panel.context.channel.page, self._panel.session.shown
        if page is None or not isinstance(sim, RecordingReplay):
            return
        t = sim.table([sim.time_name])[:, 0]
        low, high = np.searchsorted(t, [start, stop])
        rows = slice(max(int(low) - 1, 0), int(high) + 1)
        part, y = outlined(t[rows], self._table(rows))
        x, *columns = columns_of(np.column_stack([part, y]))
        described = {"key": self._key, "from": start, "to": stop, "t": x, "y": columns}
        page.send_soon({self._panel.name(f"{self._name}/part"): described})


def outlined(t: np.ndarray, y: np.ndarray, most: int = SENT) -> tuple[np.ndarray, np.ndarray]:
    """Downsample k lines y (m, k) over times t (m,) to at most `most` rows, and return t and y.

    The rows are divided into intervals.  Each interval is reduced to two rows, with the minimum and
    the maximum of each line, so that peaks stay visible.  The first and the last row are kept.  If
    there are at most `most` rows, both arrays are returned unchanged.
    """
    if len(t) <= most:
        return t, y
    starts = np.linspace(0, len(t), most // 2, endpoint=False).astype(int)
    low, high = np.fmin.reduceat(y, starts, axis=0), np.fmax.reduceat(y, starts, axis=0)
    middles = np.append(starts[1:], len(t)) - 1
    found = np.stack([low, high], axis=1).reshape(-1, y.shape[1])
    found[0], found[-1] = y[0], y[-1]
    return np.stack([t[starts], t[middles]], axis=1).reshape(-1), found


class Figure:
    """Plot of a fixed set of lines, which are sent to the pages once."""

    def __init__(self, panel: Panel, name: str) -> None:
        self._panel, self._name = panel, name

    def show(
        self,
        t: np.ndarray,
        lines: Sequence[tuple[PlotLine, str, np.ndarray]],
        bands: Sequence[dict[str, Any]] = (),
    ) -> None:
        """Draw lines over time t (m,), in s.

        `lines` are tuples `(line, unit, values)` with values (m,) in the displayed unit.  `bands`
        are shaded horizontal bands, each a dict `{"unit", "low", "high"}`.
        """
        key = next(_keys)
        described = _described([line for line, _, _ in lines], [unit for _, unit, _ in lines])
        x, *y = columns_of(np.column_stack([t, *(values for _, _, values in lines)]))
        self._panel.put(
            {
                f"{self._name}/lines": {
                    "key": key,
                    "lines": described,
                    "whole": True,
                    "bands": list(bands),
                },
                self._name: {"key": key, "epoch": 0, "at": 0, "t": x, "y": y},
            }
        )

    def clear(self) -> None:
        """Remove all lines."""
        self.show(np.empty(0), [])


def _described(lines: Sequence[PlotLine], units: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {"label": line.label, "unit": unit, "dashed": line.dashed, "color": line.color}
        for line, unit in zip(lines, units, strict=True)
    ]


def columns_of(rows: np.ndarray) -> list[list[float | None]]:
    """Convert the columns of `rows` (m, k) to k lists of m numbers for JSON.

    The first column must be the time.  To keep the messages short, times are rounded to 4 decimals
    and other values to 6 significant digits.  NaN becomes None, except in the first column.
    """
    t, *y = rows.T.tolist()
    return [
        [round(value, 4) for value in t],
        *(
            [float(f"{value:.6g}") if value == value else None for value in column]  # NaN: None
            for column in y
        ),
    ]
