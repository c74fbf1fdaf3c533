"""Whether the file a recording was made from is still what it was then.

A recording names the cell's file (`cell_file`) and keeps a digest of what stood in it
(`cell_digest`), so that whoever draws the run later can say that the cell is another one now.
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
LEFT_OUT = "cell_source_left_out"  # why there is none
Origin = Literal["same", "changed", "gone", "unknown"]


def with_digest(about: Mapping[str, Any]) -> dict[str, Any]:
    """The description of a run that begins, with the digest of its cell's file."""
    found = dict(about)
    file = found.get("cell_file")
    if file and "cell_digest" not in found and (digest := digest_of(Path(file))):
        found["cell_digest"] = digest
    return found


def digest_of(file: Path) -> str:
    """SHA-256 of a file, whatever its line ends; empty when it cannot be read."""
    try:
        if require_regular(file).st_size > MAX_BYTES:
            return ""
        content = file.read_bytes()
    except (BrazoError, OSError):
        return ""
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()


def origin_of(about: Mapping[str, str], file: Path | None = None) -> Origin:
    """What has become of the cell's file, or how another file compares with it."""
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
