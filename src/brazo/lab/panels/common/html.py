"""Functions that return the HTML of the custom elements of a page.

Labels are escaped here.  Common arguments: `name` is the name of the page value that the element
shows.  `event` is the event that it sends on user input (default: `name`).  `args` are arguments
of this event, sent before the value.  The elements are implemented in `server/page/elements.js`
and `fields.js`:

    text      value, read-only                number    numeric input field
    button    push button                     slider    slider with an input field
    toggle    on/off switch                   select    drop-down list
    segments  row of mutually exclusive       table     rows of values, optionally editable
              buttons                         upload    file from the user's computer
    hold      hold-to-run button              gamepad   gamepad and editor of its mapping

An input field sends its value on Enter or when it loses focus, not on each key press.  A value from
the lab never overwrites text that the user is typing.
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
    """HTML of a read-only display of a live value with its unit.

    Set `wide` if the value is text instead of a number.
    """
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
    """HTML of a numeric input field; shows the value `name` and sends what the user typed.

    `digits` is the number of decimals shown.  A typed number outside the range from `least` to
    `most` is replaced by the nearer end of the range.
    """
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
    """HTML of a slider from `least` to `most`, with an input field beside its label.

    `limited` lists the ends of the range ("low", "high" or "low high") that are joint limits.  The
    value is highlighted at these ends.  If only one end is a limit, the label of the opposite end
    is in parentheses.  `marks` are values with a labelled button below the slider; a click on the
    button sets the value.
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
    """HTML of a push button that sends `event` with `args`.

    `enabled` is the name of a page value; the button is disabled while this value is false.
    """
    attributes = _attributes(event=event, args=json.dumps(list(args)) if args else None)
    more = _attributes(look=look, icon=icon, title=title, enabled=enabled)
    return f"<brazo-button {attributes} {more}>{escape(label)}</brazo-button>"


def buttons(*content: str) -> str:
    """HTML of a row of buttons of equal width; `content` is the HTML of each button."""
    return f'<div class="brazo-buttons">{"".join(content)}</div>'


def hold(label: str, event: str, *args: Any, title: str = "", key: str = "") -> str:
    """HTML of a hold-to-run button.

    While the button is pressed, it sends `event` every 50 ms, so that the lab detects a lost
    connection.  The arguments are `args` and a flag, which is true only in the first message of a
    press.  On release, the button sends `<event>-end`.  `key` is a keyboard key with the same
    function; the script of the panel must handle this key.
    """
    attributes = _attributes(event=event, args=json.dumps(list(args)), title=title, key=key)
    return f"<brazo-hold {attributes}>{escape(label)}</brazo-hold>"


def gamepad(
    event: str,
    kind: Literal["joint", "tool"],
    axes: Sequence[str],
    actions: Sequence[Mapping[str, Any]] = (),
) -> str:
    """HTML of a gamepad input, with an editor that maps the gamepad to robot axes.

    `axes` are the labels of the robot axes.  While the gamepad's hold-to-run button is held, the
    element repeatedly sends `event` with the deflections of the axes (-1 to 1) and a flag, which is
    true only in the first message of a press.  On release, it sends `<event>-end`.  The browser
    stores one mapping for each `kind`.

    `actions` are functions of other gamepad buttons: `{"key", "label", "button", "event"}`.  `key`
    identifies the action in the mapping.  `button` is the index of its default button.  `event` is
    sent when the button is pressed.  With `"hold": True`, the event is sent with true on press and
    with false on release.

    The panel must list `panels/common/gamepad.js` in its scripts.
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
    """HTML of an on/off switch; sends true or false."""
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
    """HTML of a drop-down list.

    `options` are texts, or a dict from value to text.  Alternatively, `options_from` is the name of
    a page value that contains the options: a list of texts or of pairs (value, text), or a dict
    from group title to such a list.  If `name` is empty, the list is a menu without a selection.
    `enabled` is the name of a page value; the list is disabled while this value is false.
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
    """HTML of a row of mutually exclusive buttons; `options` maps values to button texts."""
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
    """Description of a column of a `table`, for its argument `columns`.

    The cells show `row[key]`; numbers have `digits` decimals.  If `event` is given, the cells are
    input fields, which send the row's `id` and the typed value.  With `kind="button"`, the cells
    are buttons labelled with `title`.  With `kind="choice"`, the cells are buttons labelled with
    `row[key]` that select the row.  Buttons send `event` with the row's `id`.
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
    """HTML of a table of the rows in the page value `name`: `[{"id": 1, "mark": True, …}, …]`.

    Rows with `mark` are highlighted.  `empty` is shown if there are no rows.  When the pointer or
    the focus enters a row, the event `hover` is sent with the row's `id`; when it leaves the row,
    `<hover>-end` is sent.  Rows are updated in place, so that scroll position and typed text are
    kept.
    """
    content = json.dumps(list(columns))
    attributes = _attributes(name=name, columns=content, label=label, empty=empty, hover=hover)
    return f'<div class="brazo-scroll"><brazo-table {attributes}></brazo-table></div>'


def upload(label: str, event: str, *suffixes: str, look: Look = "plain") -> str:
    """HTML of a file input (dialog, or drag and drop); handle its event with `Panel.on_upload`.

    `suffixes` are the accepted file name endings, e.g. `".csv"`.
    """
    attributes = _attributes(event=event, accept=",".join(suffixes), label=label, look=look)
    return f"<brazo-upload {attributes}></brazo-upload>"


def row(label: str, *content: str, title: str = "") -> str:
    """HTML of a row with a label on the left and controls (`content`) on the right."""
    tip = f' title="{escape(title)}"' if title else ""
    return (
        f'<div class="brazo-field"{tip}><span class="label">{escape(label)}</span>'
        f'<span class="content">{"".join(content)}</span></div>'
    )


def section(title: str, *content: str, open: bool = True, id: str = "") -> str:
    """HTML of a collapsible section of a panel, initially expanded if `open`.

    The page stores under `id` (default: `title`) whether the section is expanded.
    """
    state = "open" if open else ""
    mark = f' data-fold="{escape(id or title)}"'
    return (
        f'<details class="brazo-section"{mark} {state}><summary>{escape(title)}</summary>'
        f"<div>{''.join(content)}</div></details>"
    )


def note(content: str) -> str:
    """HTML of static text in small print, such as a hint."""
    return f'<p class="brazo-note">{escape(content)}</p>'


def caution(name: str) -> str:
    """HTML of a highlighted live text, for warnings; hidden while the value `name` is empty."""
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
