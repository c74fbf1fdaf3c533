"""Reach environments without contacts: one robot, or many robots that one native call moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import Env, spaces
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from brazo.errors import BrazoError
from brazo.study.gym.reach_task import BOUND, ReachTask

Array = np.ndarray


def task_spaces(task: ReachTask) -> tuple[spaces.Box, spaces.Box]:
    """Return the observation and action spaces of a task."""
    return (
        spaces.Box(-BOUND, BOUND, (task.observation_size,), np.float32),
        spaces.Box(-1.0, 1.0, (task.robot.n,), np.float32),
    )


class ReachEnv(Env):
    """Environment of one robot; `options` are those of `ReachTask`."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  (as Gymnasium declares it)

    def __init__(self, robot: Any = "puma560", **options: Any) -> None:
        self.task = ReachTask(robot, **_task_options(options))
        self.observation_space, self.action_space = task_spaces(self.task)
        self.q, self.qd = self.task.start.copy(), np.zeros(self.task.robot.n)
        self.goal, self._count = self.task.tool(self.q), 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start an episode; `options["goal"]` sets the goal (3,) in m."""
        super().reset(seed=seed)
        self.q, self.qd = self.task.start.copy(), np.zeros(self.task.robot.n)
        self.goal, self._count = read_goal(self.task, self.np_random, options), 0
        distance = float(np.linalg.norm(self.goal - self.task.tool(self.q)))
        return self.task.observation(self.q, self.qd, self.goal), _info(distance, False)

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Move the robot for the time `task.dt`."""
        self.q, self.qd = self.task.advance(self.q, self.qd, action)
        self._count += 1
        reward, distance, reached = self.task.reward(self.q, self.goal, action)
        observation = self.task.observation(self.q, self.qd, self.goal)
        ended = bool(reached)
        late = self._count >= self.task.steps and not ended
        return observation, float(reward), ended, late, _info(float(distance), ended)


class ReachVectorEnv(VectorEnv):
    """Vector environment of many robots; one native call moves all of them.

    Each robot moves exactly (bit for bit) like a `ReachEnv` with the same seed and actions.  After
    an episode has ended, the next step starts a new episode and ignores the action.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (as Gymnasium declares it)
        "render_modes": [],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(self, num_envs: int = 1, robot: Any = "puma560", **options: Any) -> None:
        if not isinstance(num_envs, int) or num_envs < 1:
            raise BrazoError(f"num_envs = {num_envs!r}; it must be an integer of at least 1")
        self.task, self.num_envs = ReachTask(robot, **_task_options(options)), num_envs
        self.single_observation_space, self.single_action_space = task_spaces(self.task)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        n = self.task.robot.n
        self.q, self.qd = np.tile(self.task.start, (num_envs, 1)), np.zeros((num_envs, n))
        self.goal = np.tile(self.task.tool(self.task.start), (num_envs, 1))
        self._count = np.zeros(num_envs, dtype=int)
        self._over = np.zeros(num_envs, dtype=bool)
        self._generators: list[np.random.Generator] = []

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """Start all episodes; environment i uses `seed` + i, or entry i of a list of seeds.

        `options["goal"]` sets the goal (3,) in m of all environments.
        """
        if isinstance(seed, (int, np.integer)):
            seed = [int(seed) + i for i in range(self.num_envs)]
        seeds = [None] * self.num_envs if seed is None else list(seed)
        if len(seeds) != self.num_envs:
            raise BrazoError(
                f"got {len(seeds)} seeds for {self.num_envs} environments; give one for each"
            )
        if not self._generators:
            self._generators = [seeding.np_random(one)[0] for one in seeds]
        for i, one in enumerate(seeds):
            if one is not None:
                self._generators[i] = seeding.np_random(one)[0]
        self._restart(np.ones(self.num_envs, dtype=bool), options)
        distance = np.linalg.norm(self.goal - self.task.tool(self.q), axis=-1)
        infos = _infos(distance, np.zeros(self.num_envs, dtype=bool))
        return self.task.observation(self.q, self.qd, self.goal), infos

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Move all robots for the time `task.dt`."""
        again = self._over
        actions = np.where(again[:, None], 0.0, np.asarray(actions, dtype=float))
        self.q, self.qd = self.task.advance(self.q, self.qd, actions)
        self._count += 1
        if again.any():
            self._restart(again, None)
        reward, distance, reached = self.task.reward(self.q, self.goal, actions)
        reward[again] = 0.0
        ended = reached & ~again
        late = (self._count >= self.task.steps) & ~ended & ~again
        self._over = ended | late
        observation = self.task.observation(self.q, self.qd, self.goal)
        return observation, reward, ended, late, _infos(distance, ended)

    def _restart(self, which: Array, options: dict[str, Any] | None) -> None:
        self.q[which], self.qd[which], self._count[which] = self.task.start, 0.0, 0
        for i in np.flatnonzero(which).tolist():
            self.goal[i] = read_goal(self.task, self._generators[i], options)
        self._over = np.zeros(self.num_envs, dtype=bool)


def read_goal(task: ReachTask, rng: np.random.Generator, options: dict[str, Any] | None) -> Array:
    """Return the goal (3,) in m from the options of `reset`, or a random goal."""
    if not options or "goal" not in options:
        return task.goal(rng)
    goal = np.asarray(options["goal"], dtype=float)
    if goal.shape != (3,) or not np.isfinite(goal).all():
        raise BrazoError(f"goal = {options['goal']!r}; expected 3 finite numbers (m)")
    return goal


def _task_options(options: dict[str, Any]) -> dict[str, Any]:
    """Remove the option `render_mode`, which Gymnasium adds, and return the other options."""
    options.pop("render_mode", None)
    return options


def _info(distance: float, reached: bool) -> dict[str, Any]:
    return {"distance": distance, "success": reached}


def _infos(distance: Array, reached: Array) -> dict[str, Any]:
    """Return the infos of a Gymnasium vector environment: arrays, and masks of valid entries."""
    every = np.ones(len(distance), dtype=bool)
    return {"distance": distance, "_distance": every, "success": reached, "_success": every}
