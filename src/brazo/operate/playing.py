"""`Playing`: a run of a trajectory on a robot, once or in a loop.

The robot first moves from its current position to the start of the trajectory, as fast as its
limits allow.  STOP, another motion of the robot, or the removal of the robot ends the run early.
`trace` is the actual tool path of the last pass through the trajectory, sampled every `TRACE_DT`.
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

REPLACED = "another motion of the robot was started"  # a reason of an early end
TRACE_DT = 0.005  # s
MAX_TRACE = 200_000  # samples
THERE = 1e-6  # rad or m: no approach is needed below this distance


def require_no_task(sim: Simulation, robot: SimRobot) -> None:
    """Raise `BrazoError` if a task that is not paused moves the robot.

    The message contains the task's attribute `what`, or "a program" if the task has none.
    """
    for task in sim.tasks:
        if robot.name in getattr(task, "motions", ()) and not getattr(task, "paused", False):
            what = getattr(task, "what", "")
            remedy = "stop it first" if what else "pause it first"
            raise BrazoError(f"{what or 'a program'} moves {robot.name}: {remedy}")


def require_free(sim: Simulation, robot: SimRobot) -> None:
    """Raise `BrazoError` if the robot is moving or a task moves it."""
    require_no_task(sim, robot)
    if robot.moving:
        raise BrazoError(f"{robot.name} is moving: wait until it stops, or stop it first")


class Playing:
    """Task of a simulation that runs a trajectory on a robot.

    `done(why)` is called at the end.  `why` is "" if the run was completed, otherwise the reason
    why it ended early.
    """

    paused = False
    what = "a trajectory"

    def __init__(
        self, robot: SimRobot, trajectory: Piecewise, loop: bool, done: Callable[[str], None]
    ) -> None:
        self.motions = {robot.name: None}  # prevents other motions of the robot
        self.loop = loop
        self.round = 0
        self.on_path = False
        self.robot, self.trajectory, self._done = robot, trajectory, done
        self.began = 0.0  # s, time of the simulation at which the current round started
        self.trace: list[tuple[float, float, float, float]] = []  # s of the round, m in the base
        self._motion: object = None
        self._why = ""  # reason of an early end

    def pause(self) -> None:
        """End the run; called by STOP."""
        self._why = "stopped"

    def elapsed(self, now: float) -> float:
        """Return the time (s) since the start of the current pass; 0 during the approach.

        `now` is the simulation time (s).
        """
        return min(now - self.began, self.trajectory.duration) if self.on_path else 0.0

    def tick(self, sim: Simulation) -> bool:
        """Update the run before a simulation step; return whether the run continues."""
        robot = self.robot
        if sim.robots.get(robot.name) is not robot:
            self._why = self._why or "the robot was removed"
        if not self._why and self._motion is not None and robot.motion is not self._motion:
            self._why = REPLACED
        if self._why:
            return self._end()
        if self.on_path:
            self._sample(sim.time)
        if self._motion is not None and robot.moving:
            return True
        if self.on_path and not self.loop:
            return self._end()
        here, start = robot.motion.q.copy(), self.trajectory.sample(self.trajectory.start).q
        if np.abs(here - start).max() > THERE:
            self.on_path = False
            robot.move(jerk_limited(here, start, limits_of(robot.arm)))
        else:
            self.on_path = True
            self.round += 1
            self.began = sim.time
            self.trace = []
            self._sample(sim.time)
            robot.move(self.trajectory)
        self._motion = robot.motion
        return True

    def _sample(self, now: float) -> None:
        t = now - self.began
        late = not self.trace or t >= self.trace[-1][0] + TRACE_DT - 1e-9
        if late and len(self.trace) < MAX_TRACE:
            robot = self.robot
            # Ideal positioning sets the joints to the reference at the start of the step.
            q = robot.motion.q if robot.controller_name == "ideal" else robot.q
            x, y, z = robot.arm.fk(np.array(q))[:3, 3].tolist()
            self.trace.append((t, x, y, z))

    def _end(self) -> bool:
        self._done(self._why)
        return False
