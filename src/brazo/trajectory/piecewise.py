"""`Piecewise`: a trajectory of piecewise polynomials, the result of most planners.

Piece k is the time from break b_k to break b_{k+1}.  In this piece, with the coefficients c_ki and
the local time τ = t − b_k:

    q(t) = c_k0 + c_k1 τ + c_k2 τ² + …

Local time keeps the coefficients well conditioned.  With absolute time, a cubic of 0.1 s that
starts at t = 100 s would be ill-conditioned: the matrix that determines its coefficients would have
the condition number 4·10¹⁵.

`cubic_pieces` and `quintic_pieces` compute the polynomials from the states at both ends of a piece.
`merge` combines the motions of single joints with different breaks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import comb
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.trajectory.base import Sample, Trajectory
from brazo.trajectory.reading import array, vector

Array = np.ndarray
_BLOCK = 2048  # samples


class Piecewise(Trajectory):
    """Trajectory of polynomial pieces.

    `breaks` (pieces + 1,) are in s.  `coefficients` are (pieces, order, n), lowest power first,
    where the order is the degree plus 1.
    """

    def __init__(self, breaks: Any, coefficients: Any) -> None:
        b = vector(breaks, None, "breaks")
        c = array(coefficients, "coefficients")
        if c.ndim != 3 or len(c) != len(b) - 1 or 0 in c.shape:
            raise BrazoError(
                f"coefficients have shape {c.shape}; expected ({len(b) - 1}, order, joints), "
                "lowest power first"
            )
        steps = np.diff(b)
        # A motion between equal states is a trajectory of zero duration.
        if not (steps > 0.0).all() and not (len(steps) == 1 and steps[0] == 0.0):
            raise BrazoError("breaks must increase")
        b.flags.writeable = c.flags.writeable = False
        self._breaks = b
        self._coefficients = c
        self._by_power = np.ascontiguousarray(c.transpose(1, 0, 2))
        self._starts = b.tolist()
        self._inner = self._starts[1:-1]

    def __repr__(self) -> str:
        pieces, order, n = self._coefficients.shape
        return (
            f"<brazo trajectory: {n} joints, {pieces} pieces of degree {order - 1}, "
            f"{self.start:g} to {self.end:g} s>"
        )

    @property
    def n(self) -> int:
        return self._coefficients.shape[2]

    @property
    def breaks(self) -> Array:
        return self._breaks

    @property
    def coefficients(self) -> Array:
        """Coefficients (pieces, order, n), lowest power first, in the local time of each piece."""
        return self._coefficients

    def sample(self, t: Any) -> Sample:
        # Fast path for a single time, as in a control loop.
        if isinstance(t, (float, int)) and t == t:
            start, end = self._starts[0], self._starts[-1]
            inside = start <= t <= end
            t = min(max(t, start), end)
            piece = bisect_right(self._inner, t)
            tau = t - self._starts[piece]
            rows = np.array(_monomials(tau, self._coefficients.shape[1]))
            if not inside:
                rows[1:] = 0.0
            return Sample(*(rows @ self._coefficients[piece]))
        return super().sample(t)

    def within(self, t: Array) -> Sample:
        found = Sample(*np.empty((3, len(t), self.n)))
        # Blocks small enough to stay in the cache.
        for k in range(0, len(t), _BLOCK):
            rows = slice(k, k + _BLOCK)
            self._evaluate(t[rows], found.q[rows], found.qd[rows], found.qdd[rows])
        return found

    def _evaluate(self, t: Array, q: Array, qd: Array, qdd: Array) -> None:
        piece = np.searchsorted(self._breaks[1:-1], t, side="right")
        tau = (t - self._breaks[piece])[:, None]
        # Horner's scheme for the value and two derivatives at once.
        c = self._by_power
        q[...] = c[-1].take(piece, axis=0)
        qd[...] = 0.0
        qdd[...] = 0.0
        for power in range(len(c) - 2, -1, -1):
            qdd *= tau
            qdd += qd
            qd *= tau
            qd += q
            q *= tau
            q += c[power].take(piece, axis=0)
        qdd *= 2.0

    def jerk(self, t: Any) -> Array:
        """Jerk (..., n) at times (...,); 0 outside the motion."""
        times = np.asarray(t, dtype=float)
        flat = times.ravel()
        inside = (flat >= self.start) & (flat <= self.end)
        clipped = np.clip(flat, self.start, self.end)
        piece = np.searchsorted(self._breaks[1:-1], clipped, side="right")
        tau = (clipped - self._breaks[piece])[:, None]
        value = np.zeros((len(flat), self.n))
        for power in range(self._coefficients.shape[1] - 1, 2, -1):
            factor = power * (power - 1) * (power - 2)
            value = value * tau + factor * self._coefficients[piece, power]
        return np.where(inside[:, None], value, 0.0).reshape(*times.shape, self.n)


def cubic_pieces(h: Array, q0: Array, q1: Array, qd0: Array, qd1: Array) -> Array:
    """Coefficients (k, 4, n) of cubics from the states at both ends; h (k,) are durations (s)."""
    h = np.asarray(h, dtype=float)[:, None]
    slope = (q1 - q0) / h
    c2 = (3.0 * slope - 2.0 * qd0 - qd1) / h
    c3 = (qd0 + qd1 - 2.0 * slope) / h**2
    return np.stack([q0, qd0, c2, c3], axis=1)


def quintic_pieces(
    h: Array, q0: Array, q1: Array, qd0: Array, qd1: Array, qdd0: Array, qdd1: Array
) -> Array:
    """Coefficients (k, 6, n) of quintics from the states at both ends; h (k,) are durations (s)."""
    h = np.asarray(h, dtype=float)[:, None]
    # Residual of the parabola of the first state: value and two derivatives at the end.
    a = (q1 - q0 - h * (qd0 + 0.5 * h * qdd0)) / h**3
    b = (qd1 - qd0 - h * qdd0) / h**2
    c = (qdd1 - qdd0) / h
    c3 = 10.0 * a - 4.0 * b + 0.5 * c
    c4 = (-15.0 * a + 7.0 * b - c) / h
    c5 = (6.0 * a - 3.0 * b + 0.5 * c) / h**2
    return np.stack([q0, qd0, 0.5 * qdd0, c3, c4, c5], axis=1)


def merge(joints: Sequence[tuple[Array, Array]]) -> Piecewise:
    """Combine the motions of single joints, given as breaks and coefficients (pieces, order).

    All joints start at the same time.  A joint that ends before the others stays at its last
    position.
    """
    breaks = np.unique(np.concatenate([b for b, _ in joints]))
    if len(breaks) == 1:
        breaks = np.repeat(breaks, 2)
    order = max(c.shape[1] for _, c in joints)
    merged = np.zeros((len(breaks) - 1, order, len(joints)))
    middle = 0.5 * (breaks[:-1] + breaks[1:])
    for i, (b, c) in enumerate(joints):
        piece = np.clip(np.searchsorted(b, middle, side="right") - 1, 0, len(c) - 1)
        shift = breaks[:-1] - b[piece]
        over = middle > b[-1]
        shift[over] = b[-1] - b[-2]
        for low in range(c.shape[1]):
            for high in range(low, c.shape[1]):
                merged[:, low, i] += comb(high, low) * c[piece, high] * shift ** (high - low)
        merged[over, 1:, i] = 0.0
    return Piecewise(breaks, merged)


def concatenate(*trajectories: Piecewise) -> Piecewise:
    """Concatenate trajectories in time; each starts when the previous one ends.

    The start positions of a trajectory must be the end positions of the previous one.
    """
    if not trajectories:
        raise BrazoError("concatenate needs at least one trajectory")
    order = max(part.coefficients.shape[1] for part in trajectories)
    breaks, pieces = [np.array([trajectories[0].start])], []
    end = trajectories[0].start
    for k, part in enumerate(trajectories):
        if part.n != trajectories[0].n:
            raise BrazoError(f"trajectory {k + 1} has {part.n} joints, not {trajectories[0].n}")
        if k > 0:
            before, after = trajectories[k - 1], part
            gap = np.abs(before.sample(before.end).q - after.sample(after.start).q)
            if gap.max() > 1e-9:
                i = int(np.argmax(gap))
                raise BrazoError(
                    f"trajectory {k + 1} does not start at the end of trajectory {k}: joint "
                    f"{i + 1} "
                    f"differs by {gap[i]:g}"
                )
        if part.duration == 0.0:
            continue
        breaks.append(end + part.breaks[1:] - part.start)
        end = float(breaks[-1][-1])
        missing = order - part.coefficients.shape[1]
        pieces.append(np.pad(part.coefficients, ((0, 0), (0, missing), (0, 0))))
    if not pieces:
        return trajectories[0]
    return Piecewise(np.concatenate(breaks), np.concatenate(pieces))


def _monomials(tau: float, order: int) -> list[list[float]]:
    """Monomials 1, τ, τ², … and their first two derivatives."""
    value, slope, bend = [1.0], [0.0], [0.0]
    for power in range(1, order):
        bend.append(power * slope[-1])
        slope.append(power * value[-1])
        value.append(tau * value[-1])
    return [value, slope, bend]
