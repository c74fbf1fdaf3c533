"""Existing output files: ask for confirmation on a terminal, otherwise require --force."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from brazo.errors import BrazoError

FORCE: bool = typer.Option(False, "--force", "-f", help="Replace existing output files.")
_SHOWN = 3  # files a message names


def require_replaceable(*files: Path | None, force: bool) -> bool:
    """Check, before the work starts, that output files do not exist or may be replaced.

    With `force`, existing files may be replaced.  Otherwise the user is asked on a terminal, and
    the command exits with code 1 if the answer is no.  Without a terminal, an existing file raises
    `BrazoError`.

    Returns True if a file exists and may be replaced, False if no file exists.  In the latter case,
    a file that appears later was written by another process and must not be replaced.
    """
    found = [file for file in files if file is not None and file.is_file()]
    if force or not found:
        return bool(found)
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    names = ", ".join(map(str, found[:_SHOWN])) + more
    it, exists = ("it", "exists") if len(found) == 1 else ("them", "exist")
    if sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty():
        typer.confirm(f"{names} already {exists}. Replace {it}?", abort=True, err=True)
        return True
    raise BrazoError(
        f"{names}: already {exists}; replace {it} with --force (-f), or choose another name"
    )
