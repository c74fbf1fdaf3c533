"""Approximation of a user's function by a Chebyshev series, for exact derivatives.

The Chebyshev series of a smooth function on 0..1 converges rapidly.  The degree is doubled until
the last terms are rounding noise.  If the series does not converge, because the function has a
corner or a jump, an error is raised.  (Trefethen, *Approximation Theory and Approximation
Practice*, 2013.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from brazo.errors import BrazoError, user_place
from brazo.trajectory.reading import array

Array = np.ndarray
_DEGREES = (16, 32, 64, 128, 256)
_NOISE = 1e-13


class Series:
    """Chebyshev series of an array-valued function of x in 0..1."""

    def __init__(self, coefficients: Array, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self._derivatives = [coefficients]
        for _ in range(3):
            # d/dx of a series in 2x − 1.
            self._derivatives.append(2.0 * chebyshev.chebder(self._derivatives[-1]))

    def __call__(self, x: Array, order: int = 0) -> Array:
        """Evaluate the series, or its derivative of an order up to 3, at x (m,).

        The result is (m, *shape).
        """
        values = chebyshev.chebval(2.0 * x - 1.0, self._derivatives[order])
        return values.T.reshape(len(x), *self.shape)


def series(
    function: Callable[[float], Any], what: str, shapes: tuple[tuple[int, ...], ...]
) -> Series:
    """Compute the Chebyshev series of a function of x in 0..1.

    The function must return an array of one of the `shapes`.  `what` is the name of the function in
    error messages.
    """
    known: dict[float, Array] = {}

    def value(x: float) -> Array:
        if x not in known:
            try:
                result = function(x)
            except BrazoError:
                raise
            except Exception as error:
                place = user_place(error)
                where = f" ({place})" if place else ""
                raise BrazoError(f"{what} raised {type(error).__name__}: {error}{where}") from error
            known[x] = array(result, what)
        return known[x]

    shape = value(0.5).shape
    if shape not in shapes:
        wanted = " or ".join(map(str, shapes))
        raise BrazoError(f"{what} returned shape {shape}; expected {wanted}")
    for degree in _DEGREES:
        # Extrema of the polynomial: those of half the degree are among them.
        x = 0.5 - 0.5 * np.cos(np.pi * np.arange(degree + 1) / degree)
        rows = []
        for one in x.tolist():
            row = value(one)
            if row.shape != shape:
                raise BrazoError(f"{what} returned shape {row.shape}, but earlier {shape}")
            rows.append(row.ravel())
        c = _coefficients(np.array(rows))
        scale = max(float(np.abs(c).max()), 1e-300)
        tail = np.abs(c[-degree // 4 :]).max()
        if tail < _NOISE * scale:
            size = np.abs(c).max(axis=1)
            last = int(np.flatnonzero(size > _NOISE * scale)[-1]) if scale > 1e-300 else 0
            # Differentiation would amplify the rounding noise beyond.
            return Series(c[: max(last + 1, 4)], shape)
    raise BrazoError(
        f"{what} is not smooth enough to be differentiated: it has a corner or a jump, or "
        "oscillates "
        "too fast; concatenate several paths, or use via points"
    )


def _coefficients(values: Array) -> Array:
    """Chebyshev coefficients from the values at x = (1 − cos(πk/N))/2, by a cosine transform."""
    N = len(values) - 1
    # The extrema run from −1 to 1; mirrored, the values are those of an even periodic function.
    around = np.concatenate([values[::-1], values[1:-1]])
    c = np.fft.rfft(around, axis=0).real / N
    c[0] *= 0.5
    c[-1] *= 0.5
    return c[: N + 1]
