"""Zeros of a trigonometric polynomial of second degree, for any scalar type.

    f(θ) = Σ wₖ (aₖ + bₖ cos θ + cₖ sin θ)² + (a + b cos θ + c sin θ) = 0        up to four θ

With t = tan((θ − θ₀)/2), f is a quartic in t whose leading coefficient is f(θ₀ + π). θ₀ is chosen
where this value is large, so that no root is lost at infinity. A shift of t by a constant removes
the cubic term. The result y⁴ + p y² + q y + r is the product of (y² + α y + β) and (y² − α y + γ)
(Descartes 1637). α² is a root u ≥ 0 of

    u³ + 2 p u² + (p² − 4 r) u − q² = 0,

and β, γ are the roots of w² − (p + u) w + r. Halley steps on f correct the angles.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from brazo.codegen.ring import absolute, atan2, maximum, minimum, sqrt, where
from brazo.kinematics.closed_form.pairs import Pair, constant_pair, times

Scalar = Any
Coefficients = Sequence[Scalar]  # of 1, cos, sin, cos², cos·sin, sin²

_SHIFTS = [constant_pair(k * math.pi / 4) for k in range(8)]
_CUBIC_STEPS = 50
# Rounding makes a double real root complex, with an imaginary part of the order of its square root.
_REAL = 1e-5
_MISSING = 9.0  # sorted behind all angles


def circle_roots(
    squares: Sequence[tuple[float, Sequence[Scalar]]], linear: Sequence[Scalar]
) -> list[tuple[Pair, Scalar]]:
    """Return four pairs (θ, real), in ascending order of θ in (−π, π]; θ is given as (cos, sin).

    θ is a zero of f only where real ≥ 0; other θ come last. `squares` contains the weight wₖ and
    the coefficients aₖ, bₖ, cₖ of each squared term, and `linear` the coefficients a, b, c (see
    f(θ) in the module docstring).
    """
    f: list[Scalar] = [*linear, 0.0, 0.0, 0.0]
    for weight, (a, b, c) in squares:
        parts = (a * a, 2 * a * b, 2 * a * c, b * b, 2 * b * c, c * c)
        f = [x + weight * part for x, part in zip(f, parts, strict=True)]
    shift, lead = _SHIFTS[0], absolute(_value(f, (-1.0, 0.0)))
    for pair in _SHIFTS[1:]:
        value = absolute(_value(f, (-pair[0], -pair[1])))
        larger = value - lead
        lead = maximum(lead, value)
        shift = where(larger, pair[0], shift[0]), where(larger, pair[1], shift[1])
    roots = []
    for t, real in _quartic(_tangent_coefficients(_rotated(f, shift))):
        d = 1.0 / (1.0 + t * t)
        theta = times(((1.0 - t * t) * d, 2.0 * t * d), shift)
        for _ in range(3):
            theta = _corrected(f, theta)
        roots.append((theta, real))
    return _sorted(roots)


def _value(f: Coefficients, theta: Pair) -> Scalar:
    c, s = theta
    return f[0] + c * (f[1] + f[3] * c + f[4] * s) + s * (f[2] + f[5] * s)


def _corrected(f: Coefficients, theta: Pair) -> Pair:
    """Return θ after one Halley step towards a zero of f, also stable if two zeros are close."""
    c, s = theta
    value = _value(f, theta)
    double, twice = c * c - s * s, s * c
    slope = f[2] * c - f[1] * s + 2.0 * (f[5] - f[3]) * twice + f[4] * double
    bend = -f[1] * c - f[2] * s + 2.0 * (f[5] - f[3]) * double - 4.0 * f[4] * twice
    below = 2.0 * slope * slope - value * bend
    none = -absolute(below)
    step = where(none, 0.0, 2.0 * value * slope / where(none, 1.0, below))
    d = -maximum(minimum(step, 1e-3), -1e-3)
    # Sine and cosine of an angle below 1e-3, to rounding.
    d2 = d * d
    turn = 1.0 - d2 * (0.5 - d2 * (1.0 / 24.0)), d * (1.0 - d2 * (1.0 / 6.0 - d2 * (1.0 / 120.0)))
    return times(theta, turn)


def _rotated(f: Coefficients, shift: Pair) -> list[Scalar]:
    """Return the coefficients of the same polynomial as a function of θ − shift."""
    c, s = shift
    return [
        f[0],
        f[1] * c + f[2] * s,
        f[2] * c - f[1] * s,
        f[3] * c * c + f[4] * s * c + f[5] * s * s,
        2.0 * (f[5] - f[3]) * s * c + f[4] * (c * c - s * s),
        f[3] * s * s - f[4] * s * c + f[5] * c * c,
    ]


def _tangent_coefficients(f: Coefficients) -> list[Scalar]:
    """Return a₀ to a₃ of the quartic in tan(θ/2), divided by the leading coefficient."""
    # cos θ = (1 − t²)/(1 + t²), sin θ = 2t/(1 + t²), all times (1 + t²)².
    c4 = f[0] - f[1] + f[3]
    over = 1.0 / where(-absolute(c4), 1.0, c4)
    return [
        (f[0] + f[1] + f[3]) * over,
        2.0 * (f[2] + f[4]) * over,
        (2.0 * f[0] - 2.0 * f[3] + 4.0 * f[5]) * over,
        2.0 * (f[2] - f[4]) * over,
    ]


def _quartic(a: Sequence[Scalar]) -> list[tuple[Scalar, Scalar]]:
    """Return four pairs (t, real); t is a root of t⁴ + a₃ t³ + a₂ t² + a₁ t + a₀ if real ≥ 0."""
    h = 0.25 * a[3]
    h2 = h * h
    p = a[2] - 6.0 * h2
    q = a[1] - 2.0 * a[2] * h + 8.0 * h * h2
    r = a[0] - a[1] * h + a[2] * h2 - 3.0 * h2 * h2
    b, c, d = 2.0 * p, p * p - 4.0 * r, -q * q
    # Newton steps, replaced by bisection where they leave the bracket.
    low: Scalar = 0.0
    u = high = 1.0 + maximum(maximum(absolute(b), absolute(c)), absolute(d))
    for _ in range(_CUBIC_STEPS):
        value = ((u + b) * u + c) * u + d
        slope = (3.0 * u + 2.0 * b) * u + c
        low, high = where(value, low, u), where(value, u, high)
        step = u - value / where(-absolute(slope), 1.0, slope)
        u = where(minimum(step - low, high - step), step, 0.5 * (low + high))
    u = maximum(u, 0.0)
    alpha = sqrt(u)
    middle = 0.5 * (p + u)
    apart = sqrt(maximum(middle * middle - r, 0.0))
    apart = where(q, apart, -apart)
    roots = []
    for centre, last in ((-0.5 * alpha, middle - apart), (0.5 * alpha, middle + apart)):
        square = 0.25 * u - last
        root = sqrt(maximum(square, 0.0))
        for y in (centre + root, centre - root):
            t = y - h
            slack = _REAL * (1.0 + t * t)
            roots.append((t, square + slack * slack))
    return roots


def _sorted(roots: list[tuple[Pair, Scalar]]) -> list[tuple[Pair, Scalar]]:
    """Sort the four roots by angle; roots that are not real come last."""
    rows = [
        [where(real, atan2(theta[1], theta[0]), _MISSING), theta[0], theta[1], real]
        for theta, real in roots
    ]
    for i, j in ((0, 1), (2, 3), (0, 2), (1, 3), (1, 2)):
        swap = rows[i][0] - rows[j][0]
        low = [where(swap, b, a) for a, b in zip(rows[i], rows[j], strict=True)]
        rows[j] = [where(swap, a, b) for a, b in zip(rows[i], rows[j], strict=True)]
        rows[i] = low
    return [((c, s), real) for _, c, s, real in rows]
