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

    Returns whether there are files to replace.  If not, a file that appears during the work
    belongs to another process and must be kept.  On a terminal the user is asked, and the command
    exits with code 1 if the answer is no.  Without a terminal and without `force`, an existing
    file raises `BrazoError`.
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
        f"{names}: already {exists}; --force (-f) replaces {it}, or choose another name"
    )
