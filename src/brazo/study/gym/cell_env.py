"""Reach task of a robot in a cell, with contacts with bodies, chutes and other robots.

The action is a joint velocity, as a fraction of the max speed.  The integral of the velocity is the
reference of the robot's controller.  The other robots hold their poses.  Each environment has a
separate simulation.  `SyncVectorEnv` and `AsyncVectorEnv` of Gymnasium run several environments.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import Env

from brazo.control import Reference
from brazo.errors import BrazoError
from brazo.study.gym.reach_env import read_goal, task_spaces
from brazo.study.gym.reach_task import ReachTask

Array = np.ndarray


class CellReachEnv(Env):
    """Environment of a robot in a cell; `cell` is a name, a path or a `Cell`.

    `robot` is the name of the robot in the cell (default: the first robot).  `options` are those of
    `ReachTask`, except `action`, `substeps` and `start`.  Goals are in the robot's base frame.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  (as Gymnasium declares it)

    def __init__(self, cell: Any = "cooperative", robot: str | None = None, **options: Any) -> None:
        from brazo.simulation import Simulation

        options.pop("render_mode", None)
        for name in ("action", "substeps", "start"):
            if name in options:
                raise BrazoError(f"CellReachEnv has no option '{name}'")
        self.sim = Simulation(cell)
        self.sim.dump_folder = None
        name = next(iter(self.sim.robots)) if robot is None else robot
        self._robot = self.sim.robots[name]  # raises for an unknown name
        self.task = ReachTask(self._robot.arm, start=self._robot.q.copy(), **options)
        periods = self.task.dt / self.sim.dt
        if abs(periods - round(periods)) > 1e-6 or periods < 0.5:
            raise BrazoError(
                f"dt = {self.task.dt:g} s; it must be a multiple of the step of "
                f"the cell, {self.sim.dt:g} s"
            )
        self._periods = round(periods)
        self.observation_space, self.action_space = task_spaces(self.task)
        self.goal, self._count = self.task.tool(self.task.start), 0
        self._source = _Velocity(self.task, self.sim.dt)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start an episode with the cell at time 0; `options["goal"]` sets the goal (3,) in m."""
        super().reset(seed=seed)
        self.sim.reset()
        self._source = _Velocity(self.task, self.sim.dt)
        self._robot.follow(self._source)
        self.goal, self._count = read_goal(self.task, self.np_random, options), 0
        return self._observation(), self._info(False)

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Move the robot for the time `task.dt`."""
        self._source.qd = self.task.command(action)
        self.sim.step(self._periods)
        self._count += 1
        reward, _, reached = self.task.reward(self._robot.q, self.goal, action)
        ended = bool(reached)
        late = self._count >= self.task.steps and not ended
        return self._observation(), float(reward), ended, late, self._info(ended)

    def _observation(self) -> Array:
        return self.task.observation(self._robot.q.copy(), self._robot.qd.copy(), self.goal)

    def _info(self, reached: bool) -> dict[str, Any]:
        distance = np.linalg.norm(self.goal - self.task.tool(self._robot.q.copy()))
        return {"distance": float(distance), "success": reached}


class _Velocity:
    """Joint reference that moves with the velocity `qd` and stays within the joint limits."""

    def __init__(self, task: ReachTask, dt: float) -> None:
        self._task, self._dt = task, dt
        self.q, self.qd = task.start.copy(), np.zeros(task.robot.n)

    def next(self) -> Reference:
        before = self.q
        self.q = np.clip(before + self._dt * self.qd, self._task.low, self._task.high)
        return Reference(self.q, (self.q - before) / self._dt, np.zeros_like(before))
