"""Goals that are so or not so at a moment: a body at a place, on something, or in no clamp.

`time` is since when it has been so without a break; a body counts as being at a place or on
something only at rest, so that none reaches it by flying past.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from brazo.program.program import Goal
from brazo.world import World

REST, TURNING = 0.01, 0.1  # m/s, rad/s: slower than this is at rest


class GoalMonitor:
    """One goal, looked at now and then."""

    def __init__(self, world: World, goal: Goal) -> None:
        self.goal = goal
        self._world = world
        self.time: float | None = None

    def look(self, now: float, held: Iterable[str | None]) -> None:
        """Look at the present moment; `held` is what the clamps hold."""
        if not self._so(held):
            self.time = None
        elif self.time is None:
            self.time = now

    def _so(self, held: Iterable[str | None]) -> bool:
        goal, world = self.goal, self._world
        if goal.free:
            return goal.body not in held
        velocity = world.velocity(goal.body)
        if np.linalg.norm(velocity[:3]) > REST or np.linalg.norm(velocity[3:]) > TURNING:
            return False
        if goal.at is not None:
            away = np.linalg.norm(world.pose(goal.body)[:3, 3] - goal.at)
            return bool(away <= goal.within)
        return goal.body not in held and self._carried()

    def _carried(self) -> bool:
        """Whether the thing it should rest on pushes it up."""
        body, lift = self.goal.body, 0.0
        for contact in self._world.contacts().of(body):
            other, sign = (contact.second, -1.0) if contact.first == body else (contact.first, 1.0)
            if other.partition("/")[0] == self.goal.on:
                lift += sign * float(contact.force[2])
        return lift > 0.0
