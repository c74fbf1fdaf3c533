"""Checks for regular files, atomic writes, and locks on files being written.

A file is written under a temporary name in the same folder, synced, then renamed.  A lock belongs
to an open file.  The operating system releases it when the process ends, even if it is killed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from brazo.errors import BrazoError

_LOCKED_BYTE = 1 << 62
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe (FIFO)",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def require_regular(path: Path) -> os.stat_result:
    """Return the status of a regular file; raise BrazoError for folders, pipes and devices.

    Reading a pipe or device could block.  Raises FileNotFoundError if the path does not exist.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise BrazoError(f"{path}: cannot be read: {_reason(error)}") from None
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "not a regular file")
        raise BrazoError(f"{path}: cannot be read: it is {kind}; give a regular file")
    return status


def require_file(path: Path) -> os.stat_result:
    """Same as `require_regular`, but raise `BrazoError` if the path does not exist."""
    try:
        return require_regular(path)
    except FileNotFoundError:
        raise BrazoError(f"{path}: no such file") from None


def existing(path: str | Path) -> Path | None:
    """Return the path with `~` expanded; None if it does not exist or is invalid."""
    try:
        expanded = Path(path).expanduser()
        return expanded if expanded.exists() else None
    except (OSError, RuntimeError, ValueError):  # too long, no such user, a null character
        return None


def is_regular(path: Path) -> bool:
    """Return whether a path is an existing regular file; False also if the path is invalid."""
    try:
        require_regular(path)
    except (BrazoError, FileNotFoundError):
        return False
    return True


@contextlib.contextmanager
def replacing(path: Path, *, exclusive: bool = False) -> Iterator[Path]:
    """Context manager for writing a file atomically.

    It yields the path of an empty temporary file, which replaces `path` at the end unless an
    exception is raised.  With `exclusive=True`, BrazoError is raised instead of replacing an
    existing file, even if that file was created in the meantime.  An OSError inside the block is
    raised as BrazoError.
    """
    path = Path(path)
    temporary = temporary_name(path)
    try:
        try:
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except ValueError as error:  # an invalid file name
            raise BrazoError(f"{path}: cannot be written: {error}") from error
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        if exclusive:
            try:
                rename_exclusive(temporary, path)
            except FileExistsError as error:
                raise BrazoError(f"{path}: already exists; it was not replaced") from error
        else:
            temporary.replace(path)
    except OSError as error:
        raise BrazoError(f"{path}: cannot be written: {_reason(error)}") from error
    finally:
        with contextlib.suppress(OSError, ValueError):
            temporary.unlink(missing_ok=True)


def temporary_name(path: Path) -> Path:
    """Return a random hidden file name in the folder of `path`, with the suffix of `path`."""
    return path.with_name(f".{path.name[:40]}.{secrets.token_hex(6)}{path.suffix}")


def rename_exclusive(temporary: Path, path: Path) -> None:
    """Give the file `temporary` the name `path`; raise FileExistsError if `path` exists.

    The file is linked, so it also keeps its old name, which the caller removes.  On a file system
    without hard links it is renamed.
    """
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # the file system has no hard links
        if path.exists():
            raise FileExistsError(path) from None
        temporary.rename(path)


def lock(file: BinaryIO, *, shared: bool = False) -> bool:
    """Try to lock an open file without waiting; return False if another process holds the lock.

    Several processes may hold the lock if all use `shared=True` (not on Windows, where every lock
    is exclusive).  If the file system has no locks, the result is True.
    """
    try:
        if os.name == "nt":
            import msvcrt

            # A byte far past the content, because on Windows others cannot read a locked byte.
            position = file.tell()
            file.seek(_LOCKED_BYTE)
            try:
                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # pyright: ignore
            finally:
                file.seek(position)
        else:
            import fcntl

            kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
            fcntl.flock(file.fileno(), kind | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)
    return True


def lock_is_held(path: Path) -> bool:
    """Return whether the exclusive lock of a file is held; False if the file cannot be read."""
    try:
        require_regular(path)
        with path.open("rb") as file:
            return not lock(file, shared=True)
    except (BrazoError, OSError):
        return False


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
