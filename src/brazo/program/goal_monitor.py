"""Goals on the current state: a body at a position, on another body or fixture, or not held.

A goal with `at` or `on` is met only while the body is at rest, not while the body moves past.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from brazo.program.program import Goal
from brazo.world import World

REST, REST_ANGULAR = 0.01, 0.1  # m/s, rad/s: a slower body is at rest


class GoalMonitor:
    """Evaluation of one goal on the state of the world.

    `time` (s) is the time since which the goal has been met without interruption; None if it is
    not met.
    """

    def __init__(self, world: World, goal: Goal) -> None:
        self.goal = goal
        self._world = world
        self.time: float | None = None

    def update(self, now: float, held: Iterable[str | None]) -> None:
        """Evaluate the goal at time `now` (s); `held` are the bodies in the grippers."""
        if not self._met(held):
            self.time = None
        elif self.time is None:
            self.time = now

    def _met(self, held: Iterable[str | None]) -> bool:
        goal, world = self.goal, self._world
        if goal.free:
            return goal.body not in held
        velocity = world.velocity(goal.body)
        if np.linalg.norm(velocity[:3]) > REST or np.linalg.norm(velocity[3:]) > REST_ANGULAR:
            return False
        if goal.at is not None:
            away = np.linalg.norm(world.pose(goal.body)[:3, 3] - goal.at)
            return bool(away <= goal.within)
        return goal.body not in held and self._supported()

    def _supported(self) -> bool:
        """Return whether the body or fixture `goal.on` exerts an upward force on `goal.body`."""
        body, lift = self.goal.body, 0.0
        for contact in self._world.contacts().of(body):
            other, sign = (contact.second, -1.0) if contact.first == body else (contact.first, 1.0)
            if other.partition("/")[0] == self.goal.on:
                lift += sign * float(contact.force[2])
        return lift > 0.0
