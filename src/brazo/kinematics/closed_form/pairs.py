"""Angles as pairs (cos, sin), over any scalar: closed forms without intermediate angles.

A pair is a unit complex number: a sum of angles is a product, and one arc tangent at the end gives
the angle in (−π, π].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from brazo.codegen.ring import atan2, maximum, minimum, sincos, sqrt, where

Scalar = Any
Pair = tuple[Scalar, Scalar]
Vector = Sequence[Scalar]

_ROUNDING = 4e-15


def of_angle(angle: Scalar) -> Pair:
    s, c = sincos(angle)
    return c, s


def angle_of(a: Pair) -> Scalar:
    return atan2(a[1], a[0])


def times(a: Pair, b: Pair) -> Pair:
    """The pair of the sum of two angles."""
    return a[0] * b[0] - a[1] * b[1], a[1] * b[0] + a[0] * b[1]


def back(a: Pair) -> Pair:
    """The pair of the negative angle."""
    return a[0], -a[1]


def opposite(a: Pair) -> Pair:
    """The pair half a turn away."""
    return -a[0], -a[1]


def select(test: Scalar, a: Vector, b: Vector) -> Any:
    """`a` where `test` ≥ 0, else `b`, element by element."""
    return tuple(where(test, x, y) for x, y in zip(a, b, strict=True))


def length(*x: Scalar) -> Scalar:
    total: Scalar = 0.0
    for part in x:
        total = total + part * part
    return sqrt(total)


def unit(
    x: Scalar,
    y: Scalar,
    free: Pair = (1.0, 0.0),
    negligible: Scalar = 0.0,
    r: Scalar = None,
) -> Pair:
    """The direction of (x, y); `free` where it is no longer than `negligible`. `r` is its length if
    that is known, e.g. because both roots of an equation have the same."""
    if r is None:
        r = length(x, y)
    known = negligible - r  # ≥ 0 where the direction is not known
    scale = 1.0 / where(known, 1.0, r)
    return where(known, free[0], x * scale), where(known, free[1], y * scale)


def constant_pair(angle: float) -> Pair:
    return math.cos(angle), math.sin(angle)


def root(square: Scalar, scale: Scalar) -> Scalar:
    """The square root of a difference; 0 where it is only rounding error of the terms.

    A stretched arm is then exactly stretched, not bent by the root of the rounding error (1e-8),
    which would hide that other axes are collinear.
    """
    return sqrt(where(square - _ROUNDING * scale, square, 0.0))


def both_roots(
    A: Scalar, B: Scalar, C: Scalar, free: Pair = (1.0, 0.0), negligible: float = 0.0
) -> tuple[Pair, Pair]:
    """Both θ with A cos θ + B sin θ = C.

    First the one where the left side decreases with θ: −A sin θ + B cos θ ≤ 0.  If |C| is too large
    the nearest θ is returned twice.  If A and B are `negligible`, θ is arbitrary: `free` and its
    opposite are returned.
    """
    r = length(A, B)
    vanishing = negligible - r
    C = maximum(minimum(C, r), -r)
    r2 = r * r
    across = root((r - C) * (r + C), r2)
    scale = 1.0 / where(vanishing, 1.0, r2)
    first = (A * C - B * across) * scale, (B * C + A * across) * scale
    second = (A * C + B * across) * scale, (B * C - A * across) * scale
    return select(vanishing, free, first), select(vanishing, opposite(free), second)


def turned(a: Pair, v: Vector) -> list[Scalar]:
    """Rz(angle) v."""
    return [a[0] * v[0] - a[1] * v[1], a[1] * v[0] + a[0] * v[1], v[2]]


def turned_about(b: Sequence[float], a: Pair, x: Vector) -> list[Scalar]:
    """x turned by the angle of a about the constant unit vector b."""
    c, s = a
    along = dot3(b, x) * (1.0 - c)
    return [
        c * x[0] + s * (b[1] * x[2] - b[2] * x[1]) + along * b[0],
        c * x[1] + s * (b[2] * x[0] - b[0] * x[2]) + along * b[1],
        c * x[2] + s * (b[0] * x[1] - b[1] * x[0]) + along * b[2],
    ]


def dot3(a: Vector, b: Vector) -> Scalar:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def times_matrix(M: Any, v: Vector) -> list[Scalar]:
    """M v with a constant 3x3 array M."""
    return [sum_of(row, v) for row in M.tolist()]


def sum_of(row: Sequence[Scalar], v: Vector) -> Scalar:
    """The dot product, exact zeros of a constant row left out in every ring."""
    total: Scalar = 0.0
    for a, x in zip(row, v, strict=True):
        if not (isinstance(a, float) and a == 0.0):
            total = total + a * x
    return total


def dot2(a: Pair, b: Pair) -> Scalar:
    return a[0] * b[0] + a[1] * b[1]
