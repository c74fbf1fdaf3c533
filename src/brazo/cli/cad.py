"""`brazo cad import`: make a robot file from a CAD assembly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from brazo.cli.output import print_json, print_line, progress_bar
from brazo.cli.overwriting import FORCE, require_replaceable
from brazo.cli.unit_warnings import load_robot
from brazo.errors import BrazoError

if TYPE_CHECKING:
    from brazo.robot import Robot

_MAP = typer.Option(
    None, "--map", metavar="PART=LINK", help="Link of a part; PART=none omits the part; repeatable."
)
_DENSITY = typer.Option(
    None, metavar="[PART=]KG/M3", help="Density of all parts, or of one part; repeatable."
)
_POSE = typer.Option(
    None, help="Pose of the assembly: a name, or joint values separated by commas (deg, m)."
)


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Import CAD assemblies.", no_args_is_help=True)
    group.callback()(_group)
    group.command("import")(import_assembly)
    app.add_typer(group, name="cad")


def _group() -> None:
    """Import CAD assemblies."""  # a callback keeps `import` a subcommand


def import_assembly(
    source: Path = typer.Argument(
        help="An assembly (.step, .glb, .dae, .wrl, .obj, .stl …) or a folder of parts."
    ),
    robot: str = typer.Option(..., "--robot", help="Shipped robot or robot file with D-H table."),
    output: Path = typer.Option(None, "-o", "--output", help="Robot file to write (.yaml)."),
    mapping: list[str] = _MAP,
    density: list[str] = _DENSITY,
    mass: float = typer.Option(None, help="Total mass of base and links (kg)."),
    scale: float = typer.Option(1.0, help="Scale factor to metres; 0.001 for STL or OBJ in mm."),
    up: str = typer.Option("z", help="Axis of the file that points up: z, y or x."),
    pose: str = _POSE,
    json: bool = typer.Option(False, "--json", help="Print JSON."),
    force: bool = FORCE,
) -> None:
    """Write a robot file whose links have the parts of a CAD assembly.

    Masses and inertias are estimated from the geometry.  A report lists all assumptions.
    """
    from brazo.formats.cad.importer import import_cad, mesh_folder

    path = output or Path(f"{source.stem}.yaml")
    require_replaceable(path, *mesh_folder(path).glob("*.stl"), force=force)
    arm = load_robot(robot)
    with progress_bar(f"import {source.name}") as show:
        done = import_cad(
            source,
            robot,
            path,
            mapping=_pairs(mapping, "--map", "PART=LINK"),
            density=_densities(density),
            mass=mass,
            scale=scale,
            up=up,
            pose=None if pose is None else _pose(pose, arm),
            progress=lambda fraction, text: show(fraction or 0.0),
        )
    if json:
        rows = [asdict(row) for row in done.rows]
        print_json({"file": str(done.path), "mass": done.mass, "parts": rows})
        return
    for line in done.report.rstrip("\n").split("\n"):
        print_line(line)
    print_line(f"wrote {done.path}, {len(done.meshes)} meshes and {done.report_path}")


def _pairs(texts: Sequence[str] | None, option: str, form: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts or ():
        name, equals, value = text.rpartition("=")
        if not equals or not name.strip():
            raise BrazoError(f"{option} {text}: expected {form}")
        found[name.strip()] = value.strip()
    return found


def _densities(texts: Sequence[str] | None) -> dict[str, float]:
    from brazo.formats.cad.estimate import ALUMINIUM

    found = {"": ALUMINIUM}
    for text in texts or ():
        name, _, value = text.rpartition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            raise BrazoError(
                f"--density {text}: expected a density in kg/m³, such as 2700 or PART=7850"
            ) from None
    return found


def _pose(text: str, arm: Robot) -> str | list[float]:
    """Return the value of --pose: the name of a pose, or joint values in rad and m.

    On the command line, joint values are in degrees and m, separated by commas.
    """
    import math

    words = [word.strip() for word in text.split(",")]
    try:
        values = [float(word) for word in words]
    except ValueError:
        return text
    kinds = arm.joint_kinds
    if len(values) != len(kinds):
        raise BrazoError(
            f"--pose {text}: {len(values)} values for {len(kinds)} joints; expected one per joint"
        )
    return [
        math.radians(value) if kind == "revolute" else value
        for value, kind in zip(values, kinds, strict=True)
    ]
