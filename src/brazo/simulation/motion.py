"""Motions: the reference of a robot (desired q, q̇, q̈) in each step.

A reference is constant (`Rest`), follows a trajectory (`Sampled`) or comes from a live source
(`Live`).  A motion gives one row (q, q̇, q̈) of length 3n per step.  A trajectory is sampled once,
when it starts: row i is the reference of the i-th step after the start.  After the last row, the
reference stays at the last position.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self

import numpy as np

from brazo.errors import BrazoError
from brazo.trajectory import Trajectory

Array = np.ndarray


class Motion(Protocol):
    """Source of the reference of a robot; `row` (3n,) contains q, q̇ and q̈ of this step."""

    row: Array  # (3n,)
    q: Array  # (n,) views of the row
    qd: Array
    qdd: Array

    @property
    def moving(self) -> bool: ...

    @property
    def remaining(self) -> float: ...

    def advance(self) -> None:
        """Advance to the row of the next step."""


class _OwnRow:
    """Base class of motions that own their row; a copy owns a copy of the row."""

    def __init__(self, q: Array) -> None:
        self._use_row(np.concatenate([q, np.zeros(2 * len(q))]))

    def _use_row(self, row: Array) -> None:
        n = len(row) // 3
        self.row = row
        self.q, self.qd, self.qdd = row[:n], row[n : 2 * n], row[2 * n :]

    def __copy__(self) -> Self:
        found = object.__new__(type(self))
        vars(found).update(vars(self))
        found._use_row(self.row.copy())
        return found


class Rest(_OwnRow):
    """Motion that stays at a constant position `q` (n,)."""

    moving = False
    remaining = 0.0

    def advance(self) -> None:
        pass


class Sampled(_OwnRow):
    """Motion through the precomputed rows of `table` (rows, 3n); it then rests at the last one."""

    def __init__(self, table: Array, dt: float) -> None:
        super().__init__(table[-1, : table.shape[1] // 3])
        self.table = table
        self.dt = dt
        self._end = self.row.copy()
        self._next = 0
        self.advance()

    @classmethod
    def of(cls, trajectory: Trajectory, dt: float) -> Sampled:
        """Return the motion along a trajectory, sampled every `dt` seconds from its start."""
        table = trajectory.table(dt)
        return cls(np.hstack([table.q, table.qd, table.qdd]), dt)

    @property
    def moving(self) -> bool:
        """Whether there are rows after the current one."""
        return self._next < len(self.table)

    @property
    def remaining(self) -> float:
        """Time until the last row (s)."""
        return (len(self.table) - self._next) * self.dt

    def rest_of_table(self) -> Array:
        """Return the current row and all later rows of the table (rows, 3n)."""
        return self.table[max(self._next - 1, 0) :]

    @property
    def following(self) -> int:
        """Index of the row after the current one."""
        return self._next

    @property
    def end(self) -> Array:
        """The row (3n,) used after the end of the table: the last position with zero velocity."""
        return self._end

    def passed(self, steps: int) -> None:
        """Advance the row index after `steps` native steps, which have already updated `row`."""
        self._next = min(self._next + steps, len(self.table))

    def advance(self) -> None:
        i = self._next
        if i < len(self.table):
            self._next = i + 1
            self.row[:] = self.table[i]
        else:
            self.row[:] = self._end


class Live(_OwnRow):
    """Motion from a live source, which is called in every step; a copy shares the source.

    `source.next()` or `source.update(dt)` must return an object with q, qd and qdd.
    """

    def __init__(self, source: Any, q: Any, dt: float) -> None:
        self._ask: Callable[[], Any]
        if callable(following := getattr(source, "next", None)):
            self._ask = following
        elif callable(updating := getattr(source, "update", None)):
            self._ask = lambda: updating(dt)
        else:
            raise BrazoError(
                f"{type(source).__name__} cannot be followed: a live source needs next() or "
                "update(dt) that returns an object with q, qd and qdd"
            )
        super().__init__(q)
        self.source = source

    @property
    def moving(self) -> bool:
        """The attribute `moving` of the source; True if the source has no such attribute."""
        return bool(getattr(self.source, "moving", True))

    @property
    def remaining(self) -> float:
        """The attribute `remaining` of the source (s); nan if the source has no such attribute."""
        return float(getattr(self.source, "remaining", float("nan")))

    def advance(self) -> None:
        sample = self._ask()
        try:
            parts = sample.q, sample.qd, sample.qdd
            # A scalar would be broadcast to all joints.
            fits = all(np.shape(part) == self.q.shape for part in parts)
            if fits:
                self.q[:], self.qd[:], self.qdd[:] = parts
        except (AttributeError, ValueError, TypeError):
            fits = False
        if not fits:
            raise BrazoError(
                f"{type(self.source).__name__} returned {type(sample).__name__}; expected an "
                f"object with q, qd and qdd, each of shape ({len(self.q)},)"
            )
        if not np.isfinite(self.row).all():
            raise BrazoError(
                f"{type(self.source).__name__} returned a reference that is not finite"
            )
