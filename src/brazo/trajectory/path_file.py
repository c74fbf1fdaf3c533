"""Trajectory files: a tool path with its timing, or via points.

A tool path file has one curve, with the fields of a `path` step of a program.  Coordinates are in
the base frame of the robot:

    path:
      text: {text: RV-2AJ, height: 20mm, centre: [0.30, 0, 0.20], font: outline, lift: 10mm}
    rpy: [180deg, 0, 0]     # tool orientation; default: as in the start configuration
    time: 20s               # or tool_speed (max, default 50mm/s)
    orientation: nearest    # or full, free; default: full if the tool has six degrees of freedom

Without `time`, the whole motion is slowed down if the joints cannot follow at the tool speed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from brazo.formats.document import Field, parse_document, read_document
from brazo.kinematics.orientation import matrix_from_rpy
from brazo.trajectory.cartesian import CartesianPath
from brazo.trajectory.curve_fields import CURVES, curve_in_base, read_curve
from brazo.trajectory.files import parse_via_list, read_via_list
from brazo.trajectory.follow import ORIENTATIONS, Orientation
from brazo.trajectory.piecewise import Piecewise
from brazo.trajectory.plan_path import plan_path
from brazo.trajectory.scaling import fastest_within
from brazo.trajectory.timing import Timing
from brazo.trajectory.via_list import ViaList
from brazo.units import ANGLE, SPEED, TIME

if TYPE_CHECKING:
    from brazo.robot import Robot

Array = np.ndarray
_FIELDS = ("path", "rpy", "time", "tool_speed", "orientation", "about")
TOOL_SPEED = 0.05  # m/s


@dataclass(frozen=True, slots=True, eq=False)
class PathFile:
    """Content of a tool path file: curve, tool orientation and timing."""

    curve: str
    values: Mapping[str, Any]
    rpy: tuple[float, ...] | None = None
    time: float | None = None  # s
    tool_speed: float | None = None  # m/s
    orientation: Orientation = "full"
    folder: Path | None = None

    def path(self, robot: Robot, q0: Any = None) -> CartesianPath:
        """Create the tool path.

        If the file has no `rpy`, the tool keeps the orientation that it has at the joint positions
        `q0` (n,), by default those of the first pose in the robot file.
        """
        if self.rpy is not None:
            R = matrix_from_rpy(self.rpy)
        else:
            first = next(iter(robot.poses.values()), np.zeros(robot.n))
            R = robot.fk(np.asarray(first if q0 is None else q0, dtype=float))[:3, :3]
        timing = Timing(duration=self.time)
        if self.time is None:
            timing = Timing(speed=self.tool_speed or TOOL_SPEED)
        return curve_in_base(self.curve, self.values, np.eye(4), R, timing, self.folder)

    def trajectory(self, robot: Robot, q0: Any = None) -> Piecewise:
        """Plan the joint motion along the path.

        The motion starts at an IK solution from which the path is feasible.  Of several such
        solutions, the nearest to `q0` (n,) is used.  If the file has no `time`, the motion is
        slowed down to satisfy the limits of the robot.
        """
        motion = plan_path(robot, self.path(robot, q0), q0, orientation=self.orientation)
        if self.time is None:
            motion = cast(Piecewise, fastest_within(motion, robot))
        return motion


def read_trajectory(path: str | Path, robot: Robot) -> PathFile | ViaList:
    """Read a file with a tool path or via points; errors name `file:line: field`."""
    root = read_document(Path(path))
    if not root.is_mapping or "path" not in root.mapping():
        return read_via_list(path, robot)
    return _read(root, robot)


def parse_trajectory(
    text: str | bytes, robot: Robot, path: str | Path | None = None
) -> PathFile | ViaList:
    """Read a tool path or via points from the text of a file.

    Error messages name `path`, and SVG files are searched in its folder.
    """
    root = parse_document(text, None if path is None else Path(path))
    if not root.is_mapping or "path" not in root.mapping():
        return parse_via_list(text, robot, path)
    return _read(root, robot)


def _read(root: Field, robot: Robot) -> PathFile:
    fields = root.mapping(_FIELDS)
    block = fields["path"]
    given = block.mapping(CURVES)
    if len(given) != 1:
        block.fail(f"give exactly one curve: {', '.join(CURVES)}")
    ((curve, one),) = given.items()
    if "time" in fields and "tool_speed" in fields:
        fields["tool_speed"].fail("is not allowed with 'time'")
    default = "full" if robot.mobility >= 6 else "nearest"
    return PathFile(
        curve,
        read_curve(curve, one),
        tuple(fields["rpy"].numbers(3, ANGLE)) if "rpy" in fields else None,
        fields["time"].number(TIME, above=0.0) if "time" in fields else None,
        fields["tool_speed"].number(SPEED, above=0.0) if "tool_speed" in fields else None,
        cast(
            Orientation,
            fields["orientation"].choice(*ORIENTATIONS) if "orientation" in fields else default,
        ),
        root.folder,
    )
