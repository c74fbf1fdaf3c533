"""What plots on the pages are fed with: rows as they come (`Feed`), all at once (`Figure`), or
those of a recording with its present moment marked (`Track`).

A page draws a plot (`<brazo-plot name="plot">`, in `plot.js`) from two values: `plot/lines` says
what the lines are, `plot` brings rows.  Each message repeats the last `OVERLAP` seconds, so that a
page that skips one misses nothing; a page that comes later asks for all there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.lab.panels.common.html import escape
from brazo.recording.display import display_unit

if TYPE_CHECKING:
    from brazo.lab.app.panel import Panel
    from brazo.lab.app.replay import Replay

OVERLAP = 0.5  # s
SENT = (
    3000  # rows of a recording a page is sent; of more, the least and greatest of their stretches
)
_keys = count(1)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a plot: a signal and what the legend calls it."""

    signal: str
    label: str
    dashed: bool = False
    color: int | None = None  # one of eight; None: by its place


def plot(name: str, label: str, *, height: int = 180, empty: str = "", span: float = 10.0) -> str:
    """The element that draws what a feed or a figure of that name gives."""
    return (
        f'<brazo-plot name="{escape(name)}" label="{escape(label)}" height="{height}" '
        f'span="{span:g}" empty="{escape(empty)}"></brazo-plot>'
    )


class Feed:
    """Lines that follow the simulation."""

    def __init__(self, panel: Panel, name: str) -> None:
        self._panel, self._name = panel, name
        self._live = panel.context.live
        self._lines: tuple[Line, ...] = ()
        self._factors = np.ones(1)
        self._key = 0
        self._sent = (0, 0)  # epoch and number of the row after the last that was sent
        panel.on(f"{name}/history", self._tell_all, free=True)

    @property
    def lines(self) -> tuple[Line, ...]:
        """What is drawn."""
        return self._lines

    @lines.setter
    def lines(self, lines: Sequence[Line]) -> None:
        columns = self._live.columns
        self._lines = tuple(line for line in lines if line.signal in columns)
        units = [display_unit(columns[line.signal]) for line in self._lines]
        self._factors = np.array([1.0, *(factor for _, factor in units)])
        self._key = next(_keys)
        self._sent = (self._live.epoch, self._live.end)
        told = [
            {"label": line.label, "unit": unit, "dashed": line.dashed, "color": line.color}
            for line, (unit, _) in zip(self._lines, units, strict=True)
        ]
        self._panel.put({f"{self._name}/lines": {"key": self._key, "lines": told}})
        self._panel.put(self.values())

    def values(self) -> dict[str, Any]:
        """The rows that are new, for the panel's `values`."""
        live = self._live
        epoch, sent = self._sent
        self._sent = (live.epoch, live.end)
        start = sent - round(OVERLAP / live.every) if epoch == live.epoch else live.first
        most = round(4 * OVERLAP / live.every)
        return {self._name: self._chunk(max(start, live.end - most))}

    def _tell_all(self) -> None:
        page = self._panel.context.channel.page
        # A page may still ask for what it was shown of the cell before this one.
        if page is not None and all(line.signal in self._live.columns for line in self._lines):
            name = self._panel.name(f"{self._name}/all")
            page.send_soon({name: self._chunk(self._live.first)})

    def _chunk(self, start: int) -> dict[str, Any]:
        live = self._live
        rows = live.rows(start, ["t", *(line.signal for line in self._lines)]) * self._factors
        t, *y = columns_of(rows)
        return {"key": self._key, "epoch": live.epoch, "at": max(start, live.first), "t": t, "y": y}


class Track:
    """Lines of a recording: all of it in outline, and closely whatever part a page looks at."""

    def __init__(self, panel: Panel, name: str) -> None:
        self._panel, self._name = panel, name
        self._lines: tuple[Line, ...] = ()
        self._factors = np.ones(1)
        self._key = 0
        panel.on(f"{name}/part", self._tell_part, float, float, free=True)

    @property
    def lines(self) -> tuple[Line, ...]:
        """What is drawn."""
        return self._lines

    @lines.setter
    def lines(self, lines: Sequence[Line]) -> None:
        replay = self._replay
        self._lines = tuple(line for line in lines if line.signal in replay.columns)
        units = [display_unit(replay.columns[line.signal]) for line in self._lines]
        self._factors = np.array([factor for _, factor in units])
        self._key = next(_keys)
        told = [
            {"label": line.label, "unit": unit, "dashed": line.dashed, "color": line.color}
            for line, (unit, _) in zip(self._lines, units, strict=True)
        ]
        span = [replay.start, replay.end]
        t, y = outlined(replay.table([replay.time_name])[:, 0], self._table())
        x, *columns = columns_of(np.column_stack([t, y]))
        self._panel.put(
            {
                f"{self._name}/lines": {
                    "key": self._key, "lines": told, "whole": True, "track": span,
                },
                self._name: {"key": self._key, "epoch": 0, "at": 0, "t": x, "y": columns},
                **self.values(),
            }
        )  # fmt: skip

    def values(self) -> dict[str, Any]:
        """The present moment and what the lines say of it, for the panel's `values`."""
        replay = self._replay
        row = replay.present([line.signal for line in self._lines]) * self._factors
        now = [float(f"{value:.6g}") if value == value else None for value in row.tolist()]
        return {f"{self._name}/now": {"key": self._key, "t": round(replay.time, 6), "y": now}}

    @property
    def _replay(self) -> Replay:
        from brazo.lab.app.replay import Replay

        sim = self._panel.session.shown
        assert isinstance(sim, Replay)
        return sim

    def _table(self, rows: slice = slice(None)) -> np.ndarray:
        return self._replay.table([line.signal for line in self._lines], rows) * self._factors

    def _tell_part(self, start: float, stop: float) -> None:
        from brazo.lab.app.replay import Replay

        page, sim = self._panel.context.channel.page, self._panel.session.shown
        if page is None or not isinstance(sim, Replay):
            return
        t = sim.table([sim.time_name])[:, 0]
        low, high = np.searchsorted(t, [start, stop])
        rows = slice(max(int(low) - 1, 0), int(high) + 1)
        part, y = outlined(t[rows], self._table(rows))
        x, *columns = columns_of(np.column_stack([part, y]))
        told = {"key": self._key, "from": start, "to": stop, "t": x, "y": columns}
        page.send_soon({self._panel.name(f"{self._name}/part"): told})


def outlined(t: np.ndarray, y: np.ndarray, most: int = SENT) -> tuple[np.ndarray, np.ndarray]:
    """At most so many rows that draw the same picture: of each stretch its least and greatest."""
    if len(t) <= most:
        return t, y
    starts = np.linspace(0, len(t), most // 2, endpoint=False).astype(int)
    low, high = np.fmin.reduceat(y, starts, axis=0), np.fmax.reduceat(y, starts, axis=0)
    middles = np.append(starts[1:], len(t)) - 1
    found = np.stack([low, high], axis=1).reshape(-1, y.shape[1])
    found[0], found[-1] = y[0], y[-1]
    return np.stack([t[starts], t[middles]], axis=1).reshape(-1), found


class Figure:
    """Lines that are all there at once."""

    def __init__(self, panel: Panel, name: str) -> None:
        self._panel, self._name = panel, name

    def show(
        self,
        t: np.ndarray,
        lines: Sequence[tuple[Line, str, np.ndarray]],
        bands: Sequence[dict[str, Any]] = (),
    ) -> None:
        """Draw lines, each with its unit and values; `bands` are levels `{unit, low, high}`."""
        key = next(_keys)
        told = [
            {"label": line.label, "unit": unit, "dashed": line.dashed, "color": line.color}
            for line, unit, _ in lines
        ]
        x, *y = columns_of(np.column_stack([t, *(values for _, _, values in lines)]))
        self._panel.put(
            {
                f"{self._name}/lines": {
                    "key": key,
                    "lines": told,
                    "whole": True,
                    "bands": list(bands),
                },
                self._name: {"key": key, "epoch": 0, "at": 0, "t": x, "y": y},
            }
        )

    def clear(self) -> None:
        """Draw nothing."""
        self.show(np.empty(0), [])


def columns_of(rows: np.ndarray) -> list[list[float | None]]:
    """Columns as JSON holds them, the first the time: more digits than a screen shows."""
    t, *y = rows.T.tolist()
    return [
        [round(value, 4) for value in t],
        *(
            [float(f"{value:.6g}") if value == value else None for value in column]  # nan
            for column in y
        ),
    ]
