"""Validation of user input: numbers, vectors, times and limits as float arrays.

Error messages name the argument (`what`) and give the expected shape or range.  Strings and
booleans such as `"1"` and `True` are not accepted as numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brazo.errors import BrazoError

Array = np.ndarray
_NO_NUMBERS = "bSUmM"  # NumPy kinds: booleans, text, dates


def floats(value: Any, what: str) -> Array:
    """Convert a value to a new float array."""
    try:
        given = np.asarray(value)
        if given.dtype.kind in _NO_NUMBERS:
            wanted = "an array of numbers" if given.ndim else "a number"
            raise BrazoError(f"{what}: not {wanted}: {value!r}")
        return np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise BrazoError(f"{what}: not an array of numbers ({error})") from None


def array(value: Any, what: str) -> Array:
    """Convert a value to a float array of finite numbers."""
    numbers = floats(value, what)
    bad = np.argwhere(~np.isfinite(numbers))
    if len(bad):
        index = tuple(bad[0].tolist())
        place = f"[{', '.join(map(str, index))}]" if index else ""
        raise BrazoError(f"{what}{place} is {numbers[index]}; every value must be finite")
    return numbers


def vector(value: Any, n: int | None, what: str) -> Array:
    """Convert a value to a vector of finite numbers, with n elements if n is given."""
    numbers = array(value, what)
    if numbers.ndim != 1 or (n is not None and len(numbers) != n) or not len(numbers):
        wanted = "a list of numbers" if n is None else f"({n},)"
        raise BrazoError(f"{what} has shape {numbers.shape}; expected {wanted}")
    return numbers


def table(value: Any, rows: int | None, n: int | None, what: str) -> Array:
    """Convert a value to a finite array (rows, n); a flat list of numbers is one column."""
    numbers = array(value, what)
    if numbers.ndim == 1 and n in (None, 1):
        numbers = numbers[:, None]
    if (
        numbers.ndim != 2
        or (rows is not None and len(numbers) != rows)
        or (n is not None and numbers.shape[1] != n)
        or not numbers.size
    ):
        wanted = f"({'points' if rows is None else rows}, {'joints' if n is None else n})"
        raise BrazoError(f"{what} has shape {numbers.shape}; expected {wanted}")
    return numbers


def times(value: Any, what: str = "t") -> Array:
    """Convert a value to at least two strictly increasing times (s)."""
    t = vector(value, None, what)
    if len(t) < 2:
        raise BrazoError(f"{what} has one time; expected at least 2")
    late = np.flatnonzero(np.diff(t) <= 0.0)
    if len(late):
        k = int(late[0])
        raise BrazoError(
            f"{what}[{k + 1}] = {t[k + 1]:g} s is not later than {what}[{k}] = {t[k]:g} s; "
            "times must increase"
        )
    return t


def bounds(value: Any, n: int, what: str, *, finite: bool = False) -> Array:
    """Convert a value to positive limits (n,), which may be infinite unless `finite`.

    The value is one number for all joints, or one per joint.
    """
    numbers = floats(value, what)
    if numbers.shape not in ((), (n,)):
        raise BrazoError(f"{what} has shape {numbers.shape}; expected one number or ({n},)")
    numbers = np.broadcast_to(numbers, (n,)).copy()
    bad = ~(numbers > 0.0) | (~np.isfinite(numbers) if finite else False)
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        wanted = "finite and greater than 0" if finite else "greater than 0"
        raise BrazoError(f"{what} of joint {i + 1} is {numbers[i]:g}; it must be {wanted}")
    return numbers


def rotation(value: Any, what: str) -> Array:
    """Convert a value to a rotation matrix (3, 3)."""
    R = array(value, what)
    if R.shape != (3, 3):
        raise BrazoError(f"{what} has shape {R.shape}; expected a rotation matrix (3, 3)")
    if np.abs(R @ R.T - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0.0:
        raise BrazoError(f"{what} is not a rotation: its axes must be orthonormal and right-handed")
    return R


def pose(value: Any, what: str) -> Array:
    """Convert a value to a pose (4, 4)."""
    T = array(value, what)
    if T.shape != (4, 4):
        raise BrazoError(f"{what} has shape {T.shape}; expected a pose (4, 4)")
    rotation(T[:3, :3], what)
    if T[3].tolist() != [0.0, 0.0, 0.0, 1.0]:
        raise BrazoError(f"{what} is not a pose: its last row must be 0 0 0 1")
    return T


def direction(value: Any, what: str) -> Array:
    """Convert a non-zero vector to a unit vector (3,)."""
    v = vector(value, 3, what)
    length = float(np.linalg.norm(v))
    if length < 1e-12:
        raise BrazoError(f"{what} has length 0; expected a non-zero vector")
    return v / length
