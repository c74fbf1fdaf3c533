"""The one exception root: every complaint brazo raises about a user's input is a `BrazoError`.

A message says what was wrong, where (file, line, field), what is allowed and what to do.  `at`
builds the `file:line: field:` head that all readers share, so the shell and the lab can print any
error as it stands.
"""

from __future__ import annotations

from pathlib import Path


class BrazoError(Exception):
    """Something the user gave cannot be used; the message is meant for the user."""


def at(path: str | Path | None, line: int | None, field: str = "") -> str:
    """Return the head `file:line: field: ` of a message (parts that are unknown are left out)."""
    head = ""
    if path is not None:
        head = f"{path}:{line}: " if line else f"{path}: "
    return f"{head}{field}: " if field else head
