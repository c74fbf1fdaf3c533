"""Angles θ at which a trigonometric polynomial of second degree vanishes, for many at once.

    f(θ) = Σ wₖ (aₖ + bₖ cos θ + cₖ sin θ)² + (a + b cos θ + c sin θ) = 0        up to four θ

With t = tan((θ − θ₀)/2) it is a quartic in t whose leading coefficient is f(θ₀ + π).  θ₀ is
chosen, for each polynomial, where that value is large, so no root is lost at infinity.  The
roots are the eigenvalues of the companion matrix, then corrected by Newton steps on f itself.
"""

from __future__ import annotations

import math

import numpy as np

Array = np.ndarray

_SHIFTS = np.arange(8) * (math.pi / 4)
# Two roots that have met leave the real axis by the square root of rounding.
_REAL = 1e-5


def circle_roots(squares: list[tuple[float, Array]], linear: Array) -> Array:
    """The real roots θ in ascending order, NaN where there are fewer than four: (N, 3) -> (N, 4).

    `squares` holds pairs of a weight and the coefficients (N, 3) of 1, cos θ, sin θ to be squared;
    `linear` the coefficients of the part that is not.
    """
    # Coefficients of 1, cos, sin, cos², cos·sin, sin².
    f = np.zeros((len(linear), 6))
    f[:, :3] = linear
    for weight, part in squares:
        a, b, c = weight * part[:, :1], part[:, 1:2], part[:, 2:]
        b2, c2 = weight * b, weight * c
        f += np.hstack([a * part[:, :1], 2 * a * b, 2 * a * c, b2 * b, 2 * b2 * c, c2 * c])
    lead = np.stack([_value(f, shift + math.pi) for shift in _SHIFTS], axis=1)
    shift = _SHIFTS[np.argmax(np.abs(lead), axis=1)]
    tangents = np.linalg.eigvals(_companion(_rotated(f, shift)))
    theta = shift[:, None] + 2 * np.arctan(tangents.real)
    real = np.abs(tangents.imag) <= _REAL * (1 + tangents.real**2)
    for _ in range(3):
        value, slope, bend = _value(f, theta), _slope(f, theta), _bend(f, theta)
        # Halley's step, which also behaves where two roots are close and the slope is small.
        denominator = 2 * slope**2 - value * bend
        step = np.divide(
            2 * value * slope, denominator, out=np.zeros_like(theta), where=denominator != 0
        )
        theta = theta - np.clip(step, -1e-3, 1e-3)
    theta = theta - 2 * math.pi * np.round(theta / (2 * math.pi))
    return np.sort(np.where(real, theta, np.nan), axis=1)


def _value(f: Array, theta) -> Array:
    s, c = np.sin(theta), np.cos(theta)
    f0, fc, fs, fcc, fcs, fss = _columns(f, theta)
    return f0 + c * (fc + fcc * c + fcs * s) + s * (fs + fss * s)


def _slope(f: Array, theta) -> Array:
    s, c = np.sin(theta), np.cos(theta)
    _, fc, fs, fcc, fcs, fss = _columns(f, theta)
    return fs * c - fc * s + 2 * (fss - fcc) * s * c + fcs * (c * c - s * s)


def _bend(f: Array, theta) -> Array:
    s, c = np.sin(theta), np.cos(theta)
    _, fc, fs, fcc, fcs, fss = _columns(f, theta)
    return -fc * c - fs * s + 2 * (fss - fcc) * (c * c - s * s) - 4 * fcs * s * c


def _columns(f: Array, theta) -> Array:
    return f.T[..., None] if np.ndim(theta) == 2 else f.T


def _rotated(f: Array, shift: Array) -> Array:
    """Coefficients in θ' = θ − shift."""
    s, c = np.sin(shift), np.cos(shift)
    f0, fc, fs, fcc, fcs, fss = f.T
    return np.stack(
        [
            f0,
            fc * c + fs * s,
            fs * c - fc * s,
            fcc * c * c + fcs * s * c + fss * s * s,
            2 * (fss - fcc) * s * c + fcs * (c * c - s * s),
            fcc * s * s - fcs * s * c + fss * c * c,
        ],
        axis=1,
    )


def _companion(f: Array) -> Array:
    """Companion matrices (N, 4, 4) of the quartics in tan(θ/2)."""
    f0, fc, fs, fcc, fcs, fss = f.T
    # cos θ = (1 − t²)/(1 + t²), sin θ = 2t/(1 + t²), all times (1 + t²)².
    c4 = f0 - fc + fcc
    c3 = 2 * (fs - fcs)
    c2 = 2 * f0 - 2 * fcc + 4 * fss
    c1 = 2 * (fs + fcs)
    c0 = f0 + fc + fcc
    c4 = np.where(c4 == 0, 1.0, c4)
    matrix = np.zeros((len(f), 4, 4))
    matrix[:, 1:, :3] = np.eye(3)
    matrix[:, :, 3] = -np.stack([c0, c1, c2, c3], axis=1) / c4[:, None]
    return matrix
