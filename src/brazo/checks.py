"""Checks of user input; error messages state what is wrong and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from brazo.errors import BrazoError


def one_of(value: Any, allowed: Iterable[str], what: str) -> None:
    """Raise `BrazoError` unless `value` is in `allowed`; `what` names the value in the message."""
    if value not in allowed:
        raise BrazoError(f"{what} '{value}' is not one of {', '.join(allowed)}")


def positive(value: Any, what: str, *, zero: bool = False) -> float:
    """Return `value` as a finite float greater than 0, or at least 0 with `zero=True`.

    Raise a `BrazoError` for any other value; `what` names the value in the message.
    """
    least = "at least 0" if zero else "greater than 0"
    try:
        if isinstance(value, (bool, np.bool_, str, bytes)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise BrazoError(f"{what} is {value!r}; expected a number {least}") from None
    if not (math.isfinite(number) and (number > 0.0 or (zero and number == 0.0))):
        raise BrazoError(f"{what} is {number:g}; it must be finite and {least}")
    return number
