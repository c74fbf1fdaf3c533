"""From pose to pose without touching anything: a way in joint space, found and then timed.

A `Planner` asks RRT-Connect (own, or OMPL's) for poses with free straight lines between them and
cuts corners; both judge ways with the same `Checker`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brazo.errors import BrazoError
from brazo.program.collision import Checker
from brazo.program.rrt import rrt_connect, shortened
from brazo.robot import Robot

Array = np.ndarray
_OPEN = {"revolute": np.pi, "prismatic": 1.0}  # how far to look where a joint has no limit


class NoPath(BrazoError):
    """No free way was found; the message says what is in the way."""


@dataclass(frozen=True, slots=True)
class Planner:
    """How to look for ways: `name` is "rrt" or "ompl"; the same seed gives the same way."""

    name: str = "rrt"
    seed: int = 0

    def plan(
        self, checker: Checker, arm: Robot, q0: Array, q1: Array, salt: int = 0
    ) -> list[Array]:
        """Poses from q0 to q1; `salt` tells the questions of one run apart."""
        checker.allow_start(q0)
        checker.allow_end(q1)
        for what, q in (("the start", q0), ("the goal", q1)):
            hit = checker.hit(q)
            if hit is not None:
                raise NoPath(f"{what} is not free: {hit}")
        seed = int(np.random.default_rng([self.seed, salt]).integers(2**31))

        def free(a: Array, b: Array) -> bool:
            return checker.edge(a, b) is None

        if self.name == "ompl":
            from brazo.program.ompl_planner import ompl_connect as connect
        else:
            connect = rrt_connect
        way = connect(q0, q1, _box(arm, q0, q1), checker.weights, free, seed)
        if way is None:
            hit = checker.edge(q0, q1)
            raise NoPath(f"no free way was found; on the straight one {hit}")
        return shortened(way, checker.weights, free, seed)


def _box(arm: Robot, q0: Array, q1: Array) -> Array:
    """Limits, or some room about start and goal where there are none."""
    box = arm.limits.copy()
    room = np.array([_OPEN[kind] for kind in arm.joint_kinds])
    low, high = np.minimum(q0, q1) - room, np.maximum(q0, q1) + room
    box[:, 0] = np.where(np.isfinite(box[:, 0]), box[:, 0], low)
    box[:, 1] = np.where(np.isfinite(box[:, 1]), box[:, 1], high)
    return box
