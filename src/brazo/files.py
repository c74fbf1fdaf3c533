"""Files written whole or not at all: a temporary file in the same folder, synced, then renamed."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from brazo.errors import BrazoError


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to; it takes the place of `path` only when all went well."""
    path = Path(path)
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{path.name[:40]}.", suffix=path.suffix, dir=path.parent
        )
        os.close(handle)
        temporary = Path(name)
        # Private until here; a finished file has the permissions any other new file would have.
        temporary.chmod(0o666 & ~_umask())
    except (OSError, ValueError) as error:
        raise BrazoError(f"{path}: cannot be written: {_reason(error)}") from error
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise BrazoError(f"{path}: cannot be written: {_reason(error)}") from error
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
