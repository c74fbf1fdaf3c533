"""Parts of study reports: tables, confidence intervals, legends and axes."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from brazo.recording.canvas import SMALL
from brazo.recording.colors import COLORS
from brazo.recording.display import number
from brazo.study.results import Interval


def legend(fig: Any, names: Sequence[str]) -> None:
    """Draw a legend above a figure, with one colour for each name."""
    from matplotlib.lines import Line2D

    lines = [
        Line2D([], [], color=COLORS[k % len(COLORS)], marker="o", ms=3.6, lw=1.2, label=name)
        for k, name in enumerate(names)
    ]
    fig.legend(
        handles=lines,
        loc="outside upper left",
        ncols=min(len(lines), 4),
        frameon=False,
        fontsize=SMALL + 0.5,
    )


def interval_text(value: Interval, factor: float = 1.0, unit: str = "") -> str:
    """Return a value as text, with its confidence interval in parentheses.

    All numbers are multiplied by `factor`, to convert them to `unit`.
    """
    low, high = (number(factor * v) for v in (value.low, value.high))
    return f"{number(factor * value.value)}{unit} ({low} to {high})"


def grid_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an HTML table with the column titles `head`.

    If the text of a cell ends with a part in parentheses, as in "9 (8 to 10)", this part is set in
    `<em>` without the parentheses.
    """
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = ""
    for row in rows:
        cells = ""
        for cell in row:
            value, bracket, rest = cell.partition(" (")
            remark = f" <em>{escape(rest.removesuffix(')'))}</em>" if bracket else ""
            cells += f"<td>{escape(value)}{remark}</td>"
        body += f"<tr>{cells}</tr>"
    return (
        f'<div class="cards"><table class="numbers wide"><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def logarithmic(ax: Any, axis: str) -> None:
    """Make an axis logarithmic, with plain numbers at its ticks."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    getattr(ax, f"set_{axis}scale")("log")
    which = getattr(ax, f"{axis}axis")
    which.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    which.set_major_formatter(FuncFormatter(lambda value, _: number(value, 1)))
    which.set_minor_formatter(NullFormatter())
