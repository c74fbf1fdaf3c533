"""Tool centre points from touches, compared with a known tool."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from brazo.errors import BrazoError
from brazo.operate import tcp_from_touches

TIP, POINT = np.array([0.021, -0.034, 0.187]), np.array([0.45, -0.12, 0.31])


def touching(rotations: Rotation) -> np.ndarray:
    """Flange poses with the tip at the point."""
    F = np.tile(np.eye(4), (len(rotations), 1, 1))
    F[:, :3, :3] = rotations.as_matrix()
    F[:, :3, 3] = POINT - F[:, :3, :3] @ TIP
    return F


FOUR = Rotation.from_euler("xyz", [[0, 0, 0], [35, 0, 0], [0, 35, 0], [-20, -20, 90]], degrees=True)


def test_four_touches_give_the_known_tool():
    fit = tcp_from_touches(touching(FOUR))
    assert fit.position == pytest.approx(TIP, abs=1e-14)
    assert fit.point == pytest.approx(POINT, abs=1e-14)
    assert fit.max < 1e-15


def test_the_fit_is_the_least_squares_solution_and_shows_its_residuals():
    rng = np.random.default_rng(3)
    F = touching(Rotation.random(9, random_state=3))
    F[:, :3, 3] += rng.normal(scale=1e-3, size=(9, 3))
    fit = tcp_from_touches(F)

    def total(position, point):
        return np.sum((F[:, :3, :3] @ position + F[:, :3, 3] - point) ** 2)

    least = total(fit.position, fit.point)
    assert least == pytest.approx(np.sum(fit.residuals**2), rel=1e-12)
    assert fit.rms == pytest.approx(np.sqrt(least / 9), rel=1e-12)
    for axis in np.eye(3):  # any other solution is worse
        for step in (-1e-5, 1e-5):
            assert total(fit.position + step * axis, fit.point) > least
            assert total(fit.position, fit.point + step * axis) > least
    assert np.abs(fit.position - TIP).max() < 2e-3


@pytest.mark.parametrize(
    ("rotations", "why"),
    [
        (FOUR[:3], "3 touches of the point: at least 4"),
        (
            Rotation.from_euler("z", [[0], [40], [80], [120]], degrees=True),
            "too similar",
        ),  # about one axis
        (Rotation.from_euler("x", [[0], [0.5], [1], [1.5]], degrees=True), "too similar"),
    ],
)
def test_touches_that_determine_no_tool_are_refused(rotations, why):
    with pytest.raises(BrazoError, match=why):
        tcp_from_touches(touching(rotations))
