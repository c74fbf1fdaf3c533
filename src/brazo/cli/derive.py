"""`brazo derive`: print equations of motion, or write them as LaTeX, C, Python or Octave."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from brazo.cli.output import console, print_line
from brazo.cli.overwriting import FORCE, require_replaceable
from brazo.cli.robot_options import ARG, ROBOT, TIP
from brazo.cli.unit_warnings import load_robot
from brazo.errors import BrazoError
from brazo.text import printable

_TARGETS = ("text", "latex", "c", "python", "octave")


def register(app: typer.Typer) -> None:
    app.command("derive")(derive)


def derive(
    robot: str = ROBOT,
    to: str = typer.Option("text", "--to", help="Format: text, latex, c, python or octave."),
    output: Path = typer.Option(
        None, "-o", "--output", help="Folder to write into, or the file (x.tex, x.py, x.txt)."
    ),
    numeric: bool = typer.Option(False, "--numeric", help="Substitute numeric parameter values."),
    form: str = typer.Option(
        "auto", help="Form: expanded, recursive, or auto (expanded unless too long)."
    ),
    tip: str = TIP,
    arg: list[str] = ARG,
    force: bool = FORCE,
) -> None:
    """Derive M(q), C(q, qd), G(q) and friction by Lagrange-Euler; print or export them."""
    if to not in _TARGETS:
        raise BrazoError(f"--to {to}: choose one of {', '.join(_TARGETS)}")
    if form not in ("auto", "expanded", "recursive"):
        raise BrazoError(f"--form {form}: choose one of auto, expanded, recursive")
    arm = load_robot(robot, tip, arg)
    equations = _derived(arm.model, "numeric" if numeric else "symbolic", form)
    if to == "text" and output is None:
        width = max(60, min(console().width, 120))
        print(printable(equations.text(width)), end="")
        return
    _write(equations, to, output or Path(), force)


def _derived(model: Any, parameters: str, form: str) -> Any:
    """Return the equations of motion of a model; show a progress bar on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from brazo.dynamics.symbolic import derive as derive_equations

    columns = BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    errors = Console(stderr=True)
    hidden = not errors.is_terminal
    with Progress(*columns, console=errors, transient=True, disable=hidden) as bar:
        task = bar.add_task("", total=1.0)

        def show(fraction: float, text: str) -> None:
            bar.update(task, completed=fraction, description=text)

        return derive_equations(model, parameters, form, progress=show)  # type: ignore[arg-type]


def _write(equations: Any, to: str, folder: Path, force: bool) -> None:
    from brazo.dynamics.symbolic.straight_line import identifier
    from brazo.formats.export import make_folder, write_file

    name = identifier(equations.name.lower())
    if to == "text":
        files = {f"{name}.txt": equations.text()}
    elif to == "latex":
        files = {f"{name}.tex": equations.latex()}
    elif to == "python":
        files = {f"{name}.py": equations.python()}
    else:
        files = equations.c() if to == "c" else equations.octave()
    (only, *others) = files
    if not others and folder.suffix == Path(only).suffix and not folder.is_dir():
        folder, files = folder.parent, {folder.name: files[only]}
    require_replaceable(*(folder / file for file in files), force=force)
    make_folder(folder)
    for file, text in files.items():
        write_file(folder / file, text.encode("utf-8"))
        print_line(f"wrote {folder / file}")
    for note in equations.notes:
        print_line(f"note: {note}", style="yellow")
