"""Closed-loop tracking of a trajectory in a simulation without contacts, noise and faults.

In every control period the controller computes torques from state and reference.  The torques are
constant while the robot's equations of motion are integrated by Runge–Kutta steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.control.base import Controller, Reference, torque_limits
from brazo.control.compiled import CompiledController
from brazo.control.loop import REFERENCE, controller_loop
from brazo.dynamics.definite import doubt
from brazo.dynamics.reading import Trajectory, read_vector, sample_trajectory
from brazo.dynamics.simulate import Run, run_of, sample_times
from brazo.errors import BrazoError, RunFailed
from brazo.kinematics.result import joint_text
from brazo.recording.export_methods import Exports
from brazo.recording.metrics import peak, rms
from brazo.robot import Robot
from brazo.text import html_table

if TYPE_CHECKING:
    from brazo.recording import Recording


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tracking(Exports):
    """Results of a closed-loop run, with the reference at the same times.

    Plots and exports work as for a `brazo.Run`: `recording`, `plot`, `to_csv` and others.
    """

    run: Run
    reference: np.ndarray  # (3, m, n): r, ṙ, r̈
    saturated: np.ndarray  # (m, n): True where a drive was saturated
    limits: np.ndarray  # (n,) of the drives
    reference_tool: np.ndarray | None = None  # (m, 3) tool position at r in the base frame, m

    def __repr__(self) -> str:
        run, i = self.run, int(np.argmax(self.max_error))
        worst = joint_text(run.joint_kinds[i], float(self.max_error[i]))
        return (
            f"<brazo.Tracking of {run.robot}: {len(run.t)} samples to {run.t[-1]:g} s, "
            f"{run.method}, max error {worst} ({run.joint_names[i]})>"
        )

    def _repr_html_(self) -> str:
        rows = [
            (
                name,
                joint_text(kind, float(self.rms_error[i])),
                joint_text(kind, float(self.max_error[i])),
                f"{self.peak_torque[i]:.4g}",
                f"{100 * self.saturation[i]:.1f} %",
            )
            for i, (name, kind) in enumerate(
                zip(self.run.joint_names, self.run.joint_kinds, strict=True)
            )
        ]
        header = ("joint", "RMS error", "max error", "max |torque|, N m or N", "saturated")
        return html_table(repr(self).strip("<>"), header, rows)

    @property
    def recording(self) -> Recording:
        """Recording of the run, with reference signals such as `puma560.q_ref.waist`."""
        from brazo.recording import Recording

        run = self.run.recording
        columns = dict(run.columns)
        for label, values in zip(("q", "qd", "qdd"), self.reference, strict=True):
            for i, name in enumerate(self.run.joint_names):
                unit = run.unit(f"{self.run.robot}.{label}.{name}")
                columns[f"{self.run.robot}.{label}_ref.{name}"] = (values[:, i], unit)
        if self.reference_tool is not None:
            for axis, values in zip("xyz", self.reference_tool.T, strict=True):
                columns[f"{self.run.robot}.tool_ref.{axis}"] = (values, "m")
        return Recording(columns, [], run.about)

    @property
    def plotted(self) -> tuple[str, ...]:
        """Signals that `plot` shows by default: positions with references, and torques."""
        return ("q", "torque")

    @property
    def error(self) -> np.ndarray:
        """Position errors (m, n) at every sample: reference minus position."""
        return self.reference[0] - self.run.q

    @property
    def rms_error(self) -> np.ndarray:
        """Root mean square of the position error of each joint (n,)."""
        return rms(self.error)

    @property
    def max_error(self) -> np.ndarray:
        """Max absolute position error of each joint (n,)."""
        return peak(self.error)

    @property
    def rms_torque(self) -> np.ndarray:
        """Root mean square of the torque of each joint (n,)."""
        assert self.run.tau is not None
        return rms(self.run.tau)

    @property
    def peak_torque(self) -> np.ndarray:
        """Max absolute torque of each joint (n,)."""
        assert self.run.tau is not None
        return peak(self.run.tau)

    @property
    def torque_use(self) -> np.ndarray:
        """Max torque divided by the torque limit of each drive (n,); 0 if there is no limit."""
        return self.peak_torque / self.limits

    @property
    def saturation(self) -> np.ndarray:
        """Fraction of the samples (n,) at which each drive was saturated."""
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
    """Track a trajectory with a controller for `t_end` seconds.

    `trajectory` is a function t -> (q, qd, qdd).  The controller runs every `dt` seconds, with
    `substeps` Runge–Kutta steps of the robot in between.  The run starts on the trajectory unless
    `q0` or `qd0` is given.  `model` is the robot model that the controller uses, if it differs from
    `robot`.  A controller that is already bound to this model and this `dt` keeps its gains and
    load.  `native=True` compiles controller and robot into one loop, which is slower on first use
    and then much faster.  This option needs a `CompiledController`.
    """
    if not isinstance(robot, Robot):
        raise BrazoError(
            f"track: robot is {robot!r}; expected a brazo.Robot, as returned by brazo.load(name)"
        )
    if not isinstance(controller, Controller):
        raise BrazoError(
            f"track: controller is {controller!r}; expected a brazo.control.Controller such as "
            "PID()"
        )
    t = sample_times(t_end, dt)
    if not isinstance(substeps, int) or substeps < 1:
        raise BrazoError(f"substeps = {substeps!r}; it must be an integer of at least 1")
    assumed = robot if model is None else model
    if not controller.is_bound_to(assumed, dt):
        controller.bind(assumed, dt)
    goals = sample_trajectory(trajectory, t, robot)
    q = goals[0, 0].copy() if q0 is None else read_vector(q0, robot, "q0")
    qd = goals[1, 0].copy() if qd0 is None else read_vector(qd0, robot, "qd0")
    controller.reset(q, qd)
    run_loop = _run_native if native else _run_python
    Q, QD, TAU, saturated = run_loop(robot, controller, t, goals, q, qd, substeps)
    method, evaluations = f"{controller.name}, rk4", 4 * substeps * (len(t) - 1)
    run = run_of(robot, t, Q, QD, None, TAU, method, evaluations)
    return Tracking(run, goals, saturated, torque_limits(robot), robot.fk(goals[0])[:, :3, 3])


def _run_python(
    robot: Robot,
    controller: Controller,
    t: np.ndarray,
    goals: np.ndarray,
    q: np.ndarray,
    qd: np.ndarray,
    substeps: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Compute q, qd, tau and saturation at every sample, period by period in Python."""
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
    """Compute the results of `_run_python` in one native call."""
    if not isinstance(controller, CompiledController):
        raise BrazoError(
            f"{controller.name} is a controller in Python; native=True needs a compiled controller"
        )
    n, compiled = robot.n, controller.compiled
    key = robot.dynamics, substeps
    if key not in compiled.loops:
        compiled.loops[key] = controller_loop(compiled, robot, substeps)
    state = controller.state
    streams = dict(zip(REFERENCE, goals[:, :-1], strict=True))
    x = np.concatenate([q, qd, *state.values()])
    rows = compiled.loops[key](len(t) - 1, every=1, x=x, **streams, **controller.fixed).record
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


def _diverged(
    robot: Robot, controller: Controller, q: np.ndarray, qd: np.ndarray, t: float
) -> BrazoError:
    bad = [*np.flatnonzero(~np.isfinite(q) | ~np.isfinite(qd)).tolist(), 0][0]
    return RunFailed(
        f"the state of joint {bad + 1} ({robot.joint_names[bad]}) is not finite at t = {t:g} s "
        f"under {controller.name}; use lower gains, a smaller dt or more substeps"
        + doubt(robot.model)
    )
