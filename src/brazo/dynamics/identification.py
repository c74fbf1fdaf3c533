"""Identification of the base parameters of a robot from a recorded motion.

W is the regressor of the base parameters θ, stacked for all samples, and tau the measured torques:

    tau = W θ + noise        θ = (Wᵀ Σ⁻¹ W)⁻¹ Wᵀ Σ⁻¹ tau        cov θ = (Wᵀ Σ⁻¹ W)⁻¹

The diagonal matrix Σ has the variance of the torque noise of each joint.  The variance is estimated
from the torque residuals of the joint (weighted least squares of Gautier and Poignet).  The
standard deviations assume that the torque noise of different samples is independent, and that
positions are much more accurate than torques.

The data are low-pass filtered (Butterworth, run forwards and backwards for zero phase) if
velocities or accelerations were not recorded, or if a cutoff frequency is given.  The motion is
filtered first, then the torques and W.  If velocities or accelerations are missing, both are
computed as central differences of the filtered positions.  Only every k-th filtered row is used,
where k is the correlation length of the filtered noise in rows.  The noise of the used rows is
therefore nearly independent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brazo.arrays import float_array
from brazo.dynamics.base_parameters import BaseParameters
from brazo.errors import BrazoError

__all__ = ["Identification", "identify"]

CUTOFF = 10.0  # Hz, default of the filter
_ROUNDS = 3  # of the estimate of the noise
_SINGULAR = 1e-9  # smallest singular value of a motion that does not excite a parameter
_LEAST_NOISE = 1e-13  # of a joint's max torque, for data without noise


@dataclass(frozen=True, slots=True, eq=False)
class Identification:
    """Estimates of the base parameters of a robot, with their covariance."""

    robot: str
    parameters: BaseParameters
    """The base parameters; `.values` are the values of the robot file, for comparison."""
    values: np.ndarray
    """(b,) estimates, SI."""
    covariance: np.ndarray
    """(b, b) covariance matrix of the estimates."""
    condition: float
    """Condition number of the weighted regressor, with columns scaled to unit length.  If it is
    below about 100, the motion excites all parameters well."""
    noise: np.ndarray
    """(n,) standard deviation of the torque noise of each joint, N m and N."""
    residuals: np.ndarray
    """(m, n) measured minus predicted torques of the rows used, N m and N."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the base parameters."""
        return self.parameters.names

    @property
    def std(self) -> np.ndarray:
        """Standard deviations (b,) of the estimates."""
        return np.sqrt(np.diag(self.covariance))

    def __repr__(self) -> str:
        rows, _ = self.residuals.shape
        return (
            f"<Identification of {self.robot}: {len(self.names)} base parameters from {rows} "
            f"samples, condition {self.condition:.3g}>"
        )

    def __str__(self) -> str:
        width = max(len(name) for name in self.names)
        lines = [f"{'parameter':{width}}  {'estimate':>12}  {'std':>10}  {'file':>12}  unit"]
        columns = zip(
            self.names, self.values, self.std, self.parameters.values, self.parameters.units,
            strict=True,
        )  # fmt: skip
        for name, value, std, file, unit in columns:
            lines.append(f"{name:{width}}  {value:12.5g}  {std:10.2g}  {file:12.5g}  {unit}")
        return "\n".join(lines)


def identify(
    robot: Any, data: Any, *, drives: bool = True, cutoff: float | None = None
) -> Identification:
    """Estimate the base parameters of a robot from a motion and its torques.

    `data` is one of

    - a `Run`;
    - a `Recording` or the path of its file, with the signals `q` and `torque` of the joints, and
      optionally `qd` and `qdd`;
    - a mapping of arrays `q` and `tau` (m, n), optionally `qd`, `qdd` (m, n) and `t` (m,) in s.

    If `qd` or `qdd` is missing, both are computed from the low-pass filtered q.  This requires `t`,
    with 31 or more samples at equal time steps.

    Parameters
    ----------
    robot : the `Robot`; its geometry, gravity and friction model are used.
    data : the recorded motion, see above.
    drives : also identify motor inertia and friction of the joints.
    cutoff : cutoff frequency (Hz) of the low-pass filter for motion and torques.  None means 10 Hz
        if velocities or accelerations are missing, and no filter otherwise.

    Returns
    -------
    `Identification` with `values`, `std`, `condition`, `residuals` and `parameters`.
    """
    motion = _read(robot, data)
    base = robot.base_parameters(drives)
    missing = "qd" not in motion or "qdd" not in motion
    if missing and cutoff is None:
        cutoff = CUTOFF
    every = 1
    if cutoff is not None:
        motion, smooth, every = _filtered(motion, cutoff, missing)
    q, qd, qdd, tau = (motion[key] for key in ("q", "qd", "qdd", "tau"))
    W = robot.regressor(q, qd, qdd, drives)[..., base.columns]
    if cutoff is not None:
        W, tau = smooth(W), smooth(tau)  # pyright: ignore[reportPossiblyUnboundVariable]
    W, tau = W[::every], tau[::every]
    m, n, b = W.shape
    if m * n <= 2 * b:
        raise BrazoError(
            f"identify: {m} used samples of {n} joints are too few for {b} parameters; record a "
            "longer motion, or use a higher cutoff"
        )
    return _estimated(robot.name, base, W, tau)


def _estimated(name: str, base: BaseParameters, W: np.ndarray, tau: np.ndarray) -> Identification:
    m, n, b = W.shape
    # The rows of each joint are reduced to a triangular factor, since only the weights change.
    triangles: Any = np.linalg.qr(np.moveaxis(np.dstack([W, tau]), 1, 0), mode="r")
    left, right = triangles[..., :b], triangles[..., b]
    least = _LEAST_NOISE * np.maximum(np.abs(tau).max(axis=0), 1e-6)
    noise, values = np.ones(n), np.zeros(b)
    size = sigma = np.ones(b)
    turn = np.eye(b)
    for _ in range(_ROUNDS):
        weighted = (left / noise[:, None, None]).reshape(-1, b)
        size = np.linalg.norm(weighted, axis=0)
        if not size.all():
            _refuse(base, np.flatnonzero(size == 0.0))
        U, sigma, turn = np.linalg.svd(weighted / size, full_matrices=False)
        if sigma[-1] < _SINGULAR * sigma[0]:
            _refuse(base, np.flatnonzero(np.abs(turn[-1]) > 0.3))
        values = (turn.T @ ((U.T @ (right / noise[:, None]).ravel()) / sigma)) / size
        rest = np.linalg.norm(right - left @ values, axis=1)
        noise = np.maximum(rest / np.sqrt(m - b / n), least)
    inverse = (turn.T / sigma) / size[:, None]
    condition = float(sigma[0] / sigma[-1])
    residuals = tau - W @ values
    return Identification(name, base, values, inverse @ inverse.T, condition, noise, residuals)


def _refuse(base: BaseParameters, which: np.ndarray) -> None:
    names = ", ".join(base.names[k] for k in which[:4]) + (" …" if len(which) > 4 else "")
    raise BrazoError(
        f"identify: the motion does not excite {names}; move all joints at once, with different "
        "frequencies, over most of their range"
    )


def _read(robot: Any, data: Any) -> dict[str, np.ndarray]:
    """Read the motion as arrays: q and tau (m, n) and, if recorded, qd, qdd (m, n) and t (m,)."""
    if isinstance(data, (str, Path)):
        from brazo.recording import Recording

        data = Recording.open(data)
    if isinstance(data, Mapping):
        arrays = {k: v for k, v in data.items() if v is not None}
    elif hasattr(data, "columns") and not callable(data.columns):
        arrays = _recorded(robot, data)
    else:
        keys = ("t", "q", "qd", "qdd", "tau")
        arrays = {k: getattr(data, k) for k in keys if getattr(data, k, None) is not None}
    if "q" not in arrays or "tau" not in arrays:
        raise BrazoError(
            "identify: data must have positions q and torques tau; expected a Run, a Recording, "
            "the path of a recording or a mapping of arrays, "
            f"got {', '.join(arrays) or type(data).__name__}"
        )
    motion = {}
    for key in ("q", "qd", "qdd", "tau", "t"):
        if key not in arrays:
            continue
        motion[key] = float_array(arrays[key], f"identify: {key}")
        rows = len(motion["q"]) if motion["q"].ndim else 0
        wanted = (rows,) if key == "t" else (rows, robot.n)
        if motion[key].shape != wanted:
            raise BrazoError(f"identify: {key} has shape {motion[key].shape}; expected {wanted}")
        if not np.isfinite(motion[key]).all():
            raise BrazoError(f"identify: {key}: every value must be finite")
    return motion


def _recorded(robot: Any, recording: Any) -> dict[str, np.ndarray]:
    """Read the signals of a robot in a recording, named `ROBOT.q.JOINT` or `q.JOINT`."""
    arrays: dict[str, np.ndarray] = {"t": recording.t}
    for key, label in (("q", "q"), ("qd", "qd"), ("qdd", "qdd"), ("tau", "torque")):
        for prefix in (f"{robot.name}.", ""):
            names = [f"{prefix}{label}.{joint}" for joint in robot.joint_names]
            if all(name in recording for name in names):
                arrays[key] = np.column_stack([recording[name] for name in names])
                break
        else:
            if key in ("q", "tau"):
                raise BrazoError(
                    f"identify: the recording must have a signal {robot.name}.{label}.JOINT or "
                    f"{label}.JOINT for each of the joints {', '.join(robot.joint_names)}"
                )
    return arrays


def _filtered(
    motion: dict[str, np.ndarray], cutoff: float, missing: bool
) -> tuple[dict[str, np.ndarray], Any, int]:
    """Return the filtered motion, the filter function, and the correlation length of the noise.

    The correlation length is a number of rows.  The torques of the returned motion are not
    filtered; the caller filters them and the regressor with the filter function, which also removes
    rows at both ends.  If `missing`, velocities and accelerations are computed from the filtered
    positions; otherwise the recorded ones are filtered.
    """
    from scipy.signal import butter, sosfiltfilt

    if "t" not in motion:
        raise BrazoError(
            "identify: the data have no times t (m,) in s; they are needed to filter the data and "
            "to compute missing velocities"
        )
    steps = np.diff(motion["t"])
    if len(steps) < 30 or not (steps > 0.0).all() or np.ptp(steps) > 1e-3 * steps.mean():
        spread = f" at steps of {steps.min():g} to {steps.max():g} s" if len(steps) else ""
        raise BrazoError(
            "identify: at least 31 samples at equal time steps are needed to filter the data and "
            f"to compute missing velocities; got {len(steps) + 1}{spread}"
        )
    dt = float(steps.mean())
    if not 0.0 < cutoff < 0.4 / dt:
        raise BrazoError(
            f"identify: cutoff = {cutoff:g} Hz; it must be between 0 and {0.4 / dt:g} Hz "
            "(0.4 times the sampling rate)"
        )
    sections = butter(4, cutoff, fs=1.0 / dt, output="sos")

    def smooth(x: np.ndarray) -> np.ndarray:
        edge = min(round(1.0 / (cutoff * dt)), len(x) // 4)  # where the filter starts and ends
        return np.asarray(sosfiltfilt(sections, x, axis=0))[edge : len(x) - edge]

    q = np.asarray(sosfiltfilt(sections, motion["q"], axis=0))
    result = {"q": q, "tau": motion["tau"], "t": motion["t"]}
    if missing:
        result["qd"] = np.gradient(q, dt, axis=0)
        result["qdd"] = np.gradient(result["qd"], dt, axis=0)
    else:
        result |= {k: np.asarray(sosfiltfilt(sections, motion[k], axis=0)) for k in ("qd", "qdd")}
    return result, smooth, max(1, round(0.4 / (cutoff * dt)))
