"""Collision checks and collision-free motions of one robot, without a program.

`is_free` and `plan` store the models of recently used cells in the `Robot` object.  If a cell is
given by name or path, its model is built again after the files of the cell or its robots changed.
Bodies and other robots are at their start poses in the cell, or at their current poses in a given
`World`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from brazo.arrays import float_array
from brazo.checks import one_of
from brazo.errors import BrazoError
from brazo.program.collision import FINE, Checker, Hit, MovingRobot
from brazo.program.motions import motion_limits, straight, through
from brazo.program.moves import CHECK_DT, OVERLAPS
from brazo.program.planner import NoPath, Planner
from brazo.program.steps import Speed
from brazo.robot import Robot
from brazo.simulation.lone_robot import lone_cell
from brazo.trajectory import Trajectory
from brazo.world import Cell, World, load_cell
from brazo.world.cell import Floor
from brazo.world.cell_fields import FLOOR

Array = np.ndarray
CellLike = Cell | World | str | Path | None

_KEPT = 4  # cells per robot


def is_free(
    arm: Robot,
    q: Any,
    cell: CellLike = None,
    *,
    robot: str | None = None,
    clearance: float = 0.003,
) -> Any:
    """Return whether a robot at q keeps clear of itself, the floor and everything else in a cell.

    Parameters
    ----------
    arm : the robot.
    q : (..., n) joint values, rad and m, or the name of a pose.
    cell : name, path, `Cell` or `World` that contains the robot.  None means the robot alone on a
        floor.  The floor is low enough that the robot keeps the clearance in its start pose.
    robot : name of the robot in the cell; default: the only robot, or the robot named `arm.name`.
    clearance : min distance, m, up to 0.02.

    Returns
    -------
    bool, or an array (...) of bool for a batch.  `FreeSpace.hit` returns the parts that collide.
    """
    return space_of(arm, cell, robot, clearance).is_free(q)


def plan(
    arm: Robot,
    q0: Any,
    q1: Any,
    cell: CellLike = None,
    *,
    robot: str | None = None,
    clearance: float = 0.003,
    speed: float = 1.0,
    planner: str = "rrt",
    seed: int = 0,
) -> Trajectory:
    """Plan a collision-free joint motion from q0 to q1, from rest to rest.

    The straight motion is used if it is free of collisions.  Otherwise a path is found by
    RRT-Connect and shortened.  The motion cuts the corners of this path without stopping, unless
    this would cause a collision.  If no path is found, `NoPath` (a `BrazoError`) is raised with the
    name of the obstacle.

    Parameters
    ----------
    arm : the robot.
    q0, q1 : (n,) joint values, rad and m, or names of poses.
    cell, robot, clearance : as for `is_free`.
    speed : 0 < speed ≤ 1; factor on the velocities of the fastest motion within the limits.
    planner : "rrt" or "ompl" (extra `planning`).
    seed : with "rrt", the same seed gives the same path.

    Returns
    -------
    `Trajectory` within the speed, acceleration and jerk limits of `brazo.trajectory.limits_of`.
    """
    return space_of(arm, cell, robot, clearance).plan(
        q0, q1, speed=speed, planner=planner, seed=seed
    )


def space_of(
    arm: Robot, cell: CellLike, robot: str | None = None, clearance: float = 0.003
) -> FreeSpace:
    """Return the `FreeSpace` of a robot in a cell; each robot caches the last `_KEPT` objects."""
    key = (cell, robot, clearance)
    # Kept in the robot, since they refer to it: a table of robots would keep them alive.
    spaces: list[tuple[Any, FreeSpace]] = vars(arm).setdefault("_free_spaces", [])
    for known, space in tuple(spaces):
        same = known[0] is cell or (isinstance(cell, (str, Path)) and known[0] == cell)
        if same and known[1:] == key[1:]:
            if not isinstance(cell, (str, Path)) or space.stamps == _stamps(space.world.cell):
                return space
            break
    space = FreeSpace(arm, cell, robot=robot, clearance=clearance)
    spaces[:] = [(key, space), *spaces[: _KEPT - 1]]
    return space


class FreeSpace:
    """Collision-free configurations of a robot in a cell; see `is_free`.

    Several threads may use the same instance, but not while its world moves.
    """

    def __init__(
        self,
        arm: Robot,
        cell: CellLike = None,
        *,
        robot: str | None = None,
        clearance: float = 0.003,
    ) -> None:
        self.arm = arm
        self.clearance = clearance
        if cell is None:
            cell = self._alone()
        elif isinstance(cell, (str, Path)):
            cell = load_cell(cell)
        self.world = cell if isinstance(cell, World) else World(cell)
        self.stamps = _stamps(self.world.cell)
        self.robot = _robot_in(self.world, arm, robot)
        self._lock = Lock()  # of the checker, which has one state of the engine
        self._keep_checker()

    def is_free(self, q: Any) -> Any:
        """Return whether q (..., n), or a named pose, is free; an array (...) for a batch."""
        values = self._values(q, "q", batch=True)
        with self._lock:
            checker = self._current()
            if values.ndim == 1:
                return checker.hit(values) is None
            rows = [checker.hit(one) is None for one in values.reshape(-1, self.arm.n)]
        return np.array(rows).reshape(values.shape[:-1])

    def hit(self, q: Any) -> Hit | None:
        """Return the pair of parts that violates its clearance most at q (n,); None if free."""
        values = self._values(q, "q")
        with self._lock:
            return self._current().hit(values)

    def plan(
        self, q0: Any, q1: Any, *, speed: float = 1.0, planner: str = "rrt", seed: int = 0
    ) -> Trajectory:
        """Return a collision-free motion from q0 to q1; see the function `plan`."""
        one_of(planner, ("rrt", "ompl"), "planner")
        if not isinstance(speed, (int, float)) or not 0.0 < speed <= 1.0:
            raise BrazoError(f"speed is {speed!r}; it must be greater than 0 and at most 1")
        start, end = self._values(q0, "q0"), self._values(q1, "q1")
        for what, q in (("q0", start), ("q1", end)):
            self._require_limits(what, q)
        limits = motion_limits(self.arm)
        checker = self._new_checker()
        checker.allow_start(start)
        checker.allow_end(end)
        motion = straight(start, end, limits, Speed(), speed)
        if self._motion_hit(checker, motion) is None:
            return motion
        path = Planner(planner, seed).plan(checker, self.arm, start, end)
        motions = [through(path, limits, Speed(), speed, overlap) for overlap in OVERLAPS]
        hit = None
        for motion in sorted(motions, key=lambda one: one.duration):
            hit = self._motion_hit(checker, motion)
            if hit is None:
                return motion
        raise NoPath(f"a path was found, but the motion along it collides: {hit}")

    def _alone(self) -> World:
        """Return a world with the robot alone on a floor.

        The floor is lowered if the robot in its start pose is closer to the floor than the
        clearance plus `FINE`.
        """
        cell = lone_cell(self.arm)
        (robot,) = cell.robots
        assert cell.floor is not None
        world = World(cell)
        checker = Checker(
            world, MovingRobot(world.robots[robot.name], self.arm, {}), clearance=self.clearance
        )
        missing = self.clearance + FINE - checker.distance(robot.start, FLOOR)
        if missing <= 0.0:
            return world
        return World(replace(cell, floor=Floor(cell.floor.height - missing)))

    def _current(self) -> Checker:
        """Return the stored checker, or a new checker if the world was edited or has moved."""
        data = self.world.mj_data
        if data is not self._data or not np.array_equal(data.qpos, self._qpos):
            self._keep_checker()
        return self._checker

    def _keep_checker(self) -> None:
        self._data = self.world.mj_data  # another one after an edit
        self._qpos = self._data.qpos.copy()
        self._checker = self._new_checker()

    def _new_checker(self) -> Checker:
        mover = MovingRobot(self.world.robots[self.robot], self.arm, {})
        return Checker(self.world, mover, clearance=self.clearance)

    def _motion_hit(self, checker: Checker, motion: Trajectory) -> Hit | None:
        table = motion.table(min(CHECK_DT, max(motion.duration / 50, 1e-6)))
        return checker.motion(table.t - motion.start, table.q)

    def _values(self, q: Any, name: str, batch: bool = False) -> Array:
        if isinstance(q, str):
            q = self.arm._joint_values(q)
        values = float_array(q, name)
        n = self.arm.n
        fits = values.shape[-1:] == (n,) and (batch or values.ndim == 1)
        if not fits or not np.isfinite(values).all():
            wanted = f"(..., {n})" if batch else f"({n},)"
            got = f"shape {values.shape}" if not fits else "a value that is not finite"
            raise BrazoError(f"{name}: expected finite values of shape {wanted}, got {got}")
        return values

    def _require_limits(self, name: str, q: Array) -> None:
        low, high = self.arm.limits.T
        beyond = np.flatnonzero((q < low - 1e-9) | (q > high + 1e-9)).tolist()
        if beyond:
            i = beyond[0]
            unit = "rad" if self.arm.joint_kinds[i] == "revolute" else "m"
            raise BrazoError(
                f"{name}: joint {i + 1} ({self.arm.joint_names[i]}) at {q[i]:g} {unit} is outside "
                f"its limits {low[i]:g} to {high[i]:g} {unit}"
            )


def _stamps(cell: Cell) -> list[tuple[int, int, int] | None]:
    """Return inode, size and time of each file of a cell, to detect changes of the files.

    An entry is None if there is no such file.
    """
    stamps: list[tuple[int, int, int] | None] = []
    for path in (cell.path, *(robot.model.path for robot in cell.robots)):
        try:
            stat = None if path is None else path.stat()
        except OSError:
            stat = None
        stamps.append(stat and (stat.st_ino, stat.st_size, stat.st_mtime_ns))
    return stamps


def _robot_in(world: World, arm: Robot, wanted: str | None) -> str:
    """Return the name that the robot `arm` has in a world.

    The name is `wanted`.  If `wanted` is None, it is that of the only robot, or else `arm.name`.
    Raises BrazoError if there is no such robot or if its number of joints differs.
    """
    names: Sequence[str] = list(world.robots)
    if wanted is None and len(names) == 1:
        wanted = names[0]
    elif wanted is None:
        wanted = arm.name
    if wanted not in names:
        raise BrazoError(
            f"cell '{world.cell.name}' has no robot '{wanted}'; robots: {', '.join(names)}; give "
            "one of these names as argument 'robot'"
        )
    if len(world.robots[wanted].joint_names) != arm.n:
        raise BrazoError(
            f"robot '{wanted}' of the cell has {len(world.robots[wanted].joint_names)} joints, "
            f"'{arm.name}' has {arm.n}; use a cell with '{arm.name}', or give the name of "
            "another robot as argument 'robot'"
        )
    return wanted
