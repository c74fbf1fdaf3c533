"""`Trajectory`: joint motion over time, independent of the type of curve.

A trajectory runs from `start` to `end` (s).  Before `start` and after `end`, q is constant and qd
and qdd are 0.  At `start` and `end` themselves, qd and qdd are those of the motion.  A trajectory
may consist of pieces.  At the time at which two pieces meet, the values are those of the later
piece.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from brazo.checks import positive
from brazo.errors import BrazoError

Array = np.ndarray
MAX_SAMPLES = 20_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Position, velocity and acceleration of the joints at one time (n,) or several (..., n).

    Units are rad, m and s.
    """

    q: Array
    qd: Array
    qdd: Array

    def __iter__(self) -> Iterator[Array]:
        """Iterate over q, qd and qdd, so that a sample can be unpacked."""
        return iter((self.q, self.qd, self.qdd))


class ColumnNames(Protocol):
    """Protocol of the robot attributes that `Table.columns` uses."""

    @property
    def joint_names(self) -> Sequence[str]: ...
    @property
    def joint_kinds(self) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A trajectory sampled at evenly spaced times; row k belongs to t[k]."""

    t: Array  # (m,) s
    q: Array  # (m, n)
    qd: Array
    qdd: Array

    def columns(self, robot: ColumnNames) -> dict[str, tuple[Array, str]]:
        """All signals as a dictionary from name to (values (m,), unit), for writing tables.

        The names are `t`, and `q.JOINT`, `qd.JOINT` and `qdd.JOINT` for each joint of `robot`.
        """
        found: dict[str, tuple[Array, str]] = {"t": (self.t, "s")}
        for label, values, suffix in (
            ("q", self.q, ""),
            ("qd", self.qd, "/s"),
            ("qdd", self.qdd, "/s²"),
        ):
            for i, (name, kind) in enumerate(
                zip(robot.joint_names, robot.joint_kinds, strict=True)
            ):
                unit = "rad" if kind == "revolute" else "m"
                found[f"{label}.{name}"] = (values[:, i], unit + suffix)
        return found


class Trajectory(ABC):
    """Base class of trajectories: joint positions as a function of time."""

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of joints."""

    @property
    @abstractmethod
    def breaks(self) -> Array:
        """Increasing times (s) from `start` to `end`, between which the motion is smooth."""

    @abstractmethod
    def within(self, t: Array) -> Sample:
        """Evaluate the motion at times (m,) between `start` and `end`."""

    @property
    def start(self) -> float:
        """Start time (s) of the motion."""
        return float(self.breaks[0])

    @property
    def end(self) -> float:
        """End time (s) of the motion."""
        return float(self.breaks[-1])

    @property
    def duration(self) -> float:
        """Duration in seconds."""
        return self.end - self.start

    def sample(self, t: Any) -> Sample:
        """Position, velocity and acceleration (..., n) at a time or at times (...,)."""
        times = read_times(t)
        flat = times.ravel()
        start, end = self.start, self.end
        inside = (flat >= start) & (flat <= end)
        found = self.within(np.minimum(np.maximum(flat, start), end))
        if not inside.all():
            found.qd[~inside] = 0.0
            found.qdd[~inside] = 0.0
        shape = (*times.shape, self.n)
        return Sample(found.q.reshape(shape), found.qd.reshape(shape), found.qdd.reshape(shape))

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        """Return q, qd and qdd (n,) at one time (s), as `Robot.follow` expects."""
        found = self.sample(t)
        return found.q, found.qd, found.qdd

    def table(self, dt: float) -> Table:
        """Sample the motion every dt seconds; the last row is always at `end`."""
        t = even_times(self.start, self.end, dt)
        found = self.sample(t)
        return Table(t, found.q, found.qd, found.qdd)


def read_times(t: Any) -> Array:
    """Convert times to an array; NaN raises an error, infinite times are allowed."""
    try:
        times = np.asarray(t, dtype=float)
    except (TypeError, ValueError) as error:
        raise BrazoError(f"t: not a time or an array of times ({error})") from None
    if np.isnan(times).any():
        raise BrazoError("t is not a number (NaN); expected times in seconds")
    return times


def even_times(start: float, end: float, dt: float) -> Array:
    """Return the times start, start + dt, …, end; the last step may be shorter than dt."""
    dt = positive(dt, "dt")
    count = (end - start) / dt
    if count > MAX_SAMPLES:
        raise BrazoError(
            f"dt = {dt:g} s gives {count:.3g} samples; at most {MAX_SAMPLES} are allowed: use a "
            "larger dt"
        )
    steps = int(np.ceil(count * (1.0 - 1e-12)))
    t = start + dt * np.arange(steps + 1)
    t[-1] = end
    return t
