"""What plots on the pages are fed with: rows as they come (`Feed`) or all at once (`Figure`).

A page draws a plot (`<brazo-plot name="plot">`, in page/plot.js) from two values: `plot/lines` says
what the lines are, `plot` brings rows.  Each message repeats the last `OVERLAP` seconds, so that a
page that skips one misses nothing; a page that comes later asks for all there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.lab.live import live_of
from brazo.lab.panels.html import escape
from brazo.recording.display import shown

if TYPE_CHECKING:
    from brazo.lab.panels.base import Panel

OVERLAP = 0.5  # s
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
        self._live = live_of(panel.lab)
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
        units = [shown(columns[line.signal]) for line in self._lines]
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
        page = self._panel.lab.channel.page
        if page is not None:
            name = self._panel.name(f"{self._name}/all")
            page.send_soon({name: self._chunk(self._live.first)})

    def _chunk(self, start: int) -> dict[str, Any]:
        live = self._live
        rows = live.rows(start, ["t", *(line.signal for line in self._lines)]) * self._factors
        t, *y = columns_of(rows)
        return {"key": self._key, "epoch": live.epoch, "at": max(start, live.first), "t": t, "y": y}


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
