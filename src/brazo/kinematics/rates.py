"""Joint velocities for a tool velocity, by damped least squares or by a quadratic program.

*Resolved rate* (Whitney; damping after Nakamura, Hanafusa and Chiaverini). For the tool velocity v
and the Jacobian J = U σ Vᵀ, with the options `damping` λ_max and `threshold` ε:

    q̇ = V diag(σ / (σ² + λ²)) Uᵀ v        λ² = (1 − (σ_m/ε)²) λ_max²  if σ_m < ε, otherwise 0

Here σ_m is the m-th largest singular value, and m is the number of degrees of freedom of the tool.
Smaller singular values are zero in every configuration and are ignored. A joint that would exceed
its position limit within dt is slowed so that it reaches the limit after dt, and the other joints
compensate. Then all joint velocities are multiplied by one factor, so that no joint exceeds
its max speed. This keeps the direction of the tool velocity.

*Differential inverse kinematics* minimises the error of the tool velocity, with the weights W. The
second term, with μ = damping², draws the robot to a preferred posture: q̇_p = (posture − q) / 1 s,
or zero without a posture. The bounds low and high follow from the speed limits and from the
position limits within dt:

    min ½ (J q̇ − v)ᵀ W (J q̇ − v) + ½ μ |q̇ − q̇_p|²        low ≤ q̇ ≤ high

The motion is distributed over the joints within their limits. The direction of
the tool velocity may change.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from brazo.errors import BrazoError
from brazo.model.description import Model

__all__ = ["JointRates", "differential_ik", "resolved_rate", "speed_limits"]

_INFINITE = 1e30  # what daqp takes for no bound


class JointRates(NamedTuple):
    """Joint velocities and the resulting tool velocity, with leading batch dimensions."""

    qd: np.ndarray
    """Joint velocities (..., n), rad/s or m/s."""
    twist: np.ndarray
    """Tool velocity (..., 6) that results from qd, in the frame of the requested twist."""
    limited: np.ndarray
    """Mask (..., n), True for joints that a position or speed limit restricts."""
    scale: np.ndarray
    """Factor (...), at most 1, by which all joint velocities were multiplied because of max speeds.

    It is always 1 in results of `differential_ik`.
    """


@lru_cache(maxsize=64)
def speed_limits(model: Model) -> np.ndarray:
    """Return the max joint speeds (n,) in rad/s or m/s; infinite if the model gives none."""
    return np.array([drive.max_speed for drive in model.drives])


def resolved_rate(
    robot: Any,
    q: Any,
    twist: Any,
    frame: Any = "base",
    *,
    dt: float = 0.01,
    max_speed: Any = None,
    damping: float = 0.1,
    threshold: float = 0.05,
) -> JointRates:
    """Compute joint velocities by damped least squares; see `Robot.resolved_rate`."""
    J, v, (low, high), most, rows = _problem(robot, q, twist, frame, dt, max_speed)
    damping = _number("resolved_rate: damping", damping)
    threshold = _number("resolved_rate: threshold", threshold)
    if damping < 0.0 or threshold <= 0.0:
        raise BrazoError(
            f"resolved_rate: damping = {damping:g}, threshold = {threshold:g}; damping must be at "
            "least 0, threshold above 0"
        )
    n = J.shape[-1]
    mobility = robot._kinematics.mobility_of("linear" if rows == 3 else "all")
    used = J[..., :rows, :]
    held = np.zeros(low.shape, dtype=bool)
    qd = np.zeros(low.shape)
    for _ in range(n + 1):
        if held.any():
            rest = v - _times(used, np.where(held, qd, 0.0))
            free = np.where(held[..., None, :], 0.0, used)
            qd = np.where(held, qd, _damped(free, rest, mobility, damping, threshold))
        else:
            qd = _damped(used, v, mobility, damping, threshold)
        past = ~held & ((qd < low) | (qd > high))
        if not past.any():
            break
        qd = np.where(past, np.clip(qd, low, high), qd)
        held |= past
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = np.max(np.abs(qd) / most, axis=-1)
    scale = 1.0 / np.maximum(excess, 1.0)
    slow = (np.abs(qd) >= most) & (excess > 1.0)[..., None]
    qd = qd * scale[..., None]
    return JointRates(qd, _times(J, qd), held | slow, scale)


def differential_ik(
    robot: Any,
    q: Any,
    twist: Any,
    frame: Any = "base",
    *,
    dt: float = 0.01,
    max_speed: Any = None,
    weights: Any = None,
    damping: float = 1e-3,
    posture: Any = None,
) -> JointRates:
    """Compute joint velocities by a quadratic program; see `Robot.differential_ik`."""
    import daqp

    J, v, (low, high), most, rows = _problem(robot, q, twist, frame, dt, max_speed)
    if J.ndim != 2:
        raise BrazoError(f"differential_ik: q has shape {np.shape(q)}; expected ({robot.n},)")
    damping = _number("differential_ik: damping", damping)
    if damping <= 0.0:
        raise BrazoError(f"differential_ik: damping = {damping:g}; it must be above 0")
    used = J[:rows]
    weighted = used
    if weights is not None:
        given = _numbers("differential_ik: weights", weights, (rows,))
        if (given < 0.0).any():
            raise BrazoError("differential_ik: weights: every value must be at least 0")
        weighted = given[:, None] * used
    low, high = np.maximum(low, -most), np.minimum(high, most)
    H = used.T @ weighted
    H.flat[:: len(H) + 1] += damping * damping
    f = -(v @ weighted)
    if posture is not None:
        target = _numbers("differential_ik: posture", posture, (len(low),))
        f -= damping * damping * (target - np.asarray(q, dtype=float))
    none = np.empty((0, len(f)))
    qd, _, flag, _ = daqp.solve(
        H, f, none, np.minimum(high, _INFINITE), np.maximum(low, -_INFINITE)
    )
    if flag < 1:
        raise BrazoError(
            f"differential_ik: the quadratic program failed (daqp exit flag {flag}); try a larger "
            "damping"
        )
    qd = np.clip(qd, low, high)
    limited = (qd <= low) | (qd >= high)
    return JointRates(qd, J @ qd, limited, np.ones(()))


def _problem(
    robot: Any, q: Any, twist: Any, frame: Any, dt: float, max_speed: Any
) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray], np.ndarray, int]:
    """Check the inputs; return J, tool velocity, speed bounds, max speeds and number of rows.

    The speed bounds (low, high) follow from the joint limits and dt. The number of rows is that of
    the tool velocity, 6 or 3.
    """
    J = robot.jacobian(q, frame)
    q = np.asarray(q, dtype=float)
    v = _numbers("twist", twist, None)
    if v.shape[-1:] not in ((3,), (6,)):
        raise BrazoError(
            f"twist has shape {v.shape}; expected (..., 6), linear then angular, or (..., 3), "
            "linear only"
        )
    dt = _number("dt", dt)
    if dt <= 0.0:
        raise BrazoError(f"dt = {dt} s; it must be a number above 0")
    most = speed_limits(robot.model)
    if max_speed is not None:
        given = _numbers("max_speed", max_speed, (robot.n,), finite=False)
        if not (given > 0.0).all():
            raise BrazoError("max_speed: every value must be above 0")
        most = np.minimum(most, given)
    lower, upper = robot.limits.T
    low, high = np.minimum((lower - q) / dt, 0.0), np.maximum((upper - q) / dt, 0.0)
    if v.ndim > 1:
        try:
            lead = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
        except ValueError:
            raise BrazoError(
                f"q has shape {q.shape} and twist has shape {v.shape}: their batch dimensions do "
                "not broadcast"
            ) from None
        low, high = (np.broadcast_to(x, (*lead, robot.n)) for x in (low, high))
    return J, v, (low, high), most, v.shape[-1]


def _damped(
    J: np.ndarray, v: np.ndarray, mobility: int, damping: float, threshold: float
) -> np.ndarray:
    U, sigma, Vt = np.linalg.svd(J, full_matrices=False)
    count = min(mobility, sigma.shape[-1])
    near = np.clip(1.0 - (sigma[..., count - 1 : count] / threshold) ** 2, 0.0, None)
    below = sigma**2 + damping**2 * near
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(below > 1e-24, sigma / below, 0.0)
    factor[..., count:] = 0.0
    along = _times(np.swapaxes(U, -1, -2), v)
    return _times(np.swapaxes(Vt, -1, -2), factor * along)


def _times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return A x for batches of matrices and vectors."""
    return (A @ x[..., None])[..., 0]


def _number(what: str, value: Any) -> float:
    if type(value) is float and math.isfinite(value):
        return value
    return float(_numbers(what, value, ()))


def _numbers(
    what: str, value: Any, shape: tuple[int, ...] | None, *, finite: bool = True
) -> np.ndarray:
    try:
        array = np.asarray(value, dtype=float)
        array = array if shape in (None, array.shape) else np.broadcast_to(array, shape)
    except (TypeError, ValueError):
        wanted = (
            "numbers" if shape is None else f"numbers of shape {shape}" if shape else "a number"
        )
        raise BrazoError(f"{what}: expected {wanted}, got {value!r}") from None
    if finite and not np.isfinite(array).all():
        raise BrazoError(f"{what}: every value must be finite")
    if np.isnan(array).any():
        raise BrazoError(f"{what}: values must not be NaN")
    return array
