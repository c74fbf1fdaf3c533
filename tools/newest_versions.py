"""Try the newest releases of the libraries whose undocumented parts brazo uses.

    python tools/newest_versions.py [--python python3.13] [--tests] [--keep DIR]

Installs the newest release of every dependency into a fresh environment, whatever pyproject.toml
allows, and runs the self-checks of `brazo.internals` there; `--tests` runs tests/internals, too.
Prints, for every file, the releases found, those it was checked with, and what is wrong.  Exit code
1 if a self-check or a test failed.

A release that passes here is no proof: run `make test` with it, then widen `CHECKED` in the file.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHECKS = """
import importlib, importlib.metadata, json, pkgutil, platform
import brazo.internals
found = []
for module in pkgutil.iter_modules(brazo.internals.__path__):
    report = {"file": module.name, "libraries": [], "wrong": None}
    try:
        part = importlib.import_module(f"brazo.internals.{module.name}")
        for checked in part.CHECKED:
            python = checked.library == "python"
            version = platform.python_version() if python else None
            version = version or importlib.metadata.version(checked.library)
            names = [checked.library, version, checked.oldest, checked.newest]
            report["libraries"].append(names)
        report["wrong"] = part.unusable()
    except Exception as error:
        report["wrong"] = f"{type(error).__name__}: {error}"
    found.append(report)
print(json.dumps(found))
"""


def dependencies() -> list[str]:
    """Names of brazo's dependencies, without their bounds."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in project["dependencies"]]


def environment(folder: Path, python: str, tests: bool) -> Path:
    """A fresh environment with the newest releases; its interpreter."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    interpreter = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    names = dependencies() + (["pytest", "pytest-xdist", "hypothesis"] if tests else [])
    pip = [str(interpreter), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--upgrade", *names], check=True)
    return interpreter


def run(interpreter: Path, *words: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(interpreter), *words],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        text=True,
        **options,
    )


def describe(report: dict) -> str:
    """One line on a file of brazo.internals."""
    libraries = []
    for library, version, oldest, newest in report["libraries"]:
        range_ = oldest if oldest == newest else f"{oldest} to {newest}"
        libraries.append(f"{library} {version} (checked: {range_})")
    return f"{report['file']}: {', '.join(libraries)}: {report['wrong'] or 'ok'}"


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--python", default=sys.executable, help="interpreter to try")
    arguments.add_argument("--tests", action="store_true", help="run tests/internals, too")
    arguments.add_argument("--keep", type=Path, help="folder of the environment, kept")
    chosen = arguments.parse_args()
    with ExitStack() as stack:
        folder = chosen.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        interpreter = environment(folder, chosen.python, chosen.tests)
        done = run(interpreter, "-c", CHECKS, stdout=subprocess.PIPE, check=True)
        reports = json.loads(done.stdout)
        for report in reports:
            print(describe(report))
        failed = any(report["wrong"] for report in reports)
        if chosen.tests:
            tests = run(interpreter, "-m", "pytest", "-q", "-n0", "tests/internals")
            failed = failed or tests.returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
