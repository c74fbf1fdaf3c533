"""HTML report of a run: description, key figures, plots, events.

The page is self-contained: it loads nothing and runs no script, so it can be mailed, archived and
printed.  Page and plots follow the light or dark setting of the browser.  Names from files are
escaped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from brazo.errors import BrazoError
from brazo.files import replacing
from brazo.recording.canvas import svg_text
from brazo.recording.colors import BAD, COLORS, DARK_COLORS, GRID, INK, ON_COLOR, SOFT
from brazo.recording.display import number
from brazo.recording.drawable import drawable
from brazo.recording.figures import Chapter, default_figures
from brazo.recording.names import SIMULATED
from brazo.recording.numbers import Table, key_numbers, names_of
from brazo.recording.origin import SOURCE
from brazo.recording.plots import figure
from brazo.recording.recording import Recording
from brazo.recording.source import event_time

EVENT_ROWS = 400  # max rows per kind of event
_HIDDEN = ("limits", "costs", "title", SOURCE)  # shown elsewhere on the page, or too long
Figures = Mapping[str, str | Sequence[str]] | Sequence[Chapter]


def write_report(
    recording: Recording,
    path: str | Path,
    title: str = "",
    *,
    verdict: str = "",
    success: bool | None = None,
    numbers: Mapping[str, str | Mapping[str, str]] | None = None,
    costs: Mapping[str, float] | None = None,
    figures: Figures | None = None,
) -> Path:
    """Write an HTML report of a run.

    `verdict` is a sentence on the result, marked as good or bad by `success`.  `numbers` are added
    to the key figures: name -> value, or heading -> table of names and values.  `costs` maps the
    parts of a simulation step to their computing time (µs).  `figures` maps titles to signals, or
    is a list of chapters.  By default, all figures for which there is data are included.
    """
    recording, gaps = drawable(recording)
    title = title or recording.about.get("title") or recording.about.get("cell", "Run")
    chapters = default_figures(recording) if figures is None else _chapters(recording, figures)
    parts = [
        _header(recording, title, verdict, success),
        _numbers(recording, _left_out(gaps) | dict(numbers or {})),
        _costs(costs if costs is not None else _costs_of(recording)),
        *(chapter_section(chapter) for chapter in chapters),
        _events(recording),
        _about(recording),
    ]
    return write_page(path, title, parts)


def write_page(path: str | Path, title: str, parts: Sequence[str]) -> Path:
    """Write an HTML page in the style of reports from parts of its body; empty parts are omitted.

    The page is self-contained: it loads nothing and runs no script.
    """
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise BrazoError(f"{path}: the name of a report must end in .html")
    style = resources.files("brazo.recording").joinpath("report.css").read_text(encoding="utf-8")
    page = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        # The page can load and run nothing, even if a name contained markup.
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{escape(title)}</title>\n<style>{_palette()}{style}</style>\n</head>\n"
        "<body>\n<main>\n" + "\n".join(part for part in parts if part) + "\n</main>\n</body>\n"
        "</html>\n"
    )
    with replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return path


def _left_out(gaps: int) -> dict[str, str | Mapping[str, str]]:
    return {"values left out": f"{gaps} (not finite, or too large)"} if gaps else {}


def _header(recording: Recording, title: str, verdict: str, success: bool | None) -> str:
    about = recording.about
    t = recording.t
    facts = []
    if "cell" in about:
        facts.append(f"cell <b>{escape(about['cell'])}</b>")
    if robots := about.get("robots") or about.get("robot"):
        facts.append(escape(robots))
    if len(t):
        wall = SIMULATED in recording.columns
        clock = "wall-clock time" if wall else "simulated time"
        facts.append(f"{float(t[0]):g} s to {float(t[-1]):.6g} s {clock}")
    if "seed" in about:
        facts.append(f"seed {escape(about['seed'])}")
    if "brazo" in about:
        facts.append(f"brazo {escape(about['brazo'])}")
    mark = {True: "good", False: "bad", None: "plain"}[success]
    result = f'<p class="verdict {mark}">{escape(verdict)}</p>' if verdict else ""
    line = " · ".join(facts)
    return f'<header>\n<h1>{escape(title)}</h1>\n<p class="facts">{line}</p>\n{result}</header>'


def _numbers(recording: Recording, more: Mapping[str, str | Mapping[str, str]]) -> str:
    tables = key_numbers(recording)
    run = tables.pop("Run", {})
    run |= {key: str(value) for key, value in more.items() if not isinstance(value, Mapping)}
    cards = [_table("Run", run)]
    robots = list(tables)
    if robots:
        cards.append(_compared("Robots" if len(robots) > 1 else robots[0], tables))
    for heading, table in more.items():
        if isinstance(table, Mapping):
            cards.append(_table(heading, {k: str(v) for k, v in table.items()}))
    body = "\n".join(card for card in cards if card)
    return f'<section>\n<h2>Key figures</h2>\n<div class="cards">\n{body}\n</div>\n</section>'


def _table(heading: str, rows: Table) -> str:
    if not rows:
        return ""
    body = "".join(
        f"<tr><th>{escape(key)}</th><td>{_value(value)}</td></tr>" for key, value in rows.items()
    )
    return f'<table class="numbers"><caption>{escape(heading)}</caption>{body}</table>'


def _value(text: str) -> str:
    """Return a value as HTML; a remark in parentheses after it is shown in grey."""
    value, bracket, rest = text.partition(" (")
    remark = f" <em>{escape(rest.removesuffix(')'))}</em>" if bracket else ""
    return escape(value) + remark


def _compared(heading: str, tables: Mapping[str, Table]) -> str:
    """Return an HTML table of key figures with one column per robot."""
    head = "".join(f"<th>{escape(name)}</th>" for name in tables) if len(tables) > 1 else ""
    head = f"<thead><tr><th></th>{head}</tr></thead>" if head else ""
    body = ""
    for row in names_of(list(tables.values())):
        cells = "".join(f"<td>{_value(table.get(row, '–'))}</td>" for table in tables.values())
        body += f"<tr><th>{escape(row)}</th>{cells}</tr>"
    return (
        f'<table class="numbers wide"><caption>{escape(heading)}</caption>{head}'
        f"<tbody>{body}</tbody></table>"
    )


def _costs_of(recording: Recording) -> dict[str, float]:
    """Return the computing times (µs) by part of a step, from `about["costs"]` (JSON)."""
    try:
        found = json.loads(recording.about.get("costs", "{}"))
        return {str(k): float(v) for k, v in found.items() if isinstance(v, (int, float))}
    except (ValueError, AttributeError):
        return {}


def _costs(costs: Mapping[str, float]) -> str:
    """Return an HTML bar chart of the computing times (µs) of the parts of a step."""
    shares = {name: value for name, value in costs.items() if value > 0}
    total = sum(shares.values())
    if not total:
        return ""
    bar, legend = "", ""
    for i, (name, value) in enumerate(shares.items()):
        share = 100 * value / total
        color = f"var(--c{1 + i % len(COLORS)})"
        text = f"{escape(name)} {number(value, 3)} µs"
        bar += f'<span style="width:{share:.2f}%;background:{color}" title="{text}"></span>'
        legend += f'<li><i style="background:{color}"></i>{text} <em>{number(share, 2)} %</em></li>'
    return (
        f"<section>\n<h2>Step time: {number(total, 3)} µs</h2>\n"
        f'<div class="bar">{bar}</div>\n<ul class="legend">{legend}</ul>\n</section>'
    )


def chapter_section(chapter: Chapter) -> str:
    """Return a chapter of a page as HTML: heading, caption, figure."""
    drawing = _themed(svg_text(chapter.figure))
    label = escape(chapter.title, quote=True)
    drawing = drawing.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
    text = f"<p>{escape(chapter.text)}</p>" if chapter.text else ""
    return (
        f'<section class="chapter">\n<h2>{escape(chapter.title)}</h2>\n{text}'
        f"<figure>{drawing}</figure>\n</section>"
    )


def _chapters(recording: Recording, figures: Figures) -> list[Chapter]:
    if not isinstance(figures, Mapping):
        return list(figures)
    return [Chapter(title, "", figure(recording, names)) for title, names in figures.items()]


def _events(recording: Recording) -> str:
    """Return a collapsible table for each kind of event; infrequent kinds are expanded."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for event in recording.events_of():
        groups.setdefault(str(event.get("kind", "")) or "event", []).append(event)
    if not groups:
        return ""
    parts = []
    for kind, events in sorted(groups.items(), key=lambda item: len(item[1])):
        rows = "".join(
            f"<tr><td>{event_time(e):.3f}</td><td>{escape(str(e.get('text', '')))}</td></tr>"
            for e in events[:EVENT_ROWS]
        )
        left = len(events) - EVENT_ROWS
        more = f'<p class="soft">and {left} more in the recording</p>' if left > 0 else ""
        shown = " open" if len(events) <= 12 else ""
        parts.append(
            f"<details{shown}><summary>{escape(kind)} <em>{len(events)}</em></summary>"
            f'<table class="events"><thead><tr><th>t [s]</th><th>event</th></tr></thead>'
            f"<tbody>{rows}</tbody></table>{more}</details>"
        )
    return f"<section>\n<h2>Events</h2>\n{''.join(parts)}\n</section>"


def _about(recording: Recording) -> str:
    rows = "".join(
        f"<tr><th>{escape(key)}</th><td>{escape(value[:2000])}</td></tr>"
        for key, value in recording.about.items()
        if value and key not in _HIDDEN
    )
    names = escape(", ".join(recording.names))
    table = f'<table class="about">{rows}<tr><th>signals</th><td>{names}</td></tr></table>'
    head = "<summary>About this recording</summary>"
    return f"<section>\n<details>{head}{table}</details>\n</section>"


def _palette() -> str:
    """Return the CSS colours of page and figures, for light and dark mode."""
    light = "".join(f"--c{i + 1}:{c};" for i, c in enumerate(COLORS))
    dark = "".join(f"--c{i + 1}:{c};" for i, c in enumerate(DARK_COLORS))
    return (
        f":root{{--ink:{INK};--soft:{SOFT};--grid:{GRID};{light}}}\n"
        "@media screen and (prefers-color-scheme: dark){:root{"
        f"--ink:#e6e9ee;--soft:#9aa5b4;--grid:#343b46;{dark}}}}}\n"
    )


def _themed(svg: str) -> str:
    """Return the SVG of a figure with its colours replaced by the CSS variables of the page."""
    names = {INK: "ink", SOFT: "soft", GRID: "grid", ON_COLOR: "paper", BAD: "bad"}
    names |= {color: f"c{i + 1}" for i, color in enumerate(COLORS)}
    for color, name in names.items():
        svg = svg.replace(color, f"var(--{name})")
    return svg
