"""Conversion of user input to arrays of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from brazo.errors import BrazoError


def float_array(value: Any, what: str) -> np.ndarray:
    """Convert `value` to a new float array; `what` names the value in error messages."""
    try:
        return np.array(value, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise BrazoError(f"{what}: not an array of numbers ({error})") from None
