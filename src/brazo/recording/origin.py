"""Check whether the cell file of a recording has changed since the run.

A recording stores the path of the cell file (`cell_file`) and a digest of its content
(`cell_digest`).  A replay can thus report that the cell has changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from brazo.errors import BrazoError
from brazo.files import require_regular

MAX_BYTES = 64 << 20  # no cell or robot file is larger
SOURCE = "cell_source"  # field of a description: the text of the cell and its robots, JSON
LEFT_OUT = "cell_source_left_out"  # field of a description: why there is no text
Origin = Literal["same", "changed", "gone", "unknown"]


def with_digest(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description of a new run, with the digest of its cell file added."""
    found = dict(about)
    file = found.get("cell_file")
    if file and "cell_digest" not in found and (digest := digest_of(Path(file))):
        found["cell_digest"] = digest
    return found


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a file, the same for LF and CRLF line endings.

    The result is empty if the file cannot be read or is larger than `MAX_BYTES`.
    """
    try:
        if require_regular(file).st_size > MAX_BYTES:
            return ""
        content = file.read_bytes()
    except (BrazoError, OSError):
        return ""
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()


def origin_of(about: Mapping[str, str], file: Path | None = None) -> Origin:
    """Compare a cell file with the digest in the description `about` of a recording.

    The cell file is `file`, by default the one whose path is in `about`.
    Return "same" or "changed"; "gone" if the file cannot be read; "unknown" if the description has
    no cell file or no digest.
    """
    if file is None:
        if not about.get("cell_file"):
            return "unknown"
        file = Path(about["cell_file"])
    digest = digest_of(file)
    if not digest:
        return "gone"
    if not about.get("cell_digest"):
        return "unknown"
    return "same" if digest == about["cell_digest"] else "changed"
