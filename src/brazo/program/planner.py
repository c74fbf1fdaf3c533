"""Collision-free paths in joint space.

A `Planner` uses RRT-Connect (`brazo.program.rrt` or OMPL) to find poses joined by collision-free
straight segments, and shortens the path.  Both use the same `Checker`.
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
    """No collision-free path was found; the message names the obstacle."""


@dataclass(frozen=True, slots=True)
class Planner:
    """A path planner: `name` is "rrt" or "ompl"; the same seed gives the same path."""

    name: str = "rrt"
    seed: int = 0

    def plan(
        self, checker: Checker, arm: Robot, q0: Array, q1: Array, salt: int = 0
    ) -> list[Array]:
        """Poses from q0 to q1; `salt` distinguishes the planning problems of one run."""
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
            raise NoPath(f"no collision-free path was found; on the straight one {hit}")
        return shortened(path, checker.weights, free, seed)


def _box(arm: Robot, q0: Array, q1: Array) -> Array:
    """Joint limits (n, 2), or a range about start and goal for joints without limits."""
    box = arm.limits.copy()
    room = np.array([_OPEN[kind] for kind in arm.joint_kinds])
    low, high = np.minimum(q0, q1) - room, np.maximum(q0, q1) + room
    box[:, 0] = np.where(np.isfinite(box[:, 0]), box[:, 0], low)
    box[:, 1] = np.where(np.isfinite(box[:, 1]), box[:, 1], high)
    return box
