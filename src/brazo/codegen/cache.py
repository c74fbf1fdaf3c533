"""Cache of compiled object code on disk; a kernel is compiled once per machine, not per process.

A file ``KEY.obj`` contains ``magic | sha256 of the object | object``. The caller provides KEY, a
hash of everything the object depends on. The file is written under a temporary name and then
renamed, so other processes never see an incomplete file. A file that is truncated, modified or in
another format is ignored and rewritten. If the directory is not writable, nothing is stored and no
error is raised.

Because this process executes the cached machine code, the directory and its files must belong to
the user and must not be writable by others. If the directory does not meet this condition, the
cache is disabled with one warning. A file that does not meet it is ignored.

The directory is ``$BRAZO_CACHE_DIR`` or the platform's user cache directory (`brazo.folders`). It
is created with mode 0700. If it exceeds ``MAX_OBJECTS`` files or ``MAX_BYTES`` bytes, files are
removed, the least recently used first.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import warnings
from pathlib import Path

from brazo.folders import cache_folder
from brazo.permissions import advice, not_private, prune

__all__ = ["FORMAT", "MAX_BYTES", "MAX_OBJECTS", "cache_dir", "load", "store"]

FORMAT = 1
MAX_OBJECTS = 4000
MAX_BYTES = 256 << 20
_MAGIC = b"BRAZO-OBJECT-%03d\n" % FORMAT
_DIGEST = hashlib.sha256().digest_size
_refused: set[Path] = set()  # directories already warned about


def cache_dir() -> Path:
    """Return the directory of cached objects; the environment is read at every call."""
    return cache_folder()


def load(key: str) -> bytes | None:
    """Return the object stored under a key.

    Returns None if the file is missing or damaged, or if the file or its directory is not private.
    """
    try:
        path = _path(key)
        if reason := not_private(path.parent.stat()):
            _warn(path.parent, reason)
            return None
        with path.open("rb") as file:
            if not_private(os.fstat(file.fileno())):
                return None
            data = file.read()
    except (OSError, RuntimeError):  # RuntimeError: no home directory
        return None
    head = len(_MAGIC) + _DIGEST
    body = data[head:]
    if data[: len(_MAGIC)] != _MAGIC or data[len(_MAGIC) : head] != hashlib.sha256(body).digest():
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # pruning removes the least recently used
    return body


def store(key: str, body: bytes) -> bool:
    """Store an object under a key; return False if it cannot be stored."""
    try:
        path = _path(key)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if reason := not_private(path.parent.stat()):
            _warn(path.parent, reason)
            return False
        handle, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=path.parent)
    except (OSError, RuntimeError):
        return False
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_MAGIC + hashlib.sha256(body).digest() + body)
        Path(temporary).replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        return False
    _make_room(path.parent)
    return True


def _make_room(directory: Path) -> None:
    """Remove the least recently used files if a limit is exceeded.

    The number of files is checked at every call. The total size is checked only if the number of
    files is too large or a multiple of 32.
    """
    with contextlib.suppress(OSError):
        count = sum(1 for _ in directory.iterdir())
        if count > MAX_OBJECTS:
            prune(directory, ".obj", files=MAX_OBJECTS - MAX_OBJECTS // 8, size=MAX_BYTES)
        elif count % 32 == 0:
            prune(directory, ".obj", files=MAX_OBJECTS, size=MAX_BYTES)


def _path(key: str) -> Path:
    return cache_dir() / f"{key}.obj"


def _warn(directory: Path, reason: str) -> None:
    if directory not in _refused:
        _refused.add(directory)
        warnings.warn(
            f"kernels are compiled without a cache: {directory}: {reason}; {advice(directory)}",
            RuntimeWarning,
            stacklevel=4,
        )
