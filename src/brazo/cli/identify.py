"""`brazo identify`: dynamic parameters of a robot from a recorded motion."""

from __future__ import annotations

from pathlib import Path

import typer

from brazo.cli.output import number, print_json, print_line, table
from brazo.cli.robot_options import ARG, TIP
from brazo.cli.unit_warnings import load_robot


def register(app: typer.Typer) -> None:
    app.command("identify")(identify)


def identify(
    run: Path = typer.Argument(help="A recording with positions and torques (.parquet, .csv)."),
    robot: str = typer.Option(..., "--robot", help="A shipped robot's name or a robot file."),
    drives: bool = typer.Option(True, help="Identify motor inertia and friction, too."),
    cutoff: float = typer.Option(
        None, help="Low-pass filter in Hz; default none, or 10 if speeds are not recorded."
    ),
    tip: str = TIP,
    arg: list[str] = ARG,
    json: bool = typer.Option(False, "--json", help="Print JSON (SI)."),
) -> None:
    """Identify the base parameters of a robot from recorded positions and torques."""
    from brazo.dynamics.identification import identify as estimate

    found = estimate(load_robot(robot, tip, arg), run, drives=drives, cutoff=cutoff)
    base = found.parameters
    if json:
        print_json(
            {
                "robot": found.robot,
                "names": list(base.names),
                "combinations": list(base.combinations),
                "units": list(base.units),
                "values": found.values,
                "std": found.std,
                "file": base.values,
                "condition": found.condition,
                "noise": found.noise,
            }
        )
        return
    rows = [
        (name, number(value, 5), number(std, 2), number(file, 5), unit)
        for name, value, std, file, unit in zip(
            base.names, found.values, found.std, base.values, base.units, strict=True
        )
    ]
    samples = len(found.residuals)
    print_line(f"{found.robot}: {len(base)} base parameters from {samples} samples")
    table("Base parameters", ("parameter", "estimate", "std", "file", "unit"), rows)
    print_line(
        f"condition number {found.condition:.3g}; parameters with * are combined with others "
        "(--json shows how)"
    )
