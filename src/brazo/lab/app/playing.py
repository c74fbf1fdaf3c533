"""A motion played on a robot of the lab, once or over and over: approach, way, and again.

From wherever the robot rests it first goes to the beginning of the way, as quickly as its limits
allow.  Whatever else moves the robot meanwhile, or STOP, ends it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from brazo.errors import BrazoError
from brazo.trajectory import Piecewise, jerk_limited, limits_of

if TYPE_CHECKING:
    from brazo.simulation import Simulation
    from brazo.simulation.robot import SimRobot

THERE = 1e-6  # rad or m: nearer than this no approach is needed


def require_no_task(sim: Simulation, robot: SimRobot) -> None:
    """Raise when a task moves the robot: a program, unless the task says in `what` what it is."""
    for task in sim.tasks:
        if robot.name in getattr(task, "motions", ()) and not getattr(task, "paused", False):
            what = getattr(task, "what", "")
            remedy = "stop it first" if what else "pause it first"
            raise BrazoError(f"{what or 'a program'} moves {robot.name}: {remedy}")


def require_free(sim: Simulation, robot: SimRobot) -> None:
    """Raise when something else moves the robot."""
    require_no_task(sim, robot)
    if robot.moving:
        raise BrazoError(f"{robot.name} still moves: wait until it rests, or stop it first")


class Playing:
    """A task; `done(why)` is called once it is over, with "" when the way was gone to its end."""

    paused = False
    what = "a trajectory"

    def __init__(
        self, robot: SimRobot, way: Piecewise, loop: bool, done: Callable[[str], None]
    ) -> None:
        self.motions = {robot.name: None}  # so that nobody else moves it meanwhile
        self.loop = loop
        self.round = 0
        self.on_way = False
        self._robot, self._way, self._done = robot, way, done
        self._began = 0.0
        self._motion: object = None
        self._why = ""  # what ended it early

    def pause(self) -> None:
        """STOP: go no further."""
        self._why = "stopped"

    def elapsed(self, now: float) -> float:
        """Seconds into the way; 0 while it is approached."""
        return min(now - self._began, self._way.duration) if self.on_way else 0.0

    def tick(self, sim: Simulation) -> bool:
        robot = self._robot
        if not self._why and self._motion is not None and robot.motion is not self._motion:
            self._why = "something else moves the robot"
        if self._why:
            return self._end()
        if self._motion is not None and robot.moving:
            return True
        if self.on_way and not self.loop:
            return self._end()
        here, start = robot.motion.q.copy(), self._way.sample(self._way.start).q
        if np.abs(here - start).max() > THERE:
            self.on_way = False
            robot.move(jerk_limited(here, start, limits_of(robot.arm)))
        else:
            self.on_way = True
            self.round += 1
            self._began = sim.time
            robot.move(self._way)
        self._motion = robot.motion
        return True

    def _end(self) -> bool:
        self._done(self._why)
        return False
