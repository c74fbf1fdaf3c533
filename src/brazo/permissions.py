"""Folders and files that only their owner may write, and secrets that only the owner may read.

Compiled objects are loaded and executed, so their folder must belong to the current user and must
not be writable by others.  On systems without Unix permissions (Windows) user folders are private
by default, and owner and mode are not checked.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from brazo.errors import BrazoError

_WRITABLE = stat.S_IWGRP | stat.S_IWOTH
_READABLE = stat.S_IRGRP | stat.S_IROTH


def make_private(folder: Path) -> None:
    """Create a folder with mode 0700 if it does not exist, then check it with `check_private`.

    Raises BrazoError if the folder cannot be created or the check fails.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise BrazoError(f"{folder}: cannot be created: {error.strerror or error}") from None
    check_private(folder)


def check_private(folder: Path) -> None:
    """Raise BrazoError unless a folder belongs to the user and no other user may write to it."""
    try:
        found = folder.stat()
    except OSError as error:
        raise BrazoError(f"{folder}: cannot be opened: {error.strerror or error}") from None
    if not stat.S_ISDIR(found.st_mode):
        raise BrazoError(f"{folder}: not a folder")
    if reason := not_private(found):
        raise BrazoError(f"{folder}: {reason}; {advice(folder)}")


def not_private(found: os.stat_result) -> str:
    """Return the reason why a file or folder is not private; empty if it is private.

    `found` is the status of the file or folder.  Private means that it belongs to the user and that
    no other user may write to it.  Without Unix permissions, the result is always empty.
    """
    if not hasattr(os, "geteuid"):
        return ""
    if found.st_uid != os.geteuid():
        return f"belongs to another user (uid {found.st_uid}, not {os.geteuid()})"
    if found.st_mode & _WRITABLE:
        return f"other users may write to it (mode {stat.S_IMODE(found.st_mode):04o})"
    return ""


def advice(folder: Path) -> str:
    """Return the part of an error message that explains how to make a folder private."""
    return f"remove it, or make it private: chmod 700 {folder}"


def prune(folder: Path, suffix: str, *, files: int, size: int) -> None:
    """Remove the oldest files with a suffix until at most `files` files and `size` bytes are left.

    The files are ordered by the time of their last modification.  The newest file is always kept.
    File system errors are ignored; a file that cannot be examined is skipped.
    """
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(suffix):
                # Another process may prune the folder at the same time.
                with contextlib.suppress(OSError):
                    found.append((entry.stat(), entry.path))
    found.sort(key=lambda entry: entry[0].st_mtime, reverse=True)
    total = 0
    for count, (info, path) in enumerate(found, start=1):
        total += info.st_size
        if count > 1 and (count > files or total > size):
            with contextlib.suppress(OSError):
                Path(path).unlink()


def read_secret(path: Path) -> str:
    """Return the first line of a file, without surrounding spaces.

    Only the first 4096 bytes are read.  Raises BrazoError if the file cannot be read, is not UTF-8,
    or may be read or written by other users.
    """
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            content = file.read(4096)
    except OSError as error:
        raise BrazoError(f"{path}: cannot be read: {error.strerror or error}") from None
    if hasattr(os, "geteuid") and found.st_mode & (_READABLE | _WRITABLE):
        raise BrazoError(
            f"{path}: other users may read or change it (mode {stat.S_IMODE(found.st_mode):04o}); "
            f"make it private: chmod 600 {path}"
        )
    try:
        return content.decode("utf-8").partition("\n")[0].strip()
    except UnicodeDecodeError:
        raise BrazoError(f"{path}: not UTF-8 text; expected a token on the first line") from None
