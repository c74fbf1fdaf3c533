"""Roots on the circle, against polynomials whose roots are known because they were put there."""

from __future__ import annotations

import numpy as np
import pytest

from brazo.kinematics.closed_form import quartic


def circle_roots(squares: list, linear: np.ndarray) -> np.ndarray:
    """The roots (N, 4) of many polynomials, NaN where they are not real."""
    columns = [(weight, list(part.T)) for weight, part in squares]
    roots = quartic.circle_roots(columns, list(linear.T))
    angles = [np.where(real >= 0, np.arctan2(s, c), np.nan) for (c, s), real in roots]
    return np.stack(angles, axis=1)


def with_roots(angles: np.ndarray) -> list[tuple[float, np.ndarray]]:
    """A function that vanishes at four angles (N, 4), as a product of two lines.

    sin((θ−a)/2) sin((θ−b)/2) is linear in 1, cos θ, sin θ; two such factors make the second degree,
    and u·v = ((u + v)² − (u − v)²)/4 brings it to the form of squares.
    """
    factors = []
    for a, b in ((angles[:, 0], angles[:, 1]), (angles[:, 2], angles[:, 3])):
        middle = 0.5 * (a + b)
        factors.append(np.stack([np.cos(0.5 * (a - b)), -np.cos(middle), -np.sin(middle)], axis=1))
    u, v = factors
    return [(0.25, u + v), (-0.25, u - v)]


def closest(roots: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    away = np.abs(np.exp(1j * roots[:, :, None]) - np.exp(1j * wanted[:, None, :]))
    return np.nanmin(away, axis=1)


def test_four_known_roots_are_found_wherever_they_are() -> None:
    wanted = np.random.default_rng(1).uniform(-np.pi, np.pi, (20_000, 4))
    # Roots closer than this to each other are another matter.
    gaps = np.abs(np.exp(1j * wanted[:, :, None]) - np.exp(1j * wanted[:, None, :])) + 9 * np.eye(4)
    wanted = wanted[gaps.min(axis=(1, 2)) > 1e-2]
    roots = circle_roots(with_roots(wanted), np.zeros((len(wanted), 3)))
    assert closest(roots, wanted).max() < 1e-9
    assert (np.diff(roots, axis=1) > 0).all()


@pytest.mark.parametrize("special", [np.pi, -np.pi, 0.0, np.pi / 2])
def test_roots_where_the_half_angle_tangent_is_infinite_or_zero(special: float) -> None:
    wanted = np.array([[special, 1.0, -2.0, 0.3]])
    roots = circle_roots(with_roots(wanted), np.zeros((1, 3)))
    assert closest(roots, wanted).max() < 1e-14


def test_double_roots_are_found_twice_to_half_the_digits() -> None:
    rng = np.random.default_rng(2)
    wanted = rng.uniform(-np.pi, np.pi, (500, 3))
    wanted = np.column_stack([wanted, wanted[:, 0]])
    roots = circle_roots(with_roots(wanted), np.zeros((500, 3)))
    clear = np.abs(np.exp(1j * wanted[:, [1, 2]]) - np.exp(1j * wanted[:, :1])).min(axis=1) > 0.3
    assert closest(roots, wanted)[clear].max() < 1e-6


def test_positive_functions_have_no_roots() -> None:
    part = np.random.default_rng(3).normal(size=(200, 3))
    linear = np.zeros((200, 3))
    linear[:, 0] = 1e-3
    assert np.isnan(circle_roots([(1.0, part), (2.0, part[::-1])], linear)).all()
