"""Compiled objects on disk, so that a kernel is compiled once per machine and not once per process.

A file holds ``magic | sha256 of the object | the object`` and is named by the sha256 of everything
the object depends on (the caller's key). It is written to a temporary file, flushed to the disk and
renamed, so readers and parallel writers see a whole file or none; a file that is short, altered or
of another format is ignored and written anew. A directory that cannot be written means no cache,
never a failure: the cache is an optimisation.

The directory is ``$BRAZO_CACHE_DIR`` or the platform's place for user caches. The newest
``MAX_OBJECTS`` files are kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from pathlib import Path

__all__ = ["FORMAT", "MAX_OBJECTS", "cache_dir", "load", "store"]

FORMAT = 1
MAX_OBJECTS = 1000
_MAGIC = b"BRAZO-OBJECT-%03d\n" % FORMAT
_DIGEST = hashlib.sha256().digest_size


def cache_dir() -> Path:
    """Where compiled objects live; read from the environment at every call."""
    chosen = os.environ.get("BRAZO_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return (Path(base) if base else Path.home() / "AppData" / "Local") / "brazo" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "brazo"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "brazo"


def load(key: str) -> bytes | None:
    """The object stored under a key, or None when there is no intact one."""
    try:
        path = _path(key)
        data = path.read_bytes()
    except (OSError, RuntimeError):  # RuntimeError: no home directory
        return None
    head = len(_MAGIC) + _DIGEST
    body = data[head:]
    if data[: len(_MAGIC)] != _MAGIC or data[len(_MAGIC) : head] != hashlib.sha256(body).digest():
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # pruning drops what was not used for longest
    return body


def store(key: str, body: bytes) -> bool:
    """Keep an object; False when the directory cannot be written."""
    try:
        path = _path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=path.parent)
    except (OSError, RuntimeError):
        return False
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_MAGIC + hashlib.sha256(body).digest() + body)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        return False
    _prune(path.parent)
    return True


def _path(key: str) -> Path:
    return cache_dir() / f"{key}.obj"


def _prune(directory: Path) -> None:
    with contextlib.suppress(OSError):
        files = [e for e in os.scandir(directory) if e.name.endswith(".obj")]
        if len(files) <= MAX_OBJECTS:
            return
        files.sort(key=lambda entry: entry.stat().st_mtime)
        for entry in files[: len(files) - MAX_OBJECTS]:
            with contextlib.suppress(OSError):
                Path(entry.path).unlink()
