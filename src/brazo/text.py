"""Escaping of untrusted text from files, peers and names.

A name may contain line breaks or escape sequences, which could forge a log line or control the
terminal if printed unchanged.  All output passes through this module, which replaces such
characters by escapes (`\\n`, `\\x1b`, `\\u202e`):

    control characters (C0, DEL, C1)     line and paragraph separators
    bidirectional formatting marks       lone surrogates, which cannot be encoded
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def one_line(text: object) -> str:
    """Return text on one line, with unsafe characters escaped.

    Unsafe are control characters, line and paragraph separators, bidirectional formatting marks and
    lone surrogates.
    """
    return _UNSAFE.sub(_escaped, str(text))


def printable(text: object) -> str:
    """Return text with the characters escaped that `one_line` escapes, except line feeds."""
    return "\n".join(map(one_line, str(text).split("\n")))


def is_one_line(text: str) -> bool:
    """Return whether text contains none of the characters that `one_line` escapes."""
    return _UNSAFE.search(text) is None


def json_text(document: str) -> str:
    """Return an equivalent JSON document, with unsafe characters in its strings escaped.

    The unsafe characters are those that `one_line` escapes.  The document must not contain tabs or
    carriage returns between its values.
    """
    return _UNSAFE.sub(
        lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", document
    )


def html_table(title: str, header: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Return an HTML table with escaped text.

    The first column is left-aligned, the others are right-aligned.
    """

    def cells(values: Sequence[object], tag: str) -> str:
        texts = [escape(one_line(value)) for value in values]
        sides = ["left"] + ["right"] * (len(texts) - 1)
        pairs = zip(texts, sides, strict=True)
        return "".join(f'<{tag} style="text-align:{side}">{x}</{tag}>' for x, side in pairs)

    head = f"<thead><tr>{cells(header, 'th')}</tr></thead>"
    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    caption = f'<caption style="text-align:left">{escape(one_line(title))}</caption>'
    return f"<table>{caption}{head}<tbody>{body}</tbody></table>"


def trace_text(error: BaseException) -> str:
    """Return the traceback of an exception as text for a log."""
    import traceback

    return printable("".join(traceback.format_exception(error)).rstrip())


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    return _NAMED.get(character) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")
