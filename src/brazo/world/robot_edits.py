"""Edits of one robot in a cell; implementation of `World.edit`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.model.description import Array
from brazo.world.cell import Cell, CellRobot
from brazo.world.robot_source import Edits, RobotSource


def edited_cell(
    cell: Cell,
    robot: int,
    parameters: Mapping[str, float] | None,
    width: float | None,
    finger: tuple[float, float, float] | None,
    opening: tuple[float, float] | None,
    base: Array | None,
    fields: Mapping[str, Any] | None,
    source: RobotSource | None,
) -> Cell:
    """Return the cell with changes of the robot `cell.robots[robot]`.

    The other arguments are those of `World.edit`; None means no change.
    """
    old = cell.robots[robot]
    source = (old.source if source is None else _with_same_joints(source, old)).edited(
        Edits(
            dict(parameters or {}),
            width,
            None if finger is None else tuple(map(float, finger)),
            None if opening is None else tuple(map(float, opening)),
            dict(fields or {}),
        )
    )
    new = replace(old, source=source, base=old.base if base is None else checked_pose(base))
    return replace(cell, robots=(*cell.robots[:robot], new, *cell.robots[robot + 1 :]))


def checked_pose(T: Any) -> Array:
    """Return a pose (4, 4) as a read-only array; raise an error if it is not a valid pose."""
    array = np.array(T, dtype=float)
    if array.shape != (4, 4) or not np.isfinite(array).all():
        raise BrazoError(
            f"a pose must be a 4x4 matrix of finite numbers; this array has shape {array.shape}"
        )
    R = array[:3, :3]
    if np.abs(R @ R.T - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0.0:
        raise BrazoError("invalid pose: the upper left 3x3 block is not a rotation matrix")
    array.flags.writeable = False
    return array


def _with_same_joints(source: RobotSource, robot: CellRobot) -> RobotSource:
    """Return `source` after checking that it has the same joints as the robot."""
    names, known = source.model.joint_names, robot.model.joint_names
    if names != known:
        raise BrazoError(
            f"robot '{robot.name}' has the joints {', '.join(known)}; the new description has "
            f"{', '.join(names)}; use a description with the same joint names"
        )
    return source
