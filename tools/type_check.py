"""Check the types with pyright, unless it found no error in the same files before.

The result depends only on the checked files, the settings and the installed packages.  A hash of
them is stored in the environment after a check without errors.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tomllib
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).parents[1]
STAMP = Path(sys.prefix) / "types.stamp"


def main() -> int:
    """Run the check and return its exit code."""
    now = fingerprint(ROOT)
    if not sys.argv[1:] and STAMP.exists() and STAMP.read_text(encoding="utf-8") == now:
        print("types: no change since the last check")
        return 0
    done = subprocess.run([sys.executable, "-m", "pyright", *sys.argv[1:]], cwd=ROOT)
    if done.returncode == 0 and not sys.argv[1:]:
        STAMP.write_text(now, encoding="utf-8")
    return done.returncode


def fingerprint(root: Path) -> str:
    """Return a hash of everything that the result of pyright depends on."""
    settings = root / "pyproject.toml"
    folders = tomllib.loads(settings.read_text(encoding="utf-8"))["tool"]["pyright"]["include"]
    files = [path for folder in folders for path in (root / folder).rglob("*.py*")]
    found = hashlib.sha256(sys.version.encode())
    for path in sorted([settings, *(path for path in files if path.suffix in (".py", ".pyi"))]):
        found.update(f"\n{path.relative_to(root)}\n".encode())
        found.update(path.read_bytes())
    packages = sorted(f"{one.name}=={one.version}" for one in distributions())
    found.update("\n".join(packages).encode())
    return found.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
