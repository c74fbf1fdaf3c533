"""A user's script passes the type checker in strict mode, outside of the checkout, and runs."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import generated_pages
import pytest

import brazo

SCRIPT = Path(__file__).with_name("script.py")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(SCRIPT, tmp_path)
    return tmp_path


def test_script_passes_strict_checking(folder: Path) -> None:
    settings = {
        "include": ["script.py"],
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "venvPath": str(Path(sys.prefix).parent),
        "venv": Path(sys.prefix).name,
        "extraPaths": [str(Path(brazo.__file__).parents[1])],  # the package of this checkout
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson"],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
    )
    found = json.loads(done.stdout)
    messages = [
        f"line {item['range']['start']['line'] + 1}: {item['message']}"
        for item in found["generalDiagnostics"]
    ]
    assert found["summary"]["filesAnalyzed"] == 1
    assert not messages, "\n".join(messages)


def test_script_runs(folder: Path) -> None:
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr


def test_script_uses_forty_public_methods() -> None:
    tree = ast.parse(SCRIPT.read_text("utf-8"))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    methods: set[str] = set()
    for module_name, names in generated_pages.documented_names().items():
        for name in names:
            value = getattr(importlib.import_module(module_name), name)
            if inspect.isclass(value):
                methods |= {n for n, m in vars(value).items() if inspect.isroutine(m)}
    called = {name for name in used & methods if not name.startswith("_")}
    called |= {name for name in used if inspect.isroutine(getattr(brazo.Robot, name, None))}
    assert len(called) >= 40, sorted(called)
