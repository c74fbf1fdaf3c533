"""Pages written from the package when the documentation is built, into `docs/generated`.

- `api/`: one page for each public module, with every name of its `__all__`;
- `commands.md`: every command of the shell with its arguments, options and help;
- `examples/`: one page for each numbered example: its docstring, its picture and its code.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from sphinx.application import Sphinx

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
# Pictures of examples that tools/example_pictures.py does not draw.
OTHER_PICTURES = {
    "06_fault_recovery": "fault-recovery.svg",
    "07_cooperative": "lab/cell-light.webp",
    "09_bilateral": "bilateral.png",
    "10_teleoperation": "teleop-follower.webp",
}

# Public modules, and modules of results that users read, in the order of the reference.  A name is
# documented in the first module that exports it.
MODULES = (
    "brazo",
    "brazo.kinematics.result",
    "brazo.kinematics.measures",
    "brazo.kinematics.ellipsoid",
    "brazo.kinematics.rates",
    "brazo.kinematics.orientation",
    "brazo.dynamics.linear_model",
    "brazo.dynamics.regressor",
    "brazo.dynamics.base_parameters",
    "brazo.dynamics.symbolic",
    "brazo.dynamics.symbolic.compiled",
    "brazo.trajectory",
    "brazo.control",
    "brazo.world",
    "brazo.simulation",
    "brazo.study",
    "brazo.program",
    "brazo.recording",
    "brazo.recording.comparison",
    "brazo.recording.metrics",
    "brazo.video",
    "brazo.operate",
    "brazo.formats.cad.report",
    "brazo.teleop",
    "brazo.teleop.mapping",
    "brazo.teleop.devices",
    "brazo.teleop.stations",
    "brazo.teleop.bilateral",
    "brazo.teleop.proxy",
    "brazo.model.description",
    "brazo.units",
    "brazo.codegen",
)

# What users read of modules that also contain other things.
RESULTS = {
    "brazo.kinematics.result": ("Residual",),
    "brazo.kinematics.measures": ("Dexterity",),
    "brazo.kinematics.ellipsoid": ("Ellipsoid",),
    "brazo.kinematics.rates": ("JointRates",),
    "brazo.dynamics.linear_model": (
        "LinearModel",
        "InverseDynamicsDerivatives",
        "ForwardDynamicsDerivatives",
    ),
    "brazo.dynamics.regressor": ("DynamicParameters",),
    "brazo.dynamics.base_parameters": ("BaseParameters",),
    "brazo.formats.cad.report": ("PartRow",),
    "brazo.recording.comparison": ("ComparedRun",),
    "brazo.recording.metrics": ("MotionMetrics",),
}


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir) / "generated"))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_pages(folder: Path) -> None:
    """Write all pages that changed and remove those that no longer exist."""
    pages = dict((*api_pages(), *example_pages(), ("commands.md", commands_page())))
    for old in folder.rglob("*.md"):
        if old.relative_to(folder).as_posix() not in pages:
            old.unlink()
    for name, text in pages.items():
        page = folder / name
        page.parent.mkdir(parents=True, exist_ok=True)
        if not page.is_file() or page.read_text("utf-8") != text:
            page.write_text(text, encoding="utf-8")


# -- Python reference ------------------------------------------------------------------------------


def documented_names() -> dict[str, list[str]]:
    """Return the names documented on the page of each public module."""
    found: dict[str, list[str]] = {}
    seen: set[int] = set()
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        names = found[module_name] = []
        listed = RESULTS.get(module_name) or getattr(module, "__all__", None)
        for name in listed or _defined_in(module):
            value = getattr(module, name)
            if inspect.ismodule(value) or (_is_object(value) and id(value) in seen):
                continue
            seen.add(id(value))
            names.append(name)
    return {module: names for module, names in found.items() if names}


def _defined_in(module: Any) -> list[str]:
    """Public classes and functions of a module that does not list them."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and _is_object(value) and value.__module__ == module.__name__
    ]


def _is_object(value: object) -> bool:
    return inspect.isclass(value) or inspect.isroutine(value)


def api_pages() -> Iterator[tuple[str, str]]:
    names = documented_names()
    for module_name, exported in names.items():
        yield f"api/{module_name}.md", _module_page(module_name, exported)


def _module_page(module_name: str, names: list[str]) -> str:
    module = importlib.import_module(module_name)
    kinds: dict[str, list[str]] = {
        "Functions": [],
        "Classes": [],
        "Exceptions": [],
        "Constants": [],
    }
    for name in names:
        value = getattr(module, name)
        if inspect.isclass(value):
            kinds["Exceptions" if issubclass(value, Exception) else "Classes"].append(name)
        else:
            kinds["Functions" if callable(value) else "Constants"].append(name)
    lines = [f"# {module_name}", "", _first_sentence(module), ""]
    lines += ["```{eval-rst}", f".. py:module:: {module_name}", "   :no-index-entry:", "```", ""]
    for title, members in kinds.items():
        if not members:
            continue
        lines += [f"## {title}", ""]
        for name in sorted(members, key=str.lower):
            directive = _directive(module_name, name, title)
            lines += [f"### {name}", "", "```{eval-rst}", *directive, "```", ""]
    return "\n".join(lines)


def _directive(module_name: str, name: str, title: str) -> list[str]:
    if title == "Constants":  # autodoc would print the docstring of its type
        value = repr(getattr(importlib.import_module(module_name), name))
        shown = value if len(value) <= 60 and "\n" not in value else "…"
        return [f".. py:data:: {name}", f"   :value: {shown}"]
    kind = {"Functions": "function", "Exceptions": "exception"}.get(title, "class")
    lines = [f".. auto{kind}:: {module_name}.{name}"]
    if name == "Robot":  # its methods are in base classes that have no entry
        lines += ["   :inherited-members:"]
    return lines + ["   :members:", "   :undoc-members:"] * (kind == "class")


def _first_sentence(module: Any) -> str:
    return (inspect.getdoc(module) or "").split("\n\n")[0]


# -- Command reference -----------------------------------------------------------------------------


def commands() -> Iterator[tuple[str, Any]]:
    """Return every visible command with its full name, e.g. `brazo teleop master`."""
    from brazo.cli.main import app

    yield from _below("brazo", typer.main.get_command(app))


def parameters(name: str, command: Any) -> list[tuple[str, str]]:
    """Return the arguments and options of a command as the shell's help prints them."""
    context = command.context_class(command, info_name=name)
    shown = [p for p in command.get_params(context) if "--help" not in p.opts]
    records = [parameter.get_help_record(context) for parameter in shown]
    return [record for record in records if record is not None]


def _below(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield name, command
    for child_name, child in getattr(command, "commands", {}).items():
        if not child.hidden:
            yield from _below(f"{name} {child_name}", child)


def commands_page() -> str:
    lines = [
        "# Commands",
        "",
        "Every command of the shell with its arguments and options, as `--help` prints them. "
        "Exit codes: 0 success, 1 the task failed, 2 invalid input.",
        "",
    ]
    for name, command in commands():
        context = command.context_class(command, info_name=name)
        usage = " ".join([name, *command.collect_usage_pieces(context)])
        lines += [f"## {name}", "", "```text", usage, "```", ""]
        lines += [inspect.cleandoc(command.help or ""), ""]
        for parameter, text in parameters(name, command):
            lines += [f"`{parameter}`", f": {_plain(text) or '—'}", ""]
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Text that Markdown prints as it is."""
    return re.sub(r"([\\*_`\[\]<>$])", r"\\\1", text.replace("  [", " ["))


# -- Examples --------------------------------------------------------------------------------------


def example_pages() -> Iterator[tuple[str, str]]:
    paths = sorted((ROOT / "examples").glob("[0-9]*.py"))
    for path in paths:
        yield f"examples/{path.stem}.md", _example_page(path)


def _example_page(path: Path) -> str:
    source = path.read_text("utf-8")
    tree = ast.parse(source)
    code = "\n".join(source.splitlines()[tree.body[0].end_lineno :]).strip()
    lines = [inspect.cleandoc(ast.get_docstring(tree) or ""), ""]
    picture = OTHER_PICTURES.get(path.stem, f"examples/{path.stem}.webp")
    if (DOCS / "_static" / picture).is_file():
        lines += [f"![Result of the example](/_static/{picture})", ""]
    # Five backticks: the code may contain fences.
    lines += ["`````python", code, "`````", "", f"Run it: `python examples/{path.name}`.", ""]
    return "\n".join(lines)
