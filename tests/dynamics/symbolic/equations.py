"""Derived once and shared by the tests of this folder, with the states they are tried at."""

from __future__ import annotations

from functools import cache

import numpy as np

import brazo
from brazo.dynamics.symbolic import Equations, derive

WITH_MASSES = (
    "puma560",
    "puma560-drives",
    "srm1",
    "srm1-printed",
    "scara1",
    "scara2",
    "panda",
)


@cache
def robot(name: str) -> brazo.Robot:
    return brazo.load(name)


def equations(name: str, parameters: str = "symbolic", form: str = "auto") -> Equations:
    return _derived(name, parameters, form)  # the arguments in full, so that each is derived once


@cache
def _derived(name: str, parameters: str, form: str) -> Equations:
    if form == "recursive" and (automatic := _derived(name, parameters, "auto")).form == form:
        return automatic
    return derive(robot(name), parameters, form)  # type: ignore[arg-type]


def states(n: int, count: int = 30, seed: int = 7) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random q, qd, qdd (count, n)."""
    rng = np.random.default_rng(seed)
    return tuple(rng.uniform(-3.0, 3.0, (3, count, n)))  # type: ignore[return-value]


def close(got, wanted, relative: float) -> bool:
    """Equal but for `relative` of the largest entry."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.shape == wanted.shape
    return bool(np.abs(got - wanted).max() <= relative * max(np.abs(wanted).max(), 1e-3))
