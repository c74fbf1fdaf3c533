"""Joint motions of steps: straight in joint space, through several poses, or along a tool path.

`speed` is a fraction f of the drives' limits.  The fastest motion within the limits is scaled to
1/f of its duration, so velocities scale by f, accelerations by f² and jerks by f³.

A path through several poses is executed without stopping.  The straight segment k has a motion pₖ
from rest to rest.  It starts at the pose qₖ at time tₖ, while segment k − 1 decelerates:

    q(t) = q₀ + Σₖ (pₖ(t − tₖ) − qₖ)

This cuts corners; a longer overlap of two segments cuts more.  The result is therefore checked for
collisions like any other motion.  The callers try several overlaps and use the fastest motion that
does not collide.  With overlap 0 the motion stops at every pose and follows the segments, which are
known to be collision-free.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from brazo.errors import BrazoError
from brazo.program.steps import Orientation, Speed
from brazo.robot import Robot
from brazo.trajectory import (
    CartesianPath,
    Limits,
    Piecewise,
    Sample,
    Timing,
    Trajectory,
    check,
    concatenate,
    follow_path,
    jerk_limited,
    limits_of,
    scaled,
)

Array = np.ndarray
MakePath = Callable[[Timing], CartesianPath]
STOPPING = 0.4  # s, to decelerate a paused motion to rest and to accelerate it again
_STEPS = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)  # s, between exact points on a path of 1 s
_SLOWEST = 1e-3  # of the initial guess of 1 s


def motion_limits(arm: Robot) -> Limits:
    """Return the limits of a robot for motions: speed, acceleration, jerk and position.

    Torques are not limited here, because they depend on the load; a controller reports saturation.
    """
    own = limits_of(arm)
    return Limits(own.speed, own.acceleration, own.jerk, own.position, assumed=own.assumed)


def straight(q0: Array, q1: Array, limits: Limits, speed: Speed, default: float) -> Trajectory:
    """Return a straight, synchronised joint motion from rest at q0 to rest at q1.

    `default` is the fraction of the limits that is used if no field of `speed` is set.
    """
    return _at_speed(jerk_limited(q0, q1, limits, "line"), speed, default)


def through(
    path: Sequence[Array], limits: Limits, speed: Speed, default: float, overlap: float = 1.0
) -> Trajectory:
    """Return a motion along the straight segments between the poses of `path`.

    `overlap` is from 1 (no stops, corners are cut most) to 0 (a stop at each pose).  `default` is
    the fraction of the limits that is used if no field of `speed` is set.
    """
    pieces = [jerk_limited(a, b, limits, "line") for a, b in pairwise(path)]
    if len(pieces) == 1 or overlap == 0.0:
        return _at_speed(concatenate(*pieces), speed, default)
    return _at_speed(_fastest(_Overlapped(pieces, overlap), limits), speed, default)


def along(
    arm: Robot,
    make: MakePath,
    q0: Array,
    limits: Limits,
    speed: Speed,
    default: float,
    orientation: Orientation,
) -> Trajectory:
    """Return a joint motion that moves the tool along a path, starting at q0.

    `make` returns the path for a given timing.  `default` is the fraction of the limits that is
    used if no field of `speed` is set.
    """
    if speed.time is None and speed.tool_speed is None:
        found = _follow(arm, make(Timing(duration=1.0)), q0, orientation, 1.0)
        return _at_speed(_fastest(found, limits), speed, default)
    timing = Timing(duration=speed.time, speed=speed.tool_speed)
    path = make(timing)
    found = _follow(arm, path, q0, orientation, path.duration)
    past = check(found, arm, limits)
    if past:
        raise BrazoError(
            f"too fast: {past[0]}; give a longer 'time', or 'speed' (a fraction of the limits)"
        )
    return found


class _Overlapped(Trajectory):
    """Motion of rest-to-rest segments, each of which starts before the previous one has ended."""

    def __init__(self, pieces: Sequence[Piecewise], overlap: float) -> None:
        self._pieces = pieces
        starts = [0.0]
        for before, after in pairwise(pieces):
            shared = 0.5 * overlap * min(before.duration, after.duration)
            starts.append(starts[-1] + before.duration - shared)
        self._starts = starts
        parts = [start + piece.breaks for start, piece in zip(starts, pieces, strict=True)]
        self._breaks = np.unique(np.concatenate(parts))

    @property
    def n(self) -> int:
        return self._pieces[0].n

    @property
    def breaks(self) -> Array:
        return self._breaks

    def within(self, t: Array) -> Sample:
        found = self._pieces[0].sample(t)
        for start, piece in zip(self._starts[1:], self._pieces[1:], strict=True):
            part = piece.sample(t - start)
            found.q[...] += part.q - piece.sample(0.0).q
            found.qd[...] += part.qd
            found.qdd[...] += part.qdd
        return found

    def jerk(self, t: Array) -> Array:
        """Return the third derivatives (m, n) of the positions at times t (m,)."""
        both = zip(self._starts, self._pieces, strict=True)
        return np.sum([piece.jerk(t - start) for start, piece in both], axis=0)


class Slowed(Trajectory):
    """Trajectory `inner` with another timing: the position at time t is that of `inner` at s(t).

    `clock` is the function s(t), in s.
    """

    def __init__(self, inner: Trajectory, clock: Piecewise) -> None:
        self._inner, self._clock = inner, clock

    @property
    def n(self) -> int:
        return self._inner.n

    @property
    def breaks(self) -> Array:
        return self._clock.breaks

    def within(self, t: Array) -> Sample:
        clock = self._clock.sample(t)
        s, rate, bend = clock.q[:, 0], clock.qd, clock.qdd
        inner = self._inner.sample(s)
        return Sample(inner.q, inner.qd * rate, inner.qdd * rate**2 + inner.qd * bend)


def braking(motion: Trajectory, now: float) -> tuple[Trajectory, float]:
    """Return a motion that follows `motion` from its time `now` (s) and decelerates to rest.

    Also returns the time (s) at which `motion` passes the position where the returned motion ends.
    """
    T = min(STOPPING, max(2.0 * (motion.end - now), 0.0))
    if T <= 0.0:
        return motion, motion.end
    # s' falls from 1 to 0 as 1 − 3u² + 2u³, whose integral is T/2.
    clock = Piecewise([0.0, T], np.array([[[now], [1.0], [0.0], [-1.0 / T**2], [0.5 / T**3]]]))
    return Slowed(motion, clock), min(now + 0.5 * T, motion.end)


def resuming(motion: Trajectory, now: float) -> Trajectory:
    """Return the part of `motion` after its time `now` (s); it accelerates from standstill."""
    left = motion.end - now
    T = min(STOPPING, 2.0 * left)
    if T <= 0.0:
        return Slowed(motion, Piecewise([0.0, 0.0], np.array([[[motion.end], [0.0]]])))
    first = [[now], [0.0], [0.0], [1.0 / T**2], [-0.5 / T**3]]
    rest = left - 0.5 * T
    if rest <= 1e-12:
        return Slowed(motion, Piecewise([0.0, T], np.array([first])))
    then = [[now + 0.5 * T], [1.0], [0.0], [0.0], [0.0]]
    return Slowed(motion, Piecewise([0.0, T, T + rest], np.array([first, then])))


def _at_speed(fastest: Trajectory, speed: Speed, default: float) -> Trajectory:
    """Return the motion `fastest`, slowed down to `speed`, or to the fraction `default`.

    `default` is used if no field of `speed` is set.
    """
    least = fastest.duration
    if least == 0.0:
        return fastest
    if speed.time is not None:
        if speed.time < least * (1.0 - 1e-9):
            raise BrazoError(
                f"time {speed.time:g} s is too short: the min time within the drives' limits is "
                f"{least:.3f} s"
            )
        return scaled(fastest, speed.time / least)
    return scaled(fastest, 1.0 / (speed.fraction or default))


def _fastest(motion: Trajectory, limits: Limits) -> Trajectory:
    """Return the motion, time-scaled to be as fast as speed, acceleration and jerk limits allow."""
    t = np.unique(np.concatenate([np.linspace(a, b, 33) for a, b in pairwise(motion.breaks)]))
    s = motion.sample(t)
    factor = max(
        float((np.abs(s.qd) / limits.speed).max()),
        math.sqrt(float((np.abs(s.qdd) / limits.acceleration).max())),
        _SLOWEST,
    )
    if isinstance(motion, (Piecewise, _Overlapped)):
        jerk = motion.jerk(t)
        factor = max(factor, float(np.cbrt((np.abs(jerk) / limits.jerk).max())))
    return scaled(motion, factor)


def _follow(
    arm: Robot, path: CartesianPath, q0: Array, orientation: Orientation, duration: float
) -> Piecewise:
    """Return a joint motion along a path with the duration `duration` (s).

    The sampling step is reduced until the tool follows the path accurately enough.
    """
    for step in _STEPS:
        try:
            return follow_path(arm, path, step * duration, q0, orientation=orientation)
        except BrazoError as error:
            if "smaller dt" not in str(error) or step == _STEPS[-1]:
                raise
    raise AssertionError
