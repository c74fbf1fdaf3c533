"""Simulation task that repeats a trajectory: moves to its start, rests, then plays it again.

The rest removes transients that are not caused by the trajectory: the tracking error of the
approach, and the sag of the arm after a change to a controller without gravity compensation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from brazo.operate.playing import THERE, Playing
from brazo.trajectory import jerk_limited, limits_of

if TYPE_CHECKING:
    from brazo.simulation import Simulation

SETTLED = 1e-4  # rad/s and m/s
LEAST, MOST = 0.5, 5.0  # s of rest; a controller that oscillates is not waited for longer


class RunAgain:
    """Task that repeats the trajectory of the task `playing`, starting at rest.

    STOP or another motion of the robot ends the task.  `done(reason)` is called when the trajectory
    or the task ends; `reason` is "" if the trajectory was completed.
    """

    paused = False
    waits = True  # the run is the trajectory that follows
    what = "a repeated run"

    def __init__(self, playing: Playing, done: Callable[[str], None]) -> None:
        self.motions = {playing.robot.name: None}  # reserves the robot
        self._playing, self._done = playing, done
        self._motion: object = None
        self._since = 0.0  # s, when the robot came to rest at the start
        self._off = False

    def pause(self) -> None:
        """Cancel the task; called on STOP."""
        self._off = True

    def tick(self, sim: Simulation) -> bool:
        """Do one step: approach, rest, or start the trajectory.

        Returns True until the trajectory is started or the task is cancelled.
        """
        robot, trajectory = self._playing.robot, self._playing.trajectory
        other = self._motion is not None and robot.motion is not self._motion
        if self._off or other or sim.robots.get(robot.name) is not robot:
            self._done("stopped")
            return False
        if self._motion is None:
            here, start = robot.motion.q.copy(), trajectory.sample(trajectory.start).q
            if np.abs(here - start).max() > THERE:
                robot.move(jerk_limited(here, start, limits_of(robot.arm)))
            self._motion = robot.motion
        if robot.moving:
            self._since = sim.time
            return True
        self._since = self._since or sim.time
        rested = sim.time - self._since
        if rested < LEAST or (rested < MOST and np.abs(robot.qd).max() > SETTLED):
            return True
        sim.tasks.add(Playing(robot, trajectory, False, self._done))
        return False
