"""Closed-loop tracking of a trajectory with the exact model of the robot.

In every control period the controller computes torques from state and reference; they are held
while the robot's equations of motion are integrated by Runge–Kutta steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.control.base import Controller, Reference, torque_limits
from brazo.control.compiled import CompiledController
from brazo.control.loop import REFERENCE, controller_loop
from brazo.dynamics.definite import doubt
from brazo.dynamics.reading import Trajectory, read_vector, sample_trajectory
from brazo.dynamics.simulate import MAX_SAMPLES, Run
from brazo.errors import BrazoError, RunFailed
from brazo.robot import Robot


@dataclass(frozen=True, slots=True, eq=False)
class Tracking:
    """A closed-loop run, with the reference on the same time axis."""

    run: Run
    reference: np.ndarray  # (3, m, n): r, ṙ, r̈
    saturated: np.ndarray  # (m, n): True where a drive was saturated
    limits: np.ndarray  # (n,) of the drives

    @property
    def error(self) -> np.ndarray:
        """r − q at every sample (m, n)."""
        return self.reference[0] - self.run.q

    @property
    def rms_error(self) -> np.ndarray:
        """Root mean square of the error of each joint (n,)."""
        return np.sqrt((self.error**2).mean(axis=0))

    @property
    def max_error(self) -> np.ndarray:
        """Max absolute error of each joint (n,)."""
        return np.abs(self.error).max(axis=0)

    @property
    def rms_torque(self) -> np.ndarray:
        """Root mean square of the torque of each joint (n,)."""
        assert self.run.tau is not None
        return np.sqrt((self.run.tau**2).mean(axis=0))

    @property
    def peak_torque(self) -> np.ndarray:
        """Max absolute torque of each joint (n,)."""
        assert self.run.tau is not None
        return np.abs(self.run.tau).max(axis=0)

    @property
    def torque_use(self) -> np.ndarray:
        """Max torque divided by the drive's limit (n,); 0 if there is no limit."""
        return self.peak_torque / self.limits

    @property
    def saturation(self) -> np.ndarray:
        """Fraction of time each drive was saturated (n,)."""
        return self.saturated.mean(axis=0)


def track(
    robot: Robot,
    controller: Controller,
    trajectory: Trajectory,
    t_end: float,
    dt: float = 1e-3,
    substeps: int = 1,
    *,
    q0: Any = None,
    qd0: Any = None,
    model: Robot | None = None,
    native: bool = False,
) -> Tracking:
    """Track `trajectory`, a function t -> (q, qd, qdd), with a controller for t_end seconds.

    The controller runs every `dt` seconds, with `substeps` Runge–Kutta steps of the robot in
    between.  The run starts on the trajectory unless q0 or qd0 are given.  `model` is the robot
    model of the controller, if it differs from `robot`.  A controller already bound to it keeps its
    gains and load.  `native` compiles controller and robot into one loop: slower on first use, then
    much faster.
    """
    if not isinstance(robot, Robot):
        raise BrazoError(f"track: robot is {robot!r}; expected a brazo.Robot: brazo.load(name)")
    if not isinstance(controller, Controller):
        raise BrazoError(
            f"track: controller is {controller!r}; expected a brazo.control.Controller such as "
            "PID()"
        )
    steps = _steps(t_end, dt, substeps)
    assumed = robot if model is None else model
    if not controller.is_bound_to(assumed, dt):
        controller.bind(assumed, dt)
    t = np.linspace(0.0, t_end, steps + 1)
    goals = sample_trajectory(trajectory, t, robot)
    q = goals[0, 0].copy() if q0 is None else read_vector(q0, robot, "q0")
    qd = goals[1, 0].copy() if qd0 is None else read_vector(qd0, robot, "qd0")
    controller.reset(q, qd)
    run_loop = _run_native if native else _run_python
    Q, QD, TAU, saturated = run_loop(robot, controller, t, goals, q, qd, substeps)
    run = Run(
        robot=robot.name,
        joint_names=robot.joint_names,
        joint_kinds=robot.joint_kinds,
        t=t,
        q=Q,
        qd=QD,
        qdd=robot.forward_dynamics(Q, QD, TAU),
        tau=TAU,
        energy=robot.energy(Q, QD),
        tool=robot.fk(Q),
        method=f"{controller.name}, rk4",
        evaluations=4 * substeps * steps,
    )
    return Tracking(run, goals, saturated, torque_limits(robot))


def _run_python(
    robot: Robot,
    controller: Controller,
    t: np.ndarray,
    goals: np.ndarray,
    q: np.ndarray,
    qd: np.ndarray,
    substeps: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """q, qd, tau and saturation at every sample, computed period by period in Python."""
    Q, QD, TAU = (np.empty((len(t), robot.n)) for _ in range(3))
    saturated = np.empty((len(t), robot.n), dtype=bool)
    advance, h = robot.dynamics.rk4_step, np.array([controller.dt / substeps])
    for k, now in enumerate(t.tolist()):
        tau = controller.torque(now, q, qd, Reference(*goals[:, k]))
        Q[k], QD[k], TAU[k], saturated[k] = q, qd, tau, controller.saturated
        if k + 1 == len(t):
            break
        for _ in range(substeps):
            q, qd = advance(q, qd, tau, h)
        if not (math.isfinite(q.sum()) and math.isfinite(qd.sum())):
            raise _diverged(robot, controller, q, qd, float(t[k + 1]))
    return Q, QD, TAU, saturated


def _run_native(
    robot: Robot,
    controller: Controller,
    t: np.ndarray,
    goals: np.ndarray,
    q: np.ndarray,
    qd: np.ndarray,
    substeps: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """As `_run_python`, in one native call."""
    if not isinstance(controller, CompiledController):
        raise BrazoError(
            f"{controller.name} is a controller in Python; native=True needs a compiled one"
        )
    n, law = robot.n, controller.compiled
    key = robot.dynamics, substeps
    if key not in law.loops:
        law.loops[key] = controller_loop(law, robot, substeps)
    state = controller.state
    streams = dict(zip(REFERENCE, goals[:, :-1], strict=True))
    x = np.concatenate([q, qd, *state.values()])
    rows = law.loops[key](len(t) - 1, every=1, x=x, **streams, **controller.fixed).record
    assert rows is not None
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(bad):
        first = int(bad[0])
        q, qd = rows[first, : 2 * n].reshape(2, n)
        raise _diverged(robot, controller, q, qd, float(t[first + 1]))
    states = np.vstack([x, rows[:, : len(x)]])
    if state:
        sizes = np.cumsum([len(part) for part in state.values()])[:-1]
        parts = np.split(states[-1, 2 * n :], sizes)
        controller.state = dict(zip(state, parts, strict=True))
    Q, QD = (np.ascontiguousarray(states[:, n * i : n * (i + 1)]) for i in range(2))
    last = controller.torque(float(t[-1]), Q[-1], QD[-1], Reference(*goals[:, -1]))
    TAU = np.vstack([rows[:, len(x) : len(x) + n], last])
    wanted = np.vstack([rows[:, len(x) + n :], controller.wanted])
    return Q, QD, TAU, np.abs(wanted) > controller.limits


def _steps(t_end: float, dt: float, substeps: int) -> int:
    if not (math.isfinite(t_end) and math.isfinite(dt) and t_end > 0.0 and dt > 0.0):
        raise BrazoError(f"t_end = {t_end}, dt = {dt}: both must be finite and greater than 0")
    if not isinstance(substeps, int) or substeps < 1:
        raise BrazoError(f"substeps = {substeps!r}; it must be an integer of at least 1")
    steps = round(t_end / dt)
    if steps < 1 or abs(steps * dt - t_end) > 1e-9 * t_end:
        raise BrazoError(f"t_end = {t_end:g} s is not a multiple of dt = {dt:g} s")
    if steps > MAX_SAMPLES:
        raise BrazoError(f"{steps} periods; max {MAX_SAMPLES}: use a larger dt")
    return steps


def _diverged(
    robot: Robot, controller: Controller, q: np.ndarray, qd: np.ndarray, t: float
) -> BrazoError:
    bad = [*np.flatnonzero(~np.isfinite(q) | ~np.isfinite(qd)).tolist(), 0][0]
    return RunFailed(
        f"joint {bad + 1} ({robot.joint_names[bad]}) is not finite at t = {t:g} s under "
        f"{controller.name}; use lower gains, a smaller dt or more substeps" + doubt(robot.model)
    )
