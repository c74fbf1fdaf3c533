"""Finite ranges for random configurations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def sampling_box(limits: np.ndarray, kinds: Sequence[str]) -> np.ndarray:
    """Return bounds (n, 2): the joint limits, or ±π rad or ±1 m for joints without limits.

    For a joint with one limit, the bounds are the limit and the value 2π rad or 2 m from it.
    """
    half = np.array([np.pi if kind == "revolute" else 1.0 for kind in kinds])
    box = np.array(limits, dtype=float).reshape(-1, 2)
    low, high = box[:, 0].copy(), box[:, 1].copy()
    no_low, no_high = ~np.isfinite(low), ~np.isfinite(high)
    box[:, 0] = np.where(no_low, np.where(no_high, -half, high - 2 * half), low)
    box[:, 1] = np.where(no_high, np.where(no_low, half, low + 2 * half), high)
    return box
