"""Arithmetic of angles that are represented by (cos, sin), for any scalar type.

A `Pair` (cos, sin) is a unit complex number: multiplying pairs adds their angles. Closed forms
compute with pairs and need only one arc tangent per joint, at the end, for the angle in (−π, π].
Scalars are floats, NumPy arrays or graph nodes (`brazo.codegen.ring`).
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
    """Return (cos, sin) of an angle."""
    s, c = sincos(angle)
    return c, s


def angle_of(a: Pair) -> Scalar:
    """Return the angle in (−π, π] of (cos, sin), or of any positive multiple of this pair."""
    return atan2(a[1], a[0])


def times(a: Pair, b: Pair) -> Pair:
    """Return (cos, sin) of the sum of two angles (the product of complex numbers)."""
    return a[0] * b[0] - a[1] * b[1], a[1] * b[0] + a[0] * b[1]


def back(a: Pair) -> Pair:
    """Return (cos, sin) of the negative angle."""
    return a[0], -a[1]


def opposite(a: Pair) -> Pair:
    """Return (cos, sin) of the angle plus π."""
    return -a[0], -a[1]


def select(test: Scalar, a: Vector, b: Vector) -> Any:
    """Return `a` where `test` ≥ 0, otherwise `b`, element by element."""
    return tuple(where(test, x, y) for x, y in zip(a, b, strict=True))


def length(*x: Scalar) -> Scalar:
    """Euclidean norm of the components."""
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
    """Return the unit vector along (x, y), or `free` where (x, y) is not longer than `negligible`.

    `r` is the length of (x, y), if the caller has already computed it.
    """
    if r is None:
        r = length(x, y)
    unknown = negligible - r  # ≥ 0 where the direction is not determined
    scale = 1.0 / where(unknown, 1.0, r)
    return where(unknown, free[0], x * scale), where(unknown, free[1], y * scale)


def constant_pair(angle: float) -> Pair:
    """Return (cos, sin) of a constant angle as floats."""
    return math.cos(angle), math.sin(angle)


def root(square: Scalar, scale: Scalar) -> Scalar:
    """Return √square, or 0 where `square` is within the rounding error of terms of size `scale`.

    `square` is a difference that vanishes for a stretched arm. Its rounding error would bend the
    arm by about 1e-8 rad, and later tests would no longer find that axes are collinear.
    """
    return sqrt(where(square - _ROUNDING * scale, square, 0.0))


def both_roots(
    A: Scalar, B: Scalar, C: Scalar, free: Pair = (1.0, 0.0), negligible: float = 0.0
) -> tuple[Pair, Pair]:
    """Return both solutions θ of A cos θ + B sin θ = C, as (cos, sin).

    At the first solution the left side does not increase with θ: −A sin θ + B cos θ ≤ 0. If |C| >
    √(A² + B²), the θ with the smallest error is returned twice. If √(A² + B²) ≤ `negligible`, θ is
    not determined, and `free` and its opposite direction are returned.
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
    """Return Rz(θ) v, where θ is given as (cos, sin)."""
    return [a[0] * v[0] - a[1] * v[1], a[1] * v[0] + a[0] * v[1], v[2]]


def turned_about(b: Sequence[float], a: Pair, x: Vector) -> list[Scalar]:
    """Rotate the vector x about the constant unit vector b by an angle given as (cos, sin)."""
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
    """Return M v for a constant 3 × 3 array M."""
    return [sum_of(row, v) for row in M.tolist()]


def sum_of(row: Sequence[Scalar], v: Vector) -> Scalar:
    """Return the dot product of `row` and v; omit terms in which the entry of `row` is 0.0."""
    total: Scalar = 0.0
    for a, x in zip(row, v, strict=True):
        if not (isinstance(a, float) and a == 0.0):
            total = total + a * x
    return total


def dot2(a: Pair, b: Pair) -> Scalar:
    return a[0] * b[0] + a[1] * b[1]
