"""The type checker finds no error in the package, the tests, the tools and the examples."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_pyright_finds_no_error() -> None:
    done = subprocess.run(
        [sys.executable, "tools/type_check.py"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
