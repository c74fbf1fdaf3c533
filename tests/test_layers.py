"""Import rules: the order of the layers, and the imports allowed for each folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]

# Folders that a folder may import. The order of the layers, checked by import-linter, allows more:
# it cannot express that the world, which is above kinematics, does not use it.
BASE = {"arrays", "checks", "deprecation", "errors", "text", "etree", "files", "units", "library"}
FORMATS = BASE | {"model", "body", "formats"}
KINEMATICS = FORMATS | {"codegen", "kinematics"}
DYNAMICS = KINEMATICS | {"dynamics", "robot"}
CONTROL = DYNAMICS | {"trajectory", "control"}
SIMULATION = CONTROL | {"world", "recording", "simulation", "permissions", "internals"}
MAY_IMPORT = {
    "arrays": {"errors"},
    "checks": {"errors"},
    "deprecation": set(),
    "errors": set(),
    "text": set(),
    "ffmpeg": {"errors"},
    "files": {"errors"},
    "internals": {"errors"},
    "connections": {"internals"},
    "etree": set(),
    "folders": {"errors"},
    "hosts": {"errors"},
    "socket_owner": set(),
    "permissions": {"errors"},
    "units": {"errors"},
    "library": set(),
    "codegen": {"errors", "folders", "internals", "permissions"},
    "model": BASE,
    "body": BASE | {"model"},
    "formats": FORMATS | {"internals"},  # xacro
    "kinematics": KINEMATICS,
    # A run can be given as a recording, which knows no robots.
    "dynamics": KINEMATICS | {"recording"},
    "robot": DYNAMICS | {"recording"},
    # A path can be given as a recording or a video.
    "trajectory": KINEMATICS | {"robot", "recording", "ffmpeg"},
    "control": CONTROL | {"recording"},
    # A recording holds the text of its cell; the dry friction of stuck joints is solved as in the
    # robot's own dynamics.
    "world": FORMATS | {"recording", "dynamics.complementarity"},
    "simulation": SIMULATION,
    "operate": SIMULATION,
    "program": SIMULATION | {"operate"},  # the points that steps name
    "project": SIMULATION | {"folders", "operate", "program"},
    "recording": {"checks", "deprecation", "errors", "text", "files", "units"},
    "teleop": SIMULATION | {"operate", "connections", "hosts", "socket_owner"},
}


def test_import_linter_contracts_hold() -> None:
    script = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", script, "--no-cache"],
        cwd=ROOT,
        env=os.environ | {"PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("brazo", cache_dir=None)


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_folder_imports_only_what_it_may(graph: grimp.ImportGraph, folder: str) -> None:
    own = {f"brazo.{folder}"} & graph.modules
    for package in tuple(own):
        own |= graph.find_descendants(package)
    arrows = {
        f"{module} -> {imported}"
        for module in own
        for imported in graph.find_modules_directly_imported_by(module)
        if imported not in own and not _allowed(imported, MAY_IMPORT[folder])
    }
    assert not arrows, f"brazo.{folder} may import only {sorted(MAY_IMPORT[folder])}"


@pytest.mark.parametrize("oracle", ["pinocchio", "roboticstoolbox", "rtb_data", "yourdfpy"])
def test_package_never_imports_its_oracles(oracle: str) -> None:
    graph = grimp.build_graph("brazo", include_external_packages=True, cache_dir=None)
    importers = graph.find_modules_that_directly_import(oracle) if oracle in graph.modules else ()
    assert not importers


def _allowed(imported: str, folders: set[str]) -> bool:
    parts = imported.split(".")
    return len(parts) > 1 and (parts[1] in folders or ".".join(parts[1:]) in folders)


# Files with a function that builds something per kind of mechanism; all others use the interface
# of `Model`.
DISPATCH = {
    "kinematics/__init__.py",
    "dynamics/__init__.py",
    "dynamics/definite.py",
    "trajectory/jacobian_rate.py",
    "control/equations.py",
    "formats/mjcf/writer.py",
    "formats/text.py",
    "world/delta.py",
    "program/displacement.py",
}


def test_only_the_dispatch_functions_ask_for_the_kind_of_a_mechanism() -> None:
    source = ROOT / "src" / "brazo"
    asked = re.compile(r"isinstance\([^)]*(Delta|Tree)Model|\.kind [!=]= \"(delta|tree)\"")
    found = {
        path.relative_to(source).as_posix(): len(asked.findall(path.read_text(encoding="utf-8")))
        for path in source.rglob("*.py")
    }
    assert {name: count for name, count in found.items() if count} == dict.fromkeys(DISPATCH, 1)


def test_no_two_classes_have_the_same_name() -> None:
    places: dict[str, list[str]] = {}
    for path in sorted((ROOT / "src" / "brazo").rglob("*.py")):
        for name in re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), re.M):
            places.setdefault(name, []).append(path.relative_to(ROOT).as_posix())
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
