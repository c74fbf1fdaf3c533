"""HTML of the page's custom elements.

Every function returns HTML; labels are escaped here.  `name` is the value that an element shows,
`event` the event that it sends on user input (default: `name`), `args` the arguments sent before
the value.  The elements are implemented in `server/page/elements.js` and `fields.js`:

    text      value, read-only                number    numeric input field
    button    push button                     slider    slider with an input field
    toggle    on/off switch                   select    drop-down list
    segments  row of mutually exclusive       table     rows of values, optionally editable
              buttons                         upload    file from the user's computer
    hold      hold-to-run button              gamepad   gamepad with its mapping

A field sends its value on Enter or when it loses focus, not on each key press.  Values from the
lab never overwrite text that is being typed.
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
    "gamepad",
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
    """Live value with its unit; `wide` for text instead of a number."""
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
    """Input field that shows a value and sends the typed one."""
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
    title: str = "",
) -> str:
    """Slider with an input field beside its label.

    `limited` names the ends ("low", "high") that are limits of the robot; the value is highlighted
    there, and the opposite end is shown in parentheses.
    """
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
            title=title or None,
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
    """Push button; `enabled` is the name of a value that must be true."""
    attributes = _attributes(event=event, args=json.dumps(list(args)) if args else None)
    more = _attributes(look=look, icon=icon, title=title, enabled=enabled)
    return f"<brazo-button {attributes} {more}>{escape(label)}</brazo-button>"


def buttons(*content: str) -> str:
    """Row of buttons of equal width."""
    return f'<div class="brazo-buttons">{"".join(content)}</div>'


def hold(label: str, event: str, *args: Any, title: str = "", key: str = "") -> str:
    """Hold-to-run button: sends `event` with `args` while pressed, then `event-end`.

    The event is repeated every 50 ms, so that the lab detects a lost page.  `key` is the keyboard
    key with the same function.
    """
    attributes = _attributes(event=event, args=json.dumps(list(args)), title=title, key=key)
    return f"<brazo-hold {attributes}>{escape(label)}</brazo-hold>"


def gamepad(
    event: str,
    kind: Literal["joint", "tool"],
    axes: Sequence[str],
    actions: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Gamepad of the user's browser, with the editor of its mapping to axes with these labels.

    While its hold-to-run button is held, sends `event` with the deflections of the axes (-1 to 1)
    and whether the button was just pressed, then `event-end`.  `kind` names the mapping that the
    browser keeps.  `actions` are further buttons: `{"key", "label", "button", "event"}` with the
    default button and the event sent when it goes down; with `"hold": True` the event has true
    when it goes down and false when it comes up.  A panel with a gamepad needs the script
    `panels/common/gamepad.js`.
    """
    attributes = _attributes(
        event=event,
        kind=kind,
        axes=json.dumps(list(axes)),
        actions=json.dumps([dict(action) for action in actions]),
    )
    return f"<brazo-gamepad {attributes}></brazo-gamepad>"


def toggle(
    name: str, label: str, *, event: str | None = None, args: Sequence[Any] = (), title: str = ""
) -> str:
    """On/off switch; sends true or false."""
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
    enabled: str = "",
) -> str:
    """Drop-down list: of texts, of `{value: text}`, or of the list in the value `options_from`.

    `enabled` is the name of a value that must be true.
    """
    pairs = options.items() if isinstance(options, Mapping) else [(o, o) for o in options or ()]
    inner = "".join(
        f'<option value="{escape(str(value))}">{escape(str(shown))}</option>'
        for value, shown in pairs
    )
    more = _attributes(label=label, placeholder=placeholder, options=options_from, enabled=enabled)
    return f"<brazo-select {_tied(name, event, args)} {more}>{inner}</brazo-select>"


def segments(
    name: str,
    options: Mapping[str, str],
    *,
    label: str,
    event: str | None = None,
    args: Sequence[Any] = (),
) -> str:
    """Row of mutually exclusive buttons: `{value: text}`."""
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
    """Column of a table: shows `row[key]`, as a number if `digits` is given.

    With `event`, the cells are input fields that send the row's `id` and the typed value.  With
    `kind="button"` they are buttons labelled with the title; with `kind="choice"` they are buttons
    labelled with the value, which select the row.  Both send the row's `id`.  The marked row is
    the selected one.
    """
    return {
        "key": key,
        "title": title,
        "unit": unit,
        "digits": digits,
        "event": event,
        "kind": kind,
    }


def table(
    name: str,
    columns: Sequence[dict[str, Any]],
    *,
    label: str,
    empty: str = "",
    hover: str = "",
) -> str:
    """Table of the rows in the value `name`: `[{"id": 1, "mark": True, …}, …]`.

    Marked rows are highlighted.  The event `hover` is sent with the row's `id` while the pointer is
    on a row, then `hover-end`.  Rows are updated in place, so that scroll position, selection and
    typed text are kept.
    """
    content = json.dumps(list(columns))
    attributes = _attributes(name=name, columns=content, label=label, empty=empty, hover=hover)
    return f'<div class="brazo-scroll"><brazo-table {attributes}></brazo-table></div>'


def upload(label: str, event: str, *suffixes: str, look: Look = "plain") -> str:
    """File input, by dialog or drag and drop; handled by the panel's `on_upload`."""
    attributes = _attributes(event=event, accept=",".join(suffixes), label=label, look=look)
    return f"<brazo-upload {attributes}></brazo-upload>"


def row(label: str, *content: str, title: str = "") -> str:
    """Row with a label on the left and controls on the right."""
    tip = f' title="{escape(title)}"' if title else ""
    return (
        f'<div class="brazo-field"{tip}><span class="label">{escape(label)}</span>'
        f'<span class="content">{"".join(content)}</span></div>'
    )


def section(title: str, *content: str, open: bool = True, id: str = "") -> str:
    """Collapsible section of a panel; the page remembers its state by `id` (default: `title`)."""
    state = "open" if open else ""
    mark = f' data-fold="{escape(id or title)}"'
    return (
        f'<details class="brazo-section"{mark} {state}><summary>{escape(title)}</summary>'
        f"<div>{''.join(content)}</div></details>"
    )


def note(content: str) -> str:
    """Static text in small print."""
    return f'<p class="brazo-note">{escape(content)}</p>'


def caution(name: str) -> str:
    """Highlighted live text; hidden while empty."""
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
