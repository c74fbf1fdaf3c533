"""Payload at the tool, as part of the body that carries it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.model.description import Inertia, Model, frozen


def read_load(mass: Any, com: Any, inertia: Any) -> Inertia:
    """Check a load in the tool frame: mass, `com` (3,), `inertia` (3,) or (3, 3)."""
    try:
        m, c, tensor = float(mass), np.array(com, dtype=float), np.array(inertia, dtype=float)
    except (TypeError, ValueError) as error:
        raise BrazoError(f"payload: not numbers ({error})") from None
    tensor = np.diag(tensor) if tensor.shape == (3,) else tensor
    values = np.concatenate([[m], c.ravel(), tensor.ravel()])
    if c.shape != (3,) or tensor.shape != (3, 3) or not np.isfinite(values).all() or m < 0.0:
        raise BrazoError(
            "payload: the mass must be at least 0, com (3,) and inertia (3,) or (3, 3), all finite"
        )
    return Inertia(m, frozen(c), frozen(tensor))


@dataclass(frozen=True, eq=False)
class Carrying:
    """Callable that rebuilds a robot with a load."""

    rebuild: Callable[[Mapping[str, float]], Model]  # of the robot without the load
    load: Inertia  # in the tool frame

    def __call__(self, overrides: Mapping[str, float]) -> Model:
        return self.rebuild(overrides).loaded(self.load)
