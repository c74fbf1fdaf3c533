"""A run as one HTML page: what it was, its key numbers, its figures, its events.

The page carries everything in itself, loads nothing and runs no script; names from files are
escaped.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from brazo.files import replacing
from brazo.recording.plots import svg
from brazo.recording.recording import Recording

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2128; --soft: #667080; --line: #d9dee5; --paper: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ee; --soft: #9aa4b2; --line: #39414d; --paper: #1a1e24; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
p.about { color: var(--soft); margin: .25rem 0 1.5rem; }
table { border-collapse: collapse; } td, th { padding: .25rem .9rem .25rem 0; text-align: left;
  border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }
td.number { text-align: right; }
figure { margin: 1rem 0; background: #fff; border: 1px solid var(--line); border-radius: 6px;
  padding: .5rem; } figure svg { width: 100%; height: auto; display: block; }
"""


def write_report(
    recording: Recording,
    path: str | Path,
    title: str,
    figures: Mapping[str, Sequence[str]],
    numbers: Mapping[str, str] | None = None,
) -> Path:
    """Write the page; `figures` maps a title to the signals (patterns) it shows."""
    path = Path(path)
    parts = [f"<h1>{html.escape(title)}</h1>"]
    about = " · ".join(f"{key}: {value}" for key, value in recording.about.items())
    parts.append(f'<p class="about">{html.escape(about)}</p>')
    parts.append("<h2>Key numbers</h2>" + _table({**key_numbers(recording), **(numbers or {})}))
    for heading, patterns in figures.items():
        drawing = svg(recording, patterns)
        parts.append(f"<h2>{html.escape(heading)}</h2><figure>{drawing}</figure>")
    if recording.events:
        rows = "".join(
            f'<tr><td class="number">{float(e.get("t", 0.0)):.3f}</td>'
            f"<td>{html.escape(str(e.get('kind', '')))}</td>"
            f"<td>{html.escape(str(e.get('text', '')))}</td></tr>"
            for e in recording.events
        )
        head = "<tr><th>t [s]</th><th>kind</th><th>what</th></tr>"
        parts.append(f"<h2>Events</h2><table>{head}{rows}</table>")
    page = (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style><body>"
        + "\n".join(parts)
        + "</body></html>\n"
    )
    with replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return path


def key_numbers(recording: Recording) -> dict[str, str]:
    """Duration, samples, and the greatest size of each group of signals."""
    names = list(recording.columns)
    t = recording[names[0]]
    found = {}
    if len(t):
        found["duration"] = f"{t[-1] - t[0]:.3f} s"
        found["samples"] = f"{len(t)}"
    groups: dict[str, list[str]] = {}
    for name in names[1:]:
        groups.setdefault(name.rpartition(".")[0] or name, []).append(name)
    for group, members in groups.items():
        unit = recording.unit(members[0])
        values = np.array([np.nanmax(np.abs(recording[m])) if len(t) else 0.0 for m in members])
        worst = int(values.argmax())
        if len({recording.unit(m) for m in members}) == 1:
            label = members[worst].rpartition(".")[2]
            found[f"greatest |{group}|"] = f"{values[worst]:.4g} {unit} ({label})"
    return found


def _table(rows: Mapping[str, str]) -> str:
    body = "".join(
        f'<tr><td>{html.escape(key)}</td><td class="number">{html.escape(value)}</td></tr>'
        for key, value in rows.items()
    )
    return f"<table>{body}</table>"
