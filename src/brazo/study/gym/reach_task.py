"""Reach task for any number of robots at once: goals, observations, rewards, motion.

The tool has to come within `tolerance` of a goal position.  A goal is the tool position at random
joint positions near the start pose, so the goal is reachable.

    action        (n,) from −1 to 1: joint velocities as a fraction of the drives' max speeds, or
                  torques as a fraction of their max torques
    observation   q (−1 to 1 within the limits; q / π for joints without limits),
                  q̇ / max speed, (goal − tool) / scale, tool / scale; all clipped to ±10
    reward        −distance / scale − 0.01 |action|² / n each step, +1 when the goal is reached

Here scale is the distance of the tool from the z axis of the base at the start pose, at least
0.1 m.  An episode ends when the goal is reached (terminated) or after `steps` steps (truncated).

With velocity actions, computed torque control tracks the commanded velocity v with the gain k
(`GAIN`): the torques are M k (v − q̇) + C q̇ + G, within the limits of the drives.  All robots move
in one native call; joint limits are inelastic stops.
"""

from __future__ import annotations

import math
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from brazo.checks import one_of, positive
from brazo.codegen import Graph, maximum, minimum, where
from brazo.codegen.loop import Loop, compile_loop
from brazo.control.base import torque_limits
from brazo.control.equations import equations_of
from brazo.dynamics.integrators import held_torque_step
from brazo.errors import BrazoError
from brazo.robot import Robot, load

ACTIONS = ("velocity", "torque")
GAIN = 50.0  # 1/s, of the velocity loop
SPEED = (math.pi / 2, 0.25)  # rad/s and m/s, of drives without a limit
BOUND = 10.0  # of observations
EFFORT = 0.01
MAX_DRAWS = 1000  # of a goal
Array = np.ndarray
Action = Literal["velocity", "torque"]


class ReachTask:
    """Reach task for one robot model; arrays may have a leading dimension, one entry per robot.

    Parameters
    ----------
    robot : name, path or `Robot`.
    action : "velocity" or "torque".
    dt, substeps : time of a step (s), and the number of Runge–Kutta steps in it.
    steps : max steps of an episode.
    tolerance : distance (m) of the tool from the goal below which the goal is reached.
    spread : a random goal is the tool position at joint positions that differ from the start pose
        by at most this value (rad), or by a tenth of this value (m) for prismatic joints.
    start : the start pose, by name or (n,); default: the first pose of the robot, or zero.
    """

    def __init__(
        self,
        robot: str | Path | Robot = "puma560",
        *,
        action: Action = "velocity",
        dt: float = 0.02,
        substeps: int = 10,
        steps: int = 100,
        tolerance: float = 0.02,
        spread: float = 0.6,
        start: Any = None,
    ) -> None:
        from brazo.control.lqr import read_pose

        self.robot = robot if isinstance(robot, Robot) else load(robot)
        one_of(action, ACTIONS, "action")
        for name, value in (("dt", dt), ("tolerance", tolerance), ("spread", spread)):
            positive(value, name)
        for name, value in (("substeps", substeps), ("steps", steps)):
            if not isinstance(value, int) or value < 1:
                raise BrazoError(f"{name} = {value!r}; it must be an integer of at least 1")
        self.action, self.dt, self.substeps, self.steps = action, float(dt), substeps, steps
        self.tolerance, self.spread = float(tolerance), float(spread)
        self.start = read_pose(start, self.robot, "start")
        self.low, self.high = self.robot.limits.T
        prismatic = np.array([kind == "prismatic" for kind in self.robot.joint_kinds])
        speeds = np.array([drive.max_speed for drive in self.robot.model.drives], dtype=float)
        self.speeds = np.where(np.isfinite(speeds), speeds, np.where(prismatic, *SPEED[::-1]))
        self.reach = np.where(prismatic, 0.1 * self.spread, self.spread)
        limits = torque_limits(self.robot)
        if action == "torque" and not np.isfinite(limits).all():
            bad = self.robot.joint_names[int(np.flatnonzero(~np.isfinite(limits))[0])]
            raise BrazoError(
                f"torque actions need torque limits: joint '{bad}' of {self.robot.name} has "
                "no max_torque; add it to the robot file, or use action='velocity'"
            )
        self.command_scale = limits if action == "torque" else self.speeds
        self.scale = max(float(np.linalg.norm(self.tool(self.start)[:2])), 0.1)
        self.observation_size = 2 * self.robot.n + 6

    def tool(self, q: Array) -> Array:
        """Return the tool positions (..., 3) in m at joint positions q (..., n)."""
        return self.robot.fk(q)[..., :3, 3]

    def goal(self, rng: np.random.Generator) -> Array:
        """Return a random goal (3,) in m, farther than `tolerance` from the start position."""
        low = np.maximum(self.start - self.reach, self.low)
        high = np.minimum(self.start + self.reach, self.high)
        for _ in range(MAX_DRAWS):
            goal = self.tool(rng.uniform(low, high))
            if np.linalg.norm(goal - self.tool(self.start)) > self.tolerance:
                return goal
        raise BrazoError(
            f"no goal of {self.robot.name} found: with spread = {self.spread:g}, all {MAX_DRAWS} "
            f"random goals are within tolerance = {self.tolerance:g} m of the start; use a smaller "
            "tolerance or a larger spread"
        )

    def observation(self, q: Array, qd: Array, goal: Array) -> Array:
        """Return the observations (..., size) as float32."""
        middle, half = 0.5 * (self.low + self.high), 0.5 * (self.high - self.low)
        bounded = np.isfinite(half) & (half > 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(bounded, (q - middle) / half, q / math.pi)
        tool = self.tool(q)
        parts = [share, qd / self.speeds, (goal - tool) / self.scale, tool / self.scale]
        return np.clip(np.concatenate(parts, axis=-1), -BOUND, BOUND).astype(np.float32)

    def reward(self, q: Array, goal: Array, action: Array) -> tuple[Array, Array, Array]:
        """Return rewards (...), distances (...) in m, and whether the goal is reached (...)."""
        distance = np.linalg.norm(goal - self.tool(q), axis=-1)
        reached = distance < self.tolerance
        effort = EFFORT * (np.asarray(action, dtype=float) ** 2).mean(axis=-1)
        return reached - distance / self.scale - effort, distance, reached

    def command(self, action: Any) -> Array:
        """Return velocities or torques (..., n) for actions; actions are clipped to [−1, 1]."""
        given = np.asarray(action, dtype=float)
        if given.shape[-1:] != (self.robot.n,) or np.isnan(given).any():
            raise BrazoError(
                f"the action has shape {given.shape}; expected shape (..., {self.robot.n}), "
                "numbers from −1 to 1 without NaN"
            )
        return np.clip(given, -1.0, 1.0) * self.command_scale

    def advance(self, q: Array, qd: Array, action: Any) -> tuple[Array, Array]:
        """Return q and qd (..., n) after one step with the given action."""
        x = np.concatenate([q, qd], axis=-1)
        h = np.array([self.dt / self.substeps])
        x = self._loop(self.substeps, x=x, command=self.command(action), h=h).x
        n = self.robot.n
        return x[..., :n], x[..., n:]

    @cached_property
    def _loop(self) -> Loop:
        robot, n, g = self.robot, self.robot.n, Graph()
        x, command, (h,) = g.inputs("x", 2 * n), g.inputs("command", n), g.inputs("h", 1)
        q, qd = x[:n], x[n:]
        tau = command
        if self.action == "velocity":
            rate = [GAIN * (c - v) for c, v in zip(command, qd, strict=True)]
            tau = equations_of(robot.model).inverse_dynamics(q, qd, rate)
        limits = torque_limits(robot).tolist()
        tau = [
            minimum(maximum(u, -limit), limit) if math.isfinite(limit) else u
            for u, limit in zip(tau, limits, strict=True)
        ]
        q, qd = held_torque_step(g, robot.dynamics.motion, q, qd, tau, h)
        for i, (low, high) in enumerate(robot.limits.tolist()):
            if math.isfinite(low):
                qd[i] = where(low - q[i], maximum(qd[i], 0.0), qd[i])
                q[i] = maximum(q[i], low)
            if math.isfinite(high):
                qd[i] = where(q[i] - high, minimum(qd[i], 0.0), qd[i])
                q[i] = minimum(q[i], high)
        return compile_loop("reach", g, {"x": [*q, *qd]})
