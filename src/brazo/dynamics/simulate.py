"""Simulation of a robot under given torques, and inverse dynamics along a trajectory.

`simulate` integrates M q̈ = τ − h by classic Runge–Kutta steps of fixed size (`rk4`) or by the
adaptive Dormand–Prince 5(4) pair with dense output (`dopri5`).  `follow` computes the torques for a
given motion.  Both return a `Run`: all signals on one time axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from brazo.arrays import float_array
from brazo.checks import one_of, positive
from brazo.dynamics.adaptive import Dopri5
from brazo.dynamics.definite import doubt
from brazo.dynamics.reading import Trajectory, raised, read_vector, sample_trajectory
from brazo.dynamics.stick_slip import StickSlip
from brazo.dynamics.stops import hold_at_limits
from brazo.errors import BrazoError, RunFailed
from brazo.formats.robot_yaml.joint_fields import outside
from brazo.recording.export_methods import Exports
from brazo.text import html_table

if TYPE_CHECKING:
    from brazo.recording import Recording

Torque = Callable[[float, np.ndarray, np.ndarray], Any]
Method = Literal["rk4", "dopri5"]
MAX_SAMPLES = 20_000_000


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Run(Exports):
    """Signals of one run on one time axis; row k belongs to t[k].

    `recording` returns the signals as a `brazo.Recording`.  `plot` shows them, and `to_csv`,
    `to_parquet`, `to_xlsx` and `to_mcap` write them to a file.
    """

    robot: str
    joint_names: tuple[str, ...]
    joint_kinds: tuple[str, ...]
    t: np.ndarray  # (m,) s
    q: np.ndarray  # (m, n) rad, m
    qd: np.ndarray  # (m, n)
    qdd: np.ndarray  # (m, n)
    tau: np.ndarray | None  # (m, n) N m, N; None if the robot has no inertia
    energy: np.ndarray | None  # (m, 2) J: kinetic, potential
    tool: np.ndarray  # (m, 4, 4)
    method: str
    evaluations: int

    def __repr__(self) -> str:
        return (
            f"<brazo.Run of {self.robot}: {len(self.t)} samples to {self.t[-1]:g} s, {self.method}>"
        )

    def _repr_html_(self) -> str:
        columns = ["joint", "unit", "start", "end", "min", "max"]
        rows: list[list[object]] = []
        for name, kind, q in zip(self.joint_names, self.joint_kinds, self.q.T, strict=True):
            factor, unit = (180.0 / math.pi, "°") if kind == "revolute" else (1e3, "mm")
            values = [f"{factor * x:.2f}" for x in (q[0], q[-1], q.min(), q.max())]
            rows.append([name, unit, *values])
        if self.tau is not None:
            columns.append("max |torque|, N m or N")
            for row, tau in zip(rows, self.tau.T, strict=True):
                row.append(f"{np.abs(tau).max():.4g}")
        return html_table(repr(self).strip("<>"), columns, rows)

    @property
    def recording(self) -> Recording:
        """Signals as a `brazo.Recording`, with names such as `puma560.q.waist`."""
        from brazo.recording import Recording

        own = ("q", "qd", "qdd", "torque", "tool")
        columns = {
            f"{self.robot}.{name}" if name.partition(".")[0] in own else name: column
            for name, column in self.columns().items()
        }
        return Recording(columns, [], {"robot": self.robot, "method": self.method})

    @property
    def plotted(self) -> tuple[str, ...]:
        """Signals that `plot` shows by default: positions, and torques if they are known."""
        return ("q",) if self.tau is None else ("q", "torque")

    @property
    def energy_drift(self) -> float:
        """Max change of the total energy since the start (J).

        It is 0 for an exact motion without torques and friction.
        """
        if self.energy is None:
            raise BrazoError(f"robot '{self.robot}' is kinematic only: it has no energy")
        total = self.energy.sum(axis=1)
        return float(np.abs(total - total[0]).max())

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Return q and qd at any time t (s) of the run, by cubic interpolation."""
        from scipy.interpolate import CubicHermiteSpline

        if len(self.t) < 2:
            raise BrazoError("a run of one sample cannot be interpolated")
        if not self.t[0] <= t <= self.t[-1]:
            raise BrazoError(f"t = {t:g} s is outside the run, {self.t[0]:g} to {self.t[-1]:g} s")
        k = min(max(int(np.searchsorted(self.t, t)) - 1, 0), len(self.t) - 2)
        rows = slice(k, k + 2)
        position = CubicHermiteSpline(self.t[rows], self.q[rows], self.qd[rows])
        speed = CubicHermiteSpline(self.t[rows], self.qd[rows], self.qdd[rows])
        return position(t), speed(t)

    def columns(self) -> dict[str, tuple[np.ndarray, str]]:
        """Signals as a dictionary from name to (values, unit), in table order.

        Of the tool pose, only the position is included.
        """
        table: dict[str, tuple[np.ndarray, str]] = {"t": (self.t, "s")}
        for label, values, angular, linear in (
            ("q", self.q, "rad", "m"),
            ("qd", self.qd, "rad/s", "m/s"),
            ("qdd", self.qdd, "rad/s²", "m/s²"),
            ("torque", self.tau, "N m", "N"),
        ):
            if values is None:
                continue
            for i, (name, kind) in enumerate(zip(self.joint_names, self.joint_kinds, strict=True)):
                unit = angular if kind == "revolute" else linear
                table[f"{label}.{name}"] = (values[:, i], unit)
        for axis, values in zip("xyz", self.tool[:, :3, 3].T, strict=True):
            table[f"tool.{axis}"] = (values, "m")
        if self.energy is not None:
            table["energy.kinetic"] = (self.energy[:, 0], "J")
            table["energy.potential"] = (self.energy[:, 1], "J")
        return table


def simulate(
    arm: Any,
    torque: Torque | Any = None,
    q0: Any = None,
    qd0: Any = None,
    t_end: float = 2.0,
    method: Method = "rk4",
    dt: float = 1e-3,
    rtol: float = 1e-9,
    atol: float | None = None,
    stops: bool = False,
    restitution: float = 0.0,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """Simulate the motion of a robot under given torques.

    `torque` is None (no torque), a constant (n,), or a function `torque(t, q, qd)`.  The default
    start is the first named pose of the robot, or zero if there is none, at rest.  `t_end` (s) must
    be a multiple of `dt`.  `dt` (s) is the step of `rk4` and the spacing of the output of `dopri5`.
    The internal steps of `dopri5` follow from `rtol` and `atol` (default: rtol / 100).  With
    `stops=True` the joints stop at their limits, with the coefficient of restitution `restitution`.

    `dopri5` calls the torque function at trial times, some of which it rejects.  A controller with
    internal state therefore needs `rk4`, which calls the function four times per step, in order of
    time.  With `dopri5`, joints with sharp Coulomb friction can stick.  `rk4` evaluates the
    friction formula, so such joints creep by O(dt) instead.

    `progress(fraction)` is called at intervals.  If the run fails after the first step, the
    exception has an attribute `run`: the samples up to the failure as a `Run`, or None if they
    cannot be evaluated.
    """
    dynamics = arm.dynamics
    one_of(method, ("rk4", "dopri5"), "method")
    t = sample_times(t_end, dt)
    q = _state(arm, q0, "q0", default=next(iter(arm.poses.values()), np.zeros(arm.n)))
    qd = _state(arm, qd0, "qd0", default=np.zeros(arm.n))
    drive = _Torque(torque, arm)
    limits = arm.limits if stops else None
    for i, (low, high) in enumerate([] if limits is None else limits.tolist()):
        if not low <= q[i] <= high:
            text = outside(float(q[i]), low, high, arm.joint_names[i], arm.joint_kinds[i], False)
            raise BrazoError(f"q0: {text}; with stops=True, q0 must be within the limits")
    friction = StickSlip(arm, drive) if method == "dopri5" else None
    if friction is not None and not friction.needed:
        friction = None
    rate = _rate(arm, drive, method, friction)
    advance = (
        _rk4(dynamics, drive, rate, dt)
        if method == "rk4"
        else Dopri5(arm, rate, dt, rtol, rtol / 100.0 if atol is None else atol, friction)
    )
    Q, QD = np.empty((len(t), arm.n)), np.empty((len(t), arm.n))
    every = max(1, len(t) // 200)
    Q[0], QD[0] = q, qd
    applied, gains = [], []

    def accelerations(count: int) -> np.ndarray | None:
        """Accelerations of the first `count` samples, computed with stick-slip friction.

        None if no joint has stick-slip friction.
        """
        if friction is None:
            return None
        friction.settle(0.0, Q[0], QD[0])
        return np.array([friction.acceleration(0.0, Q[0], QD[0])[0], *gains])[:count]

    label = method if method == "rk4" else f"dopri5, rtol {rtol:g}"

    def partial(count: int) -> Run | None:
        """Return the first `count` samples of a failed run as a `Run`.

        The last sample is left out if its torque is unknown.  None if an error occurs.
        """
        asked: list[Any] = []
        if method == "rk4" and drive.function is not None:
            asked = applied if drive.first is None else [*applied[: count - 1], drive.first]
            count = min(count, len(asked))
        states = t[:count], Q[:count], QD[:count]
        try:
            tau = np.array(asked[:count]) if asked else drive.rows(*states)
            return run_of(arm, *states, accelerations(count), tau, label, drive.evaluations)
        except BrazoError:
            return None

    k = 0
    try:
        for k in range(len(t) - 1):
            drive.first = None
            if progress is not None and k % every == 0:
                progress(k / len(t))
            q, qd = advance(float(t[k]), q, qd)
            if friction is not None:
                gains.append(friction.acceleration(float(t[k + 1]), q, qd)[0])
            applied.append(drive.first)
            if limits is not None:
                q, qd = hold_at_limits(q, qd, limits, dynamics.mass_matrix, restitution)
            if not (_small(q) and _small(qd)):
                _blown_up(arm, q, qd, float(t[k + 1]), method)
            Q[k + 1], QD[k + 1] = q, qd
    except (BrazoError, KeyboardInterrupt) as error:
        if k > 0:
            error.run = partial(k + 1)  # pyright: ignore[reportAttributeAccessIssue]
        raise
    if method == "rk4" and drive.function is not None:
        # The torques that were applied; calling the function again may give others.
        tau = np.array([*applied, drive(float(t[-1]), Q[-1], QD[-1])])
    else:
        tau = drive.rows(t, Q, QD)
    return run_of(arm, t, Q, QD, accelerations(len(t)), tau, label, drive.evaluations)


def run_of(
    arm: Any,
    t: np.ndarray,
    q: np.ndarray,
    qd: np.ndarray,
    qdd: np.ndarray | None,
    tau: np.ndarray | None,
    method: str,
    evaluations: int,
) -> Run:
    """Create a `Run` with energy and tool poses.

    If `qdd` is None, the accelerations are computed from the torques.
    """
    gain = arm.dynamics.forward_dynamics(q, qd, tau) if qdd is None else qdd
    energy = arm.dynamics.energy(q, qd) if arm.has_dynamics else None
    names, kinds, tool = arm.joint_names, arm.joint_kinds, arm.fk(q)
    return Run(arm.name, names, kinds, t, q, qd, gain, tau, energy, tool, method, evaluations)


def follow(
    arm: Any, trajectory: Trajectory | Any, t_end: float | None = None, dt: float = 1e-3
) -> Run:
    """Compute the torques for a motion along a trajectory.

    `trajectory` is a function t -> (q, qd, qdd), or an array (n, samples, 3) with a sample every
    `dt` seconds.  Samples of an array after `t_end` are ignored.  For a robot without inertia the
    torques are None.
    """
    if callable(trajectory):
        if t_end is None:
            raise BrazoError("a trajectory function needs t_end, the end of the run in seconds")
        t = sample_times(t_end, dt)
        samples = sample_trajectory(trajectory, t, arm)
    else:
        array = float_array(trajectory, "trajectory")
        if array.ndim != 3 or array.shape[0] != arm.n or array.shape[2] != 3 or not array.shape[1]:
            raise BrazoError(
                f"trajectory has shape {array.shape}; expected ({arm.n}, samples, 3): "
                "positions, velocities, accelerations of each joint"
            )
        if not np.isfinite(array).all():
            raise BrazoError("trajectory: every value must be finite (not NaN or infinite)")
        positive(dt, "dt (s)")
        count = array.shape[1] if t_end is None else _count_until(t_end, dt, array.shape[1])
        samples = np.ascontiguousarray(array[:, :count].transpose(2, 1, 0))
        t = dt * np.arange(count)
    q, qd, qdd = samples
    if not arm.has_dynamics:
        return run_of(arm, t, q, qd, qdd, None, "kinematics", len(t))
    tau = arm.dynamics.inverse_dynamics(q, qd, qdd)
    return run_of(arm, t, q, qd, qdd, tau, "inverse dynamics", len(t))


def _count_until(t_end: float, dt: float, samples: int) -> int:
    """Number of samples from 0 to `t_end`, spaced by `dt`.

    Raises an error if `t_end` is not positive, or is after the last of the `samples` samples of the
    trajectory.
    """
    last = (samples - 1) * dt
    if not t_end > 0.0:
        raise BrazoError(f"t_end = {t_end} s; it must be greater than 0")
    if not t_end <= last + 1e-9 * max(last, 1.0):
        raise BrazoError(
            f"the trajectory has {samples} samples, {dt:g} s apart: it ends at {last:g} s, before "
            f"{t_end:g} s; use an earlier t_end (--t-end), or leave it out"
        )
    return 1 + math.floor(t_end / dt * (1 + 1e-12) + 1e-9)


class _Torque:
    """Torque of a simulation: a constant, or a user's function whose every result is checked."""

    def __init__(self, torque: Any, arm: Any) -> None:
        self._arm = arm
        self.evaluations = 0
        self.first: np.ndarray | None = None  # of the calls since it was last cleared
        self.function = torque if callable(torque) else None
        self.constant = np.zeros(arm.n)
        if torque is not None and self.function is None:
            self.constant = self._checked(torque, "torque")

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        self.evaluations += 1
        if self.function is None:
            return self.constant
        try:
            value = self.function(t, q.copy(), qd.copy())
        except BrazoError:
            raise
        except Exception as error:
            raise BrazoError(raised("torque(t, q, qd)", t, error)) from error
        tau = self._checked(value, f"torque(t, q, qd) at t = {t:g} s")
        if self.first is None:
            self.first = tau
        return tau

    def rows(self, t: np.ndarray, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Torques (m, n) at m samples."""
        if self.function is None:
            return np.tile(self.constant, (len(t), 1))
        count = self.evaluations
        rows = np.array([self(float(a), b, c) for a, b, c in zip(t, q, qd, strict=True)])
        self.evaluations = count
        return rows

    def _checked(self, value: Any, what: str) -> np.ndarray:
        return read_vector(value, self._arm, what)


def _rate(
    arm: Any, drive: _Torque, method: str, friction: StickSlip | None
) -> Callable[[float, np.ndarray], np.ndarray]:
    forward, n = arm.dynamics.forward_dynamics, arm.n

    def rate(t: float, x: np.ndarray) -> np.ndarray:
        q, qd = x[:n], x[n:]
        if not _small(x):
            _blown_up(arm, q, qd, t, method)
        result = np.empty(2 * n)
        result[:n] = qd
        if friction is not None:
            result[n:] = friction.acceleration(t, q, qd)[0]
        else:
            forward(q, qd, drive(t, q, qd), out=result[n:])
        return result

    return rate


def _rk4(dynamics: Any, drive: _Torque, rate: Any, dt: float) -> Callable[..., Any]:
    if drive.function is None:
        step, tau, h = dynamics.rk4_step, drive.constant, np.array([dt])

        def compiled(t: float, q: np.ndarray, qd: np.ndarray):
            drive.evaluations += 4
            return step(q, qd, tau, h)

        return compiled

    n = len(drive.constant)

    def general(t: float, q: np.ndarray, qd: np.ndarray):
        x = np.concatenate([q, qd])
        k1 = rate(t, x)
        k2 = rate(t + 0.5 * dt, x + 0.5 * dt * k1)
        k3 = rate(t + 0.5 * dt, x + 0.5 * dt * k2)
        k4 = rate(t + dt, x + dt * k3)
        x = x + dt / 6.0 * ((k1 + k4) + 2.0 * (k2 + k3))
        return x[:n], x[n:]

    return general


def _state(arm: Any, value: Any, what: str, default: np.ndarray) -> np.ndarray:
    return np.array(default, dtype=float) if value is None else read_vector(value, arm, what)


def sample_times(t_end: float, dt: float) -> np.ndarray:
    """Return the times 0, dt, …, t_end (s); raise an error if t_end is not a multiple of dt."""
    try:
        t_end, dt = float(t_end), float(dt)
    except (TypeError, ValueError):
        raise BrazoError(f"t_end = {t_end!r}, dt = {dt!r}: both must be numbers") from None
    if not (math.isfinite(t_end) and math.isfinite(dt) and t_end > 0.0 and dt > 0.0):
        raise BrazoError(f"t_end = {t_end}, dt = {dt}: both must be finite and greater than 0")
    count = round(t_end / dt)
    if count < 1 or abs(count * dt - t_end) > 1e-9 * t_end:
        raise BrazoError(f"t_end = {t_end:g} s is not a multiple of dt = {dt:g} s")
    if count > MAX_SAMPLES:
        raise BrazoError(
            f"{count} samples from 0 to t_end; the max is {MAX_SAMPLES}: use a larger dt"
        )
    return np.linspace(0.0, t_end, count + 1)


def _small(x: np.ndarray) -> bool:
    """Whether the sum of x (k,) is finite; False also if a sum of finite values overflows."""
    return math.isfinite(sum(x.tolist()))  # Python floats: faster, and overflow without a warning


def _blown_up(arm: Any, q: np.ndarray, qd: np.ndarray, t: float, method: str) -> None:
    size = np.maximum(np.abs(q), np.abs(qd))
    bad = int(np.argmax(size))  # the first NaN, otherwise the largest
    what = f"too large ({size[bad]:.3g})" if math.isfinite(size[bad]) else "not finite"
    if arm.model.closed_loops:
        hint = "an unpowered Delta falls through its singular pose; set stops=True or apply torques"
    elif method == "rk4":
        hint = "use a smaller dt or method dopri5"
    else:
        hint = "check the torques"
    raise RunFailed(
        f"the state of joint {bad + 1} ({arm.joint_names[bad]}) is {what} at t = {t:g} s; "
        + hint
        + doubt(arm.model)
    )
