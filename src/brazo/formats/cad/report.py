"""Report of a CAD import: the link and mass of each part, and all assumptions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from brazo.formats.cad.part_links import RobotLink
from brazo.model.description import Array, TreeModel
from brazo.text import one_line


@dataclass(frozen=True, slots=True)
class PartRow:
    """Row of the report for one part: its link, the joint that moves the link, mass and density.

    `reason` is why this link was chosen.
    """

    part: str
    link: str
    joint: str
    reason: str
    mass: float  # kg, estimated
    density: float  # kg/m³
    notes: tuple[str, ...] = ()


def report_text(
    source: Path,
    robot: Path,
    output: Path,
    rows: Sequence[PartRow],
    left_out: Sequence[str],
    empty: Sequence[RobotLink],
    pose: str,
    q: Array,
    model: TreeModel,
    scale: float,
    up: str,
    sized: bool,
    mass: float | None,
) -> str:
    """Return the report of a CAD import as plain text.

    `left_out` are the names of omitted parts, and `empty` are the links without a part.  `pose` is
    the name of the reference pose, and `q` (n,) its joint values (rad, m).  `sized` is True if all
    files of the assembly have a unit of length.  `mass` (kg) is the given total mass, or None.
    """
    values = ", ".join(
        f"{math.degrees(x):g}°" if kind == "revolute" else f"{x:g} m"
        for x, kind in zip(q.tolist(), model.joint_kinds, strict=True)
    )
    unit = "the unit of the file" if sized else "metres (the format has no unit)"
    lines = [
        f"CAD import of {source} with the kinematics of {robot}: {output}",
        "",
        "Assumed",
        f"  reference pose: {pose} ({values})",
        f"  lengths: {unit}{f', scaled by {scale:g}' if scale != 1.0 else ''}; {up} is up",
        "  masses and inertias are ESTIMATED: every part is solid and of one density; parts that "
        "overlap count twice",
    ]
    if mass is not None:
        lines.append(f"  densities are scaled to a total mass of {mass:g} kg, base included")
    lines += ["", "Parts"]
    width = max(len(row.part) for row in rows)
    for row in rows:
        joint = f" ({row.joint})" if row.joint else ""
        lines.append(
            f"  {row.part:{width}}  {row.link}{joint}, {row.reason}; {row.mass:.4g} kg at "
            f"{row.density:.4g} kg/m³"
        )
        lines += [f"  {'':{width}}  note: {note}" for note in row.notes]
    lines += [f"  {name:{width}}  left out, as in the map" for name in left_out]
    lines.append(f"  {'total':{width}}  {sum(row.mass for row in rows):.4g} kg")
    if empty:
        names = ", ".join(f"{one.name} ({one.joint})" if one.joint else one.name for one in empty)
        lines += ["", f"Without a part: {names}; body and masses stay as in {robot.name}"]
    return "\n".join(one_line(line) if line.strip() else "" for line in lines) + "\n"
