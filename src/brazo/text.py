"""Text from files, peers and names, made safe to show.

A name may hold anything, a line break or an escape sequence included: printed as it is, it could
forge a line of a log or drive the terminal.  Every output passes its text through this module,
which replaces such characters by their escapes (`\\n`, `\\x1b`, `\\u202e`):

    control characters (C0, DEL, C1)     line and paragraph separators
    marks that reverse the direction     lone surrogates, which no output can encode
"""

from __future__ import annotations

import re

_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def one_line(text: object) -> str:
    """Text on one line, control characters escaped."""
    return _UNSAFE.sub(_escaped, str(text))


def printable(text: object) -> str:
    """Text that may have several lines; its other control characters are escaped."""
    return "\n".join(map(one_line, str(text).split("\n")))


def is_one_line(text: str) -> bool:
    """Whether text has none of the characters that `one_line` escapes."""
    return _UNSAFE.search(text) is None


def json_text(document: str) -> str:
    """A JSON document whose strings hold no control character; it still means the same."""
    return _UNSAFE.sub(
        lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", document
    )


def trace_text(error: BaseException) -> str:
    """The traceback of an error, for a log."""
    import traceback

    return printable("".join(traceback.format_exception(error)).rstrip())


def _escaped(found: re.Match[str]) -> str:
    sign = found[0]
    code = ord(sign)
    return _NAMED.get(sign) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")
