"""A cell with a single robot on a floor."""

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
    """Return a cell with one robot at its pose `home`, else its first pose, in its own gravity.

    `source` describes where the robot was read from (default: `robot`); `floor` is the height (m)
    of the floor.
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
    """Return a `RobotSource` made from a robot; its parameters can still be edited."""
    source, edits = robot._source, Edits(dict(robot._overrides))
    if isinstance(source.rebuild, InGravity):  # a robot of another cell
        return source.rebuild.source.edited(edits)
    return RobotSource(robot.model, edits, _source=source)


def robot_name(wanted: str, taken: Iterable[str] = ()) -> str:
    """Valid, unused name for a robot in a cell.

    A robot file allows names that a cell does not: with a slash, empty or reserved.
    """
    others = {FLOOR, WORLD, *taken}
    wanted = wanted.replace("/", "-").strip() or "robot"
    name, k = wanted, 2
    while name in others:
        name, k = f"{wanted} {k}", k + 1
    return name


def floor_height(robot: Robot, q: Array, parts: Sequence[Sequence[Part]]) -> float:
    """Height (m) of the floor for a robot at `q` (n,); `parts` are the solids of each body.

    It is the bottom of the base, or lower than all links if some are far below the base.
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
