"""The page's own elements, written from Python.

Every function gives a piece of HTML; labels are escaped here.  `name` is the value an element
shows, `event` (the same name unless said otherwise) what it sends when the user acts, `args` what
is sent before the value.  The elements themselves are in `server/page/elements.js` and `fields.js`:

    text      a value                         number    a field to type into
    button    a click                         slider    a track and a field
    toggle    on or off                       select    one of a list
    segments  one of few                      table     rows of values, some to type into
    hold      down as long as it is pressed   upload    a file from the user's machine

A field acts on Enter or when it is left, never on a key, and what the lab says never overwrites
what is being typed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Literal

from brazo.lab.app.quantities import fixed

__all__ = [
    "button",
    "buttons",
    "caution",
    "column",
    "escape",
    "fixed",
    "hold",
    "note",
    "number",
    "row",
    "section",
    "segments",
    "select",
    "slider",
    "table",
    "text",
    "toggle",
    "upload",
]

Look = Literal["plain", "primary", "danger", "quiet"]


def text(name: str, unit: str = "", *, label: str = "", wide: bool = False) -> str:
    """A live value with its unit; `wide` for words rather than a number."""
    shown = f'<span class="unit">{escape(unit)}</span>' if unit else ""
    kind = "words" if wide else "figure"
    return f'<brazo-text class="{kind}" {_attributes(name=name, label=label)}></brazo-text>{shown}'


def number(
    name: str,
    unit: str = "",
    *,
    label: str,
    event: str | None = None,
    args: Sequence[Any] = (),
    digits: int = 2,
    least: float | None = None,
    most: float | None = None,
) -> str:
    """A field that shows a value and sends what is typed."""
    shown = f'<span class="unit">{escape(unit)}</span>' if unit else ""
    return (
        f"<brazo-number {_tied(name, event, args)} "
        f"{_attributes(label=label, digits=digits, min=least, max=most)}></brazo-number>{shown}"
    )


def slider(
    name: str,
    unit: str = "",
    *,
    label: str,
    least: float,
    most: float,
    event: str | None = None,
    args: Sequence[Any] = (),
    digits: int = 2,
    limited: str = "",
    marks: Iterable[float] = (),
) -> str:
    """A track to pull with a field beside its label; `limited` names the ends that are hard."""
    return (
        f"<brazo-slider {_tied(name, event, args)} "
        + _attributes(
            label=label,
            unit=unit,
            min=least,
            max=most,
            digits=digits,
            limited=limited,
            marks=json.dumps(list(marks)) if marks else None,
        )
        + "></brazo-slider>"
    )


def button(
    label: str,
    event: str,
    *args: Any,
    look: Look = "plain",
    icon: str = "",
    title: str = "",
    enabled: str = "",
) -> str:
    """A click; `enabled` is the name of a value that must be true."""
    attributes = _attributes(event=event, args=json.dumps(list(args)) if args else None)
    more = _attributes(look=look, icon=icon, title=title, enabled=enabled)
    return f"<brazo-button {attributes} {more}>{escape(label)}</brazo-button>"


def buttons(*content: str) -> str:
    """Buttons in a row, of equal width."""
    return f'<div class="brazo-buttons">{"".join(content)}</div>'


def hold(label: str, event: str, *args: Any, title: str = "", key: str = "") -> str:
    """A button that is *held*: sends `event` with `args` while it is down, then `event-end`.

    Sent anew every 50 ms, so that a lost page is noticed; `key` holds it from the keyboard.
    """
    attributes = _attributes(event=event, args=json.dumps(list(args)), title=title, key=key)
    return f"<brazo-hold {attributes}>{escape(label)}</brazo-hold>"


def toggle(
    name: str, label: str, *, event: str | None = None, args: Sequence[Any] = (), title: str = ""
) -> str:
    """On or off; sends true or false."""
    return (
        f"<brazo-toggle {_tied(name, event, args)} {_attributes(label=label, title=title)}>"
        "</brazo-toggle>"
    )


def select(
    name: str,
    options: Iterable[str] | Mapping[str, str] | None = None,
    *,
    label: str,
    event: str | None = None,
    args: Sequence[Any] = (),
    placeholder: str = "",
    options_from: str = "",
) -> str:
    """One of a list: of texts, of `{value: text}`, or of the list in the value `options_from`."""
    pairs = options.items() if isinstance(options, Mapping) else [(o, o) for o in options or ()]
    inner = "".join(
        f'<option value="{escape(str(value))}">{escape(str(shown))}</option>'
        for value, shown in pairs
    )
    more = _attributes(label=label, placeholder=placeholder, options=options_from)
    return f"<brazo-select {_tied(name, event, args)} {more}>{inner}</brazo-select>"


def segments(
    name: str,
    options: Mapping[str, str],
    *,
    label: str,
    event: str | None = None,
    args: Sequence[Any] = (),
) -> str:
    """One of few, all in view: `{value: text}`."""
    return (
        f"<brazo-segments {_tied(name, event, args)} "
        f"{_attributes(label=label, options=json.dumps(list(options.items())))}></brazo-segments>"
    )


def column(
    key: str,
    title: str,
    *,
    unit: str = "",
    digits: int | None = None,
    event: str = "",
    kind: str = "",
) -> dict[str, Any]:
    """A column of a table: shows `row[key]`, with `digits` as a number.

    With `event` it is a field (sends the row's `id` and what was typed), with `kind="button"` a
    button with the title as its label, or with `kind="choice"` the value as a button that chooses
    the row (both send the row's `id`); a marked row is the chosen one.
    """
    return {
        "key": key,
        "title": title,
        "unit": unit,
        "digits": digits,
        "event": event,
        "kind": kind,
    }


def table(name: str, columns: Sequence[dict[str, Any]], *, label: str, empty: str = "") -> str:
    """The rows in the value `name`: `[{"id": 1, "mark": True, …}, …]`; a marked row stands out.

    Rows are changed in place: scrolling, selection and typing survive.
    """
    attributes = _attributes(name=name, columns=json.dumps(list(columns)), label=label, empty=empty)
    return f'<div class="brazo-scroll"><brazo-table {attributes}></brazo-table></div>'


def upload(label: str, event: str, *suffixes: str, look: Look = "plain") -> str:
    """A file to choose or to drop here; goes to the panel's `on_upload`."""
    attributes = _attributes(event=event, accept=",".join(suffixes), label=label, look=look)
    return f"<brazo-upload {attributes}></brazo-upload>"


def row(label: str, *content: str, title: str = "") -> str:
    """A label on the left, controls on the right."""
    tip = f' title="{escape(title)}"' if title else ""
    return (
        f'<div class="brazo-field"{tip}><span class="label">{escape(label)}</span>'
        f'<span class="content">{"".join(content)}</span></div>'
    )


def section(title: str, *content: str, open: bool = True, id: str = "") -> str:
    """A part of a panel that can be folded away; the page remembers whether it is."""
    state = "open" if open else ""
    mark = f' data-fold="{escape(id or title)}"'
    return (
        f'<details class="brazo-section"{mark} {state}><summary>{escape(title)}</summary>'
        f"<div>{''.join(content)}</div></details>"
    )


def note(content: str) -> str:
    """A sentence in small print."""
    return f'<p class="brazo-note">{escape(content)}</p>'


def caution(name: str) -> str:
    """A live sentence that stands out; not in view while it is empty."""
    return f'<brazo-text class="caution" {_attributes(name=name)}></brazo-text>'


def _tied(name: str, event: str | None, args: Sequence[Any]) -> str:
    given = json.dumps(list(args)) if args else None
    return _attributes(name=name, event=name if event is None else event, args=given)


def _attributes(**values: Any) -> str:
    return " ".join(
        f'{key}="{escape(_written(value))}"'
        for key, value in values.items()
        if value is not None and value != ""
    )


def _written(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)
