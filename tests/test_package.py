"""`import brazo`: available names and modules loaded."""

import json
import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import brazo

INNER = {
    *("__main__", "bench", "cli", "library", "project", "robot"),
    *(
        "arrays",
        "checks",
        "connections",
        "deprecation",
        "errors",
        "etree",
        "ffmpeg",
        "files",
        "folders",
        "hosts",
        "internals",
        "socket_owner",
        "permissions",
        "text",
    ),
}
MODULES = sorted({module.name for module in pkgutil.iter_modules(brazo.__path__)} - INNER)


def fresh(code: str) -> str:
    """Return the output of code in a new interpreter."""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_every_module_is_an_attribute_in_a_fresh_interpreter():
    names = json.dumps(MODULES)
    shown = fresh(
        f"import brazo, types; names = {names}\n"
        "assert set(names) <= set(dir(brazo)), set(names) - set(dir(brazo))\n"
        "print(all(isinstance(getattr(brazo, n), types.ModuleType) for n in names),"
        " callable(brazo.lab), brazo.lab.__name__, callable(brazo.load))"
    )
    assert shown == "True True brazo.lab True"


def test_import_loads_nothing_heavy():
    heavy = "numpy", "mujoco", "viser", "sympy", "scipy", "importlib.metadata", "brazo.robot"
    assert fresh(f"import sys, brazo; print([m for m in {heavy!r} if m in sys.modules])") == "[]"


def test_the_version_is_that_of_the_project():
    project = Path(__file__).parents[1] / "pyproject.toml"
    assert brazo.__version__ == tomllib.loads(project.read_text("utf-8"))["project"]["version"]


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = brazo.nothing
