"""Interpolation of via points by cubics or quintics.

Cubics have the given positions and velocities at the via points, so velocity is continuous.
Quintics also have the given accelerations, so acceleration is continuous too.  Velocities that are
not given follow from a rule, in which d_k is the mean velocity of segment k:

    average    0 if d changes sign or is 0, otherwise (d_{k−1} + d_k)/2    (Craig; Siciliano)
    monotone   0 if d changes sign or is 0, otherwise the weighted harmonic mean of d_{k−1} and
               d_k, so that q does not overshoot the points                (Fritsch, Butland)
    smooth     continuous acceleration (cubic spline)

The first and last velocities are 0 unless given.  Accelerations that are not given are 0 at the
first and last point.  At each inner point, a missing acceleration is the mean of the accelerations
of the two adjacent cubics.  With `smooth`, these two accelerations are equal where no velocity is
given, so the quintic between two such points equals the cubic spline.
"""

from __future__ import annotations

from typing import Any, Literal, cast

import numpy as np

from brazo.checks import one_of
from brazo.errors import BrazoError
from brazo.trajectory.piecewise import Piecewise, cubic_pieces, quintic_pieces
from brazo.trajectory.reading import array, table, times

Array = np.ndarray
Rule = Literal["average", "monotone", "smooth"]
RULES = ("average", "monotone", "smooth")


def cubic_via_points(t: Any, q: Any, qd: Any = None, rule: Rule = "average") -> Piecewise:
    """Cubics through q (points, n) at times t (points,), with continuous velocity.

    `qd` (points, n) are the velocities.  Rows that are None follow from the `rule`, as do all rows
    if `qd` is None.
    """
    t, q, qd = _states(t, q, qd, rule)
    return Piecewise(t, cubic_pieces(np.diff(t), q[:-1], q[1:], qd[:-1], qd[1:]))


def quintic_via_points(
    t: Any, q: Any, qd: Any = None, qdd: Any = None, rule: Rule = "average"
) -> Piecewise:
    """Quintics through q (points, n) at times t (points,), with continuous acceleration.

    `qd` and `qdd` (points, n) are velocities and accelerations.  Velocity rows that are None follow
    from the `rule`.  Acceleration rows that are None are 0 at the first and last point, and at
    inner points the mean of the accelerations of the adjacent cubics.
    """
    t, q, qd = _states(t, q, qd, rule)
    bends, given = _rows(qdd, q.shape, "qdd")
    qdd = np.where(given[:, None], bends, _accelerations(t, q, qd))
    return Piecewise(
        t, quintic_pieces(np.diff(t), q[:-1], q[1:], qd[:-1], qd[1:], qdd[:-1], qdd[1:])
    )


def automatic_speeds(
    t: Array, q: Array, rule: Rule = "average", qd: Array | None = None, given: Array | None = None
) -> Array:
    """Velocities (points, n) at the via points.

    Where the mask `given` (points,) is True, the velocities are the rows of `qd` (points, n).  The
    other velocities are 0 at the first and last point, and computed by the rule at inner points.
    """
    one_of(rule, RULES, "rule")
    given = np.zeros(len(t), dtype=bool) if given is None else given
    kept = np.zeros_like(q) if qd is None else np.where(given[:, None], qd, 0.0)
    h = np.diff(t)[:, None]
    d = np.diff(q, axis=0) / h
    if rule == "smooth":
        return _spline_speeds(h, d, kept, given)
    before, after = d[:-1], d[1:]
    turning = before * after <= 0.0
    if rule == "average":
        inner = 0.5 * (before + after)
    else:
        w_before, w_after = h[:-1] + 2.0 * h[1:], 2.0 * h[:-1] + h[1:]
        with np.errstate(all="ignore"):
            inner = (w_before + w_after) / (w_before / before + w_after / after)
    found = np.zeros_like(q)
    found[1:-1] = np.where(turning, 0.0, inner)
    return np.where(given[:, None], kept, found)


def _spline_speeds(h: Array, d: Array, kept: Array, given: Array) -> Array:
    """Velocities for which adjacent cubics have equal accelerations at their common point.

    `h` and `d` are the durations and mean velocities of the segments.  The result
    contains the first and last row of `kept` (points, n), and its rows where `given` (points,) is
    True.
    """
    from scipy.linalg import solve_banded

    fixed = given.copy()
    fixed[[0, -1]] = True
    points = len(fixed)
    band = np.zeros((3, points))
    right = kept.copy()
    band[1] = 1.0
    inner = np.flatnonzero(~fixed)
    left_h, right_h = h[inner - 1, 0], h[inner, 0]
    band[2, inner - 1] = right_h
    band[1, inner] = 2.0 * (left_h + right_h)
    band[0, inner + 1] = left_h
    right[inner] = 3.0 * (right_h[:, None] * d[inner - 1] + left_h[:, None] * d[inner])
    return np.asarray(solve_banded((1, 1), band, right))


def _accelerations(t: Array, q: Array, qd: Array) -> Array:
    h = np.diff(t)
    c = cubic_pieces(h, q[:-1], q[1:], qd[:-1], qd[1:])
    first = 2.0 * c[:, 2]
    last = first + 6.0 * h[:, None] * c[:, 3]
    found = np.zeros_like(q)
    found[1:-1] = 0.5 * (last[:-1] + first[1:])
    return found


def _states(t: Any, q: Any, qd: Any, rule: str) -> tuple[Array, Array, Array]:
    one_of(rule, RULES, "rule")
    t = times(t)
    q = table(q, len(t), None, "q")
    speeds, given = _rows(qd, q.shape, "qd")
    return t, q, automatic_speeds(t, q, cast(Rule, rule), speeds, given)


def _rows(value: Any, shape: tuple[int, ...], what: str) -> tuple[Array, Array]:
    """Read values (points, n) whose rows may be None.

    Also return a boolean array (points,) that is True for the given rows.
    """
    points, n = shape
    if value is None:
        return np.zeros((points, n)), np.zeros(points, dtype=bool)
    if not isinstance(value, np.ndarray):
        try:
            value = list(value)
        except TypeError:
            raise BrazoError(f"{what}: expected shape ({points}, {n}); rows may be None") from None
        if any(row is None for row in value):
            if len(value) != points:
                raise BrazoError(f"{what} has {len(value)} rows; expected {points}")
            rows, given = np.zeros((points, n)), np.zeros(points, dtype=bool)
            for k, row in enumerate(value):
                if row is not None:
                    one = np.atleast_1d(array(row, f"{what}[{k}]"))
                    if one.shape != (n,):
                        raise BrazoError(f"{what}[{k}] has shape {one.shape}; expected ({n},)")
                    rows[k], given[k] = one, True
            return rows, given
    return table(value, points, n, what), np.ones(points, dtype=bool)
