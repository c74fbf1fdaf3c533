"""`brazo study workspace | sensitivity`: map of the workspace, and effect of robot parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import typer

from brazo.cli.output import number, print_json, print_line, table
from brazo.cli.overwriting import FORCE, require_replaceable

SAMPLES = typer.Option(1 << 19, min=1, help="Number of joint positions sampled.")
ROWS = typer.Option("linear", help="Rows of the Jacobian to evaluate: linear, angular or all.")
JSON = typer.Option(False, "--json", help="Print JSON (SI).")


def register_design(group: typer.Typer) -> None:
    group.command("workspace")(workspace)
    group.command("sensitivity")(sensitivity)


def workspace(
    robot: str = typer.Argument(help="A robot: name or file."),
    out: Path = typer.Option(None, "--out", "-o", help="Write the map to this .parquet file."),
    figure: Path = typer.Option(None, help="Write slices and histogram: .png, .svg or .pdf."),
    samples: int = SAMPLES,
    size: float = typer.Option(None, help="Edge of a map voxel (m); default: 1/40 of the extent."),
    rows: str = ROWS,
    force: bool = FORCE,
    json: bool = JSON,
) -> None:
    """Map the positions that the tool reaches and the manipulability at each of them."""
    from brazo.study.workspace_map import workspace as mapped

    require_replaceable(*(file for file in (out, figure) if file is not None), force=force)
    found = mapped(robot, samples, size, cast(Any, rows))
    numbers = {
        "robot": found.robot,
        "reach": found.reach,
        "volume": found.volume,
        "manipulability_volume": found.manipulability_volume,
        "max_manipulability": float(found.manipulability.max()),
        "cubes": len(found),
        "size": found.size,
        "samples_per_cube": found.samples_per_cell,
    }
    if out is not None:
        found.to_parquet(out)
    if figure is not None:
        found.plot(figure)
    if json:
        print_json(numbers)
        return
    print_line(f"{found.robot}: reach {number(found.reach, 3)} m")
    print_line(
        f"volume {number(found.volume, 4)} m³: {len(found)} cubes of {1e3 * found.size:.3g} mm, "
        f"{found.samples_per_cell:.0f} samples in each on average"
    )
    print_line(
        f"manipulability max {found.manipulability.max():.4g}, integral over the volume "
        f"{found.manipulability_volume:.4g}"
    )
    if found.samples_per_cell < 15:
        print_line("few samples per cube: the volume is underestimated; increase --samples")
    for file in (out, figure):
        if file is not None:
            print_line(str(file))


def sensitivity(
    robot: str = typer.Argument(help="A robot with parameters: name or file."),
    parameters: list[str] = typer.Argument(None, help="Parameters; default: all."),
    figure: Path = typer.Option(None, help="Write a bar chart: .png, .svg or .pdf."),
    step: float = typer.Option(0.05, help="Relative change of a parameter."),
    samples: int = SAMPLES,
    rows: str = ROWS,
    force: bool = FORCE,
    json: bool = JSON,
) -> None:
    """Compute how reach, workspace volume and manipulability change with each parameter.

    Parameters are those of the robot file, for example link lengths.
    """
    from brazo.study.design_sensitivity import QUANTITIES
    from brazo.study.design_sensitivity import sensitivity as computed

    require_replaceable(*(file for file in (figure,) if file is not None), force=force)
    found = computed(robot, parameters or None, step=step, samples=samples, rows=cast(Any, rows))
    if figure is not None:
        found.plot(figure)
    if json:
        print_json(
            {one.parameter: {k: getattr(one, k) for k in ("value", *QUANTITIES)} for one in found}
        )
        return
    columns = ("parameter", "value", *(k.replace("_", " ") for k in QUANTITIES))
    shown = [
        (
            one.parameter,
            number(one.value, 4),
            *(f"{getattr(one, k):+.2f}" for k in QUANTITIES),
        )
        for one in found
    ]
    table(f"{found.robot}: change in % for 1 % of the parameter", columns, shown)
    if figure is not None:
        print_line(str(figure))
