"""Scalar functions for algorithms that are written for any scalar type.

Such an algorithm runs on floats, arrays and expression graphs. The scalar types are called *rings*.
Addition, subtraction, multiplication and division use Python's operators. This module contains the
functions without an operator (sine and cosine, angles, square root, rounding, extrema, selection).
Each function accepts these types:

* ``float`` and ``int`` use :mod:`math`;
* NumPy scalars and arrays, ``longdouble`` included, use NumPy;
* other ring elements, such as :class:`~brazo.codegen.graph.Expr` and symbolic rings, have methods
  of the same name (``sincos``, ``atan2``, ``sqrt``, ``rint``, ``minimum``, ``maximum``, ``where``).

``where`` selects by the sign of a value. An algorithm that uses ``where`` instead of ``if`` runs
unchanged on a graph and on a batch.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = [
    "absolute",
    "atan2",
    "maximum",
    "minimum",
    "rint",
    "sign",
    "sincos",
    "sqrt",
    "where",
]

_PLAIN = (float, int)


def sincos(x: Any) -> tuple[Any, Any]:
    """``(sin(x), cos(x))``, x in rad."""
    if type(x) in _PLAIN:
        return math.sin(x), math.cos(x)
    method = getattr(x, "sincos", None)
    if method is not None:
        return method()
    return np.sin(x), np.cos(x)


def atan2(y: Any, x: Any) -> Any:
    """The angle of the point (x, y) in rad, in (-pi, pi]; 0 at the origin. -0 is treated as 0."""
    if type(y) in _PLAIN and type(x) in _PLAIN:
        return math.atan2(y + 0.0, x + 0.0)
    for first in (y, x):
        method = getattr(first, "atan2", None)
        if method is not None:
            return method(y, x)
    return np.arctan2(y + 0.0, x + 0.0)


def rint(x: Any) -> Any:
    """The nearest integer, halves to even; valid for ``|x| < 2**51``."""
    if type(x) in _PLAIN:
        return float(round(x)) if math.isfinite(x) else x
    method = getattr(x, "rint", None)
    if method is not None:
        return method()
    return np.rint(x)


def sqrt(x: Any) -> Any:
    """The square root; NaN for negative values, in every ring."""
    if type(x) in _PLAIN:
        return math.sqrt(x) if x >= 0 else math.nan
    method = getattr(x, "sqrt", None)
    if method is not None:
        return method()
    with np.errstate(invalid="ignore"):
        return np.sqrt(x)


def minimum(a: Any, b: Any) -> Any:
    """The smaller of two values; NaN if either is NaN."""
    return _extremum("minimum", a, b)


def maximum(a: Any, b: Any) -> Any:
    """The larger of two values; NaN if either is NaN."""
    return _extremum("maximum", a, b)


def where(test: Any, a: Any, b: Any) -> Any:
    """``a`` where ``test >= 0``, otherwise ``b`` (also where ``test`` is NaN)."""
    if type(test) in _PLAIN:
        return a if test >= 0 else b
    method = getattr(test, "where", None)
    if method is not None:
        return method(a, b)
    if np.ndim(test) == 0:
        return a if test >= 0 else b
    return np.where(test >= 0, a, b)


def absolute(x: Any) -> Any:
    """``|x|``."""
    return maximum(x, -x)


def sign(x: Any) -> Any:
    """-1, 0 or 1, according to the sign of x; -1 for NaN."""
    return where(x, where(-x, 0.0, 1.0), -1.0)


def _extremum(name: str, a: Any, b: Any) -> Any:
    if type(a) in _PLAIN and type(b) in _PLAIN:
        if a != a or b != b:
            return math.nan
        return (a if a < b else b) if name == "minimum" else (a if a > b else b)
    for first, second in ((a, b), (b, a)):
        method = getattr(first, name, None)
        if method is not None:
            return method(second)
    return getattr(np, name)(a, b)
