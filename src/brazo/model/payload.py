"""Payload at the tool, as part of the body that carries the tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.model.description import Inertia, Model, frozen


def read_load(mass: Any, com: Any, inertia: Any) -> Inertia:
    """Return a payload as an `Inertia` in the tool frame.

    `mass` is in kg, `com` (3,) is the centre of mass in m, and `inertia` is the tensor about the
    centre of mass (3, 3), or its diagonal (3,), in kg m². Wrong shapes, a negative mass and values
    that are not finite raise a BrazoError.
    """
    try:
        m, c, tensor = float(mass), np.array(com, dtype=float), np.array(inertia, dtype=float)
    except (TypeError, ValueError) as error:
        raise BrazoError(f"payload: mass, com and inertia must be numbers ({error})") from None
    tensor = np.diag(tensor) if tensor.shape == (3,) else tensor
    values = np.concatenate([[m], c.ravel(), tensor.ravel()])
    if c.shape != (3,) or tensor.shape != (3, 3) or not np.isfinite(values).all() or m < 0.0:
        raise BrazoError(
            f"payload: mass {m:g}, com of shape {c.shape}, inertia of shape {tensor.shape}; "
            "expected finite numbers: mass 0 or more, com of shape (3,), inertia of shape (3,) or "
            "(3, 3)"
        )
    return Inertia(m, frozen(c), frozen(tensor))


@dataclass(frozen=True, eq=False)
class Carrying:
    """Function that rebuilds a robot model with a payload."""

    rebuild: Callable[[Mapping[str, float]], Model]  # of the robot without the load
    load: Inertia  # in the tool frame

    def __call__(self, overrides: Mapping[str, float]) -> Model:
        return self.rebuild(overrides).loaded(self.load)
