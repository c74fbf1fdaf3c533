"""Rest-to-rest motions: cubic, quintic and trapezoid, time-optimal or with a given duration.

For a joint that moves the distance D in the time T:

    cubic       q̇ ≤ 3/2 D/T,   q̈ ≤ 6 D/T²
    quintic     q̇ ≤ 15/8 D/T,  q̈ ≤ (10/√3) D/T²
    trapezoid   constant acceleration a, constant speed v, constant deceleration a;
                T = D/v + v/a, or T = 2 √(D/a) where D < v²/a and v is never reached

All joints arrive at the same time.  A trapezoid has two modes of synchronisation:

    time   minimal duration; each joint has its own trapezoid with max acceleration, and its
           speed is reduced to match the duration of the slowest joint
    line   straight line in joint space; all joints share one trapezoid, which takes longer if
           one joint is limited by its speed and another by its acceleration
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from brazo.checks import one_of, positive
from brazo.errors import BrazoError
from brazo.trajectory.base import Sample
from brazo.trajectory.piecewise import Piecewise, cubic_pieces, merge, quintic_pieces
from brazo.trajectory.reading import bounds, floats, vector

Array = np.ndarray
Synchronise = Literal["time", "line"]
SYNCHRONISE = ("time", "line")

_PEAKS = {"cubic": (1.5, 6.0), "quintic": (15.0 / 8.0, 10.0 / math.sqrt(3.0))}


def cubic(
    q0: Any, q1: Any, duration: float | None = None, *, speed: Any = None, acceleration: Any = None
) -> Piecewise:
    """Cubic motion from q0 to q1 (n,), with zero velocity at both ends.

    The motion takes `duration` seconds, or is as fast as the limits `speed` and `acceleration`
    allow, each (n,) or one number for all joints.
    """
    return _polynomial("cubic", q0, q1, duration, speed, acceleration)


def quintic(
    q0: Any, q1: Any, duration: float | None = None, *, speed: Any = None, acceleration: Any = None
) -> Piecewise:
    """Quintic motion from q0 to q1 (n,), with zero velocity and acceleration at both ends.

    The motion takes `duration` seconds, or is as fast as the limits `speed` and `acceleration`
    allow, each (n,) or one number for all joints.
    """
    return _polynomial("quintic", q0, q1, duration, speed, acceleration)


def jtraj(q0: Any, q1: Any, t: Any) -> Sample:
    """Quintic joint motion at given times, like `jtraj` of Robotics Toolbox.

    Parameters
    ----------
    q0, q1 : (n,) joint values, rad and m; at rest at both ends.
    t : (m,) increasing times, s; the motion starts at the first and ends at the last.  Or an
        integer: the number of samples, evenly spaced from 0 to 1 s.

    Returns
    -------
    `Sample` with q, qd and qdd, each (m, n), which unpacks: ``q, qd, qdd = jtraj(q0, q1, t)``.
    """
    if isinstance(t, (int, np.integer)) and not isinstance(t, bool):
        t = np.linspace(0.0, 1.0, int(t))
    times = floats(t, "t")
    if times.ndim != 1 or len(times) < 2 or not np.isfinite(times).all():
        raise BrazoError(
            f"t has shape {times.shape}; expected at least two finite times, or a number of samples"
        )
    if not (np.diff(times) > 0.0).all():
        raise BrazoError("t: times must increase")
    return quintic(q0, q1, float(times[-1] - times[0])).sample(times - times[0])


def trapezoid(
    q0: Any, q1: Any, speed: Any, acceleration: Any, synchronise: Synchronise = "time"
) -> Piecewise:
    """Fastest synchronised trapezoidal motion from q0 to q1 (n,) within the limits.

    `speed` and `acceleration` are the limits, (n,) or one number for all joints.  All joints arrive
    at the same time.  With `synchronise="line"` they also stay on a straight line in joint space.
    """
    one_of(synchronise, SYNCHRONISE, "synchronise")
    q0, q1 = ends(q0, q1)
    n = len(q0)
    v = bounds(speed, n, "speed", finite=True)
    a = bounds(acceleration, n, "acceleration", finite=True)
    D = np.abs(q1 - q0)
    if not D.any():
        return _at_rest(q0)
    if synchronise == "line":
        moving = D > 0.0
        v = D * (v[moving] / D[moving]).min()
        a = D * (a[moving] / D[moving]).min()
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(D * a >= v * v, D / v + v / a, 2.0 * np.sqrt(D / a))
    T = float(np.nanmax(needed))
    # The lower root of v² − a T v + a D = 0, in a form without cancellation.
    with np.errstate(divide="ignore", invalid="ignore"):
        cruise = 2.0 * D / (T + np.sqrt(np.maximum(T * T - 4.0 * D / a, 0.0)))
        ramp = np.where(D > 0.0, np.minimum(cruise / a, 0.5 * T), 0.5 * T)
    return _trapezoids(q0, q1, ramp, T)


def trapezoid_in(q0: Any, q1: Any, duration: float, ramp: float = 0.25) -> Piecewise:
    """Trapezoidal motion with a given duration (s).

    Each ramp takes the fraction `ramp` (at most 1/2) of the duration.
    """
    q0, q1 = ends(q0, q1)
    T = positive(duration, "duration")
    share = positive(ramp, "ramp")
    if share > 0.5:
        raise BrazoError(f"ramp is {share:g} of the duration; max 0.5")
    return _trapezoids(q0, q1, np.full(len(q0), share * T), T)


def ends(q0: Any, q1: Any) -> tuple[Array, Array]:
    """Return first and last joint positions as arrays (n,); a single number is one joint.

    A joint that would move by less than 1e-14 rad or m does not move.
    """
    q0 = vector(np.atleast_1d(q0) if np.ndim(q0) == 0 else q0, None, "q0")
    q1 = vector(np.atleast_1d(q1) if np.ndim(q1) == 0 else q1, len(q0), "q1")
    return q0, np.where(np.abs(q1 - q0) < 1e-14, q0, q1)


def _trapezoids(q0: Array, q1: Array, ramp: Array, T: float) -> Piecewise:
    joints = []
    for start, distance, t in zip(q0.tolist(), (q1 - q0).tolist(), ramp.tolist(), strict=True):
        cruise = distance / (T - t)
        a = cruise / t
        rise = 0.5 * cruise * t
        if T - 2.0 * t > 1e-14 * T:
            breaks = [0.0, t, T - t, T]
            flat = [[start + rise, cruise, 0.0]]
        else:
            breaks, flat = [0.0, 0.5 * T, T], []
        last = [start + distance - rise, cruise, -0.5 * a]
        joints.append((np.array(breaks), np.array([[start, 0.0, 0.5 * a], *flat, last])))
    return merge(joints)


def _polynomial(
    kind: str, q0: Any, q1: Any, duration: float | None, speed: Any, acceleration: Any
) -> Piecewise:
    q0, q1 = ends(q0, q1)
    T = _polynomial_time(kind, q1 - q0, duration, speed, acceleration)
    if T == 0.0:
        return _at_rest(q0)
    pieces, rests = (cubic_pieces, 2) if kind == "cubic" else (quintic_pieces, 4)
    rest = np.zeros((1, len(q0)))
    return Piecewise([0.0, T], pieces(np.array([T]), q0[None], q1[None], *[rest] * rests))


def _polynomial_time(
    kind: str, change: Array, duration: float | None, speed: Any, acceleration: Any
) -> float:
    if duration is not None:
        if speed is not None or acceleration is not None:
            raise BrazoError("give a duration or limits, not both")
        return positive(duration, "duration")
    if speed is None and acceleration is None:
        raise BrazoError(f"a {kind} needs a duration, or limits: speed=…, acceleration=…")
    D, n = np.abs(change), len(change)
    per_speed, per_acceleration = _PEAKS[kind]
    T = 0.0
    if speed is not None:
        T = float((per_speed * D / bounds(speed, n, "speed")).max())
    if acceleration is not None:
        limit = bounds(acceleration, n, "acceleration")
        T = max(T, float(np.sqrt(per_acceleration * D / limit).max()))
    if T == 0.0 and D.any():
        raise BrazoError("all limits are infinite: the duration would be 0; give a finite limit")
    return T


def _at_rest(q: Array) -> Piecewise:
    """Motion of zero duration at q."""
    return Piecewise([0.0, 0.0], q[None, None])
