"""Construction of a cell with a single robot on a floor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from brazo.body.solids import mesh
from brazo.model.description import Part
from brazo.robot import Robot
from brazo.simulation.cell_arm import InGravity
from brazo.world.cell import Cell, CellRobot, Floor, default_start
from brazo.world.cell_fields import FLOOR, WORLD
from brazo.world.robot_source import Edits, RobotSource

Array = np.ndarray


def lone_cell(robot: Robot, source: RobotSource | None = None, floor: float | None = None) -> Cell:
    """Return a cell with one robot, a floor, and the gravity vector of the robot's model.

    The robot starts in the configuration `default_start`.  `source` is the description of
    the robot for the cell; by default it is `source_of(robot)`.  `floor` is the height (m) of the
    floor; by default it is computed by `floor_height`.
    """
    source = source or source_of(robot)
    start = default_start(source.model, source.model.limits)
    return Cell(
        name=robot.name.replace("/", "-"),
        about=robot.about,
        robots=(CellRobot(robot_name(robot.name), source, start=start),),
        floor=Floor(floor_height(robot, start, robot.parts) if floor is None else floor),
        gravity=robot.model.gravity,
        path=source.model.path,
    )


def source_of(robot: Robot) -> RobotSource:
    """Return the `RobotSource` of a robot: its model, file and edits, as a cell needs them."""
    source, edits = robot._source, Edits(dict(robot._overrides))
    if isinstance(source.rebuild, InGravity):  # a robot of another cell
        return source.rebuild.source.edited(edits)
    return RobotSource(robot.model, edits, _source=source)


def robot_name(wanted: str, taken: Iterable[str] = ()) -> str:
    """Return a name for a robot in a cell: `wanted`, changed if it is invalid or taken.

    Robot files allow names that are not valid in a cell: names with a slash, empty names and
    reserved names.
    """
    others = {FLOOR, WORLD, *taken}
    wanted = wanted.replace("/", "-").strip() or "robot"
    name, k = wanted, 2
    while name in others:
        name, k = f"{wanted} {k}", k + 1
    return name


def floor_height(robot: Robot, q: Array, parts: Sequence[Sequence[Part]]) -> float:
    """Return the height (m) at which to place the floor for a robot at `q` (n,).

    This is the bottom of the base.  If a link extends below the base by more than 5 % of the size
    of the robot, the floor is 8 % of this size below the lowest link.  `parts` contains the parts
    of each body.  Without parts, the floor is at the lowest origin of a body frame.
    """
    frames = robot.frames(q)
    clouds = []
    for T, solids in zip(frames, parts, strict=True):
        points = [mesh(p.shape).vertices @ p.pose[:3, :3].T + p.pose[:3, 3] for p in solids]
        clouds.append(
            np.concatenate(points) @ T[:3, :3].T + T[:3, 3] if points else np.empty((0, 3))
        )
    every = np.concatenate(clouds)
    if not len(every):
        return float(frames[:, 2, 3].min())
    size = float(np.linalg.norm(np.ptp(every, axis=0))) or 1.0
    foot = float(clouds[0][:, 2].min()) if len(clouds[0]) else float(frames[0, 2, 3])
    lowest = float(every[:, 2].min())
    return lowest - 0.08 * size if lowest <= foot - 0.05 * size else foot
