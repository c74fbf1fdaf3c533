"""Validation of vectors and trajectory functions; error messages name joint and time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from brazo.arrays import float_array
from brazo.errors import BrazoError, user_place

Trajectory = Callable[[float], Any]


class JointsToRead(Protocol):
    """Protocol of the robot attributes that this module uses."""

    @property
    def n(self) -> int: ...
    @property
    def joint_names(self) -> Sequence[str]: ...


def read_vector(value: Any, robot: JointsToRead, what: str) -> np.ndarray:
    """Convert an array-like value to a new array (n,) of finite floats.

    `what` names the value in error messages.
    """
    array = float_array(value, what)
    if array.shape != (robot.n,):
        raise BrazoError(f"{what} has shape {array.shape}; expected ({robot.n},)")
    refuse_nonfinite(array, robot, what)
    return array


def refuse_nonfinite(values: np.ndarray, robot: JointsToRead, what: str) -> None:
    """Raise an error for the first joint whose value is NaN or infinite."""
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        i = int(bad[0])
        raise BrazoError(
            f"{what} of joint {i + 1} ({robot.joint_names[i]}) is {values[i]}; "
            "every value must be finite"
        )


def sample_trajectory(trajectory: Trajectory, t: np.ndarray, robot: JointsToRead) -> np.ndarray:
    """Evaluate `trajectory(t) -> (q, qd, qdd)` at the times t (m,); return an array (3, m, n)."""
    if not callable(trajectory):
        raise BrazoError(
            f"trajectory is a {type(trajectory).__name__}; expected a function t -> (q, qd, qdd), "
            f"each of shape ({robot.n},)"
        )
    samples = np.empty((3, len(t), robot.n))
    for k, now in enumerate(t.tolist()):
        samples[:, k] = _sample(trajectory, now, robot)
    return samples


def raised(what: str, t: float, error: Exception) -> str:
    """Error message for an exception in a user's function, with the line in the user's file."""
    place = user_place(error)
    where = f" ({place})" if place else ""
    return f"{what} raised {type(error).__name__} at t = {t:g} s: {error}{where}"


def _sample(trajectory: Trajectory, t: float, robot: JointsToRead) -> list[np.ndarray]:
    try:
        value = trajectory(t)
    except BrazoError:
        raise
    except Exception as error:
        raise BrazoError(raised("trajectory(t)", t, error)) from error
    what = f"trajectory(t) at t = {t:g} s"
    # Three numbers are one vector of a robot with three joints, not q, qd and qdd.
    rows = isinstance(value, (tuple, list)) or (isinstance(value, np.ndarray) and value.ndim > 1)
    if not rows or len(value) != 3:
        shape = f" of shape {value.shape}" if isinstance(value, np.ndarray) else ""
        raise BrazoError(
            f"{what} returned {type(value).__name__}{shape}; "
            f"expected 3 vectors: q, qd, qdd, each of shape ({robot.n},)"
        )
    parts = zip(("q", "qd", "qdd"), value, strict=True)
    return [read_vector(part, robot, f"{what}: {name}") for name, part in parts]
