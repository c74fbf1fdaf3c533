"""`Timing`: progress along a path over time, from 0 to 1.

    quintic, cubic   one polynomial from rest to rest; given a duration or limits
    trapezoid        ramp, constant speed, ramp; given limits or a duration; with a duration, each
                     ramp takes a quarter of it
    jerk_limited     S-curve; given limits
    constant         constant speed from start to end, for closed curves that are repeated;
                     given a speed or a duration

There are limits along the path (m/s, m/s²) and limits of the rotation (rad/s, rad/s²); the more
restrictive ones apply.  The acceleration limit does not include the centripetal acceleration of
a curve, v² / radius.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from brazo.checks import one_of, positive
from brazo.deprecation import warn_renamed
from brazo.errors import BrazoError
from brazo.trajectory import moves
from brazo.trajectory.limits import Limits
from brazo.trajectory.piecewise import Piecewise

Profile = Literal["quintic", "cubic", "trapezoid", "jerk_limited", "constant"]
PROFILES = ("quintic", "cubic", "trapezoid", "jerk_limited", "constant")
_LIMITS = (
    "speed",
    "acceleration",
    "jerk",
    "angular_speed",
    "angular_acceleration",
    "angular_jerk",
)


@dataclass(frozen=True, slots=True)
class Timing:
    """A profile of the progress along a path, with either a duration (s) or limits."""

    profile: Profile = "quintic"
    duration: float | None = None  # s
    speed: float | None = None  # m/s
    acceleration: float | None = None  # m/s²
    jerk: float | None = None  # m/s³
    angular_speed: float | None = None  # rad/s
    angular_acceleration: float | None = None  # rad/s²
    angular_jerk: float | None = None  # rad/s³

    def __post_init__(self) -> None:
        one_of(self.profile, PROFILES, "profile")
        for name in ("duration", *_LIMITS):
            value = getattr(self, name)
            if value is not None:
                positive(value, name)
        if self.duration is not None:
            given = [name for name in _LIMITS if getattr(self, name) is not None]
            if given:
                raise BrazoError(f"give a duration or limits, not both (got {', '.join(given)})")
            if self.profile == "jerk_limited":
                raise BrazoError(
                    "a jerk_limited profile takes limits: speed, acceleration and jerk"
                )

    @property
    def law(self) -> str:
        """Deprecated name of `profile`."""
        warn_renamed("law", "profile")
        return self.profile

    def shared(self, share: float) -> Timing:
        """Return the timing of a part of a path.

        A duration is multiplied by the fraction `share`; limits stay the same.
        """
        if self.duration is None:
            return self
        return Timing(self.profile, share * self.duration)


def read_timing(value: Timing | float) -> Timing:
    """Return a timing unchanged; a number is a duration (s) with the quintic profile."""
    return value if isinstance(value, Timing) else Timing(duration=positive(value, "duration"))


def progress(timing: Timing, length: float, turning: float) -> Piecewise:
    """Return the progress along a path, which increases from 0 to 1, as a function of time.

    `length` (m) is the length of the path.  `turning` (rad) is the max rate of rotation of the tool
    with respect to the progress.
    """
    if length <= 0.0 and turning <= 0.0:
        raise BrazoError(
            "the path has zero length and zero rotation: its start and end are the same pose"
        )
    T = timing.duration
    v = _rate(timing, "speed", length, turning)
    a = _rate(timing, "acceleration", length, turning)
    j = _rate(timing, "jerk", length, turning)
    profile = timing.profile
    if profile in ("quintic", "cubic"):
        move = moves.quintic if profile == "quintic" else moves.cubic
        if T is not None:
            return move(0.0, 1.0, T)
        if v is None and a is None:
            raise _missing(timing, "a duration, a speed or an acceleration", length)
        return move(0.0, 1.0, speed=v, acceleration=a)
    if profile == "trapezoid":
        if T is not None:
            return moves.trapezoid_in(0.0, 1.0, T)
        if v is None or a is None:
            raise _missing(timing, "a duration, or a speed and an acceleration", length)
        return moves.trapezoid(0.0, 1.0, v, a)
    if profile == "jerk_limited":
        if v is None or a is None or j is None:
            raise _missing(timing, "a speed, an acceleration and a jerk", length)
        from brazo.trajectory.jerk_limited import jerk_limited

        return jerk_limited(0.0, 1.0, Limits(v, a, j))
    if T is None:
        if v is None:
            raise _missing(timing, "a duration or a speed", length)
        T = 1.0 / v
    return Piecewise([0.0, T], [[[0.0], [1.0 / T]]])


def _rate(timing: Timing, name: str, length: float, turning: float) -> float | None:
    """Limit of the speed, acceleration or jerk of the progress (1/s, 1/s² or 1/s³).

    `name` is "speed", "acceleration" or "jerk".  The limit is the lower of the values that follow
    from the linear and the angular limit; None if neither applies.
    """
    linear, angular = getattr(timing, name), getattr(timing, f"angular_{name}")
    allowed = math.inf
    if linear is not None and length > 0.0:
        allowed = linear / length
    if angular is not None and turning > 0.0:
        allowed = min(allowed, angular / turning)
    return None if allowed == math.inf else allowed


def _missing(timing: Timing, wanted: str, length: float) -> BrazoError:
    kind = "" if length > 0.0 else "; limits must be angular, because the path is a pure rotation"
    return BrazoError(f"the {timing.profile} profile needs {wanted}{kind}")
