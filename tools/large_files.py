"""Refuse binary files over 500 kB in the repository, outside the documentation and data folders.

    python tools/large_files.py [FOLDER]   of a git repository; exit code 1 if one was found

A file counts as binary if its first 8000 bytes contain a NUL, as for git.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path, PurePosixPath

LIMIT = 500_000  # bytes
ALLOWED = ("docs", "tests/data", "src/brazo/library")


def large_binaries(root: Path) -> dict[str, int]:
    """Paths and sizes (bytes) of the files, among those git tracks or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    found = {}
    for name in listed.split("\0"):
        path = root / name
        if not name or not path.is_file() or _allowed(name):
            continue
        if (size := path.stat().st_size) > LIMIT and _binary(path):
            found[name] = size
    return found


def _allowed(name: str) -> bool:
    return any(PurePosixPath(name).is_relative_to(folder) for folder in ALLOWED)


def _binary(path: Path) -> bool:
    with path.open("rb") as file:
        return b"\0" in file.read(8000)


def main() -> int:
    found = large_binaries(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    for name, size in found.items():
        print(f"{name}: binary of {size / 1000:.0f} kB; at most {LIMIT / 1000:.0f} kB")
    if found:
        print(f"keep them out of the repository, or in {', '.join(ALLOWED)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
