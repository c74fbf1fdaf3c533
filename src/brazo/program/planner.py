"""Collision-free paths in joint space.

A `Planner` finds a path of collision-free straight segments with RRT-Connect, in the implementation
of `brazo.program.rrt` or OMPL, and shortens it.  Both implementations use the same `Checker`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brazo.errors import BrazoError
from brazo.program.collision import Checker
from brazo.program.rrt import rrt_connect, shortened
from brazo.robot import Robot

Array = np.ndarray
_OPEN = {
    "revolute": np.pi,
    "prismatic": 1.0,
}  # rad or m about start and goal for a joint without limits


class NoPath(BrazoError):
    """Raised when no collision-free path is found; the message names the obstacle."""


@dataclass(frozen=True, slots=True)
class Planner:
    """Path planner; `name` is "rrt" or "ompl".

    With "rrt", the same seed gives the same path.
    """

    name: str = "rrt"
    seed: int = 0

    def plan(
        self, checker: Checker, arm: Robot, q0: Array, q1: Array, salt: int = 0
    ) -> list[Array]:
        """Return the poses (n,) of a collision-free path from q0 to q1, including both.

        `salt` and the seed determine the random numbers; each planning problem has its own `salt`.
        Raises NoPath if no path is found, or if q0 or q1 is in collision.
        """
        checker.allow_start(q0)
        checker.allow_end(q1)
        for what, q in (("the start", q0), ("the goal", q1)):
            hit = checker.hit(q)
            if hit is not None:
                raise NoPath(f"{what} is in collision: {hit}")
        seed = int(np.random.default_rng([self.seed, salt]).integers(2**31))

        def free(a: Array, b: Array) -> bool:
            return checker.edge(a, b) is None

        if self.name == "ompl":
            from brazo.program.ompl_planner import ompl_connect as connect
        else:
            connect = rrt_connect
        path = connect(q0, q1, _box(arm, q0, q1), checker.weights, free, seed)
        if path is None:
            hit = checker.edge(q0, q1)
            raise NoPath(f"no collision-free path was found; on the straight path {hit}")
        return shortened(path, checker.weights, free, seed)


def _box(arm: Robot, q0: Array, q1: Array) -> Array:
    """Return the joint ranges (n, 2) to search: the limits of each joint.

    Where a joint has no limit, its range extends by `_OPEN` beyond start and goal.
    """
    box = arm.limits.copy()
    room = np.array([_OPEN[kind] for kind in arm.joint_kinds])
    low, high = np.minimum(q0, q1) - room, np.maximum(q0, q1) + room
    box[:, 0] = np.where(np.isfinite(box[:, 0]), box[:, 0], low)
    box[:, 1] = np.where(np.isfinite(box[:, 1]), box[:, 1], high)
    return box
