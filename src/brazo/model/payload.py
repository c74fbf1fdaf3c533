"""Payload at the tool, as part of the body that carries it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from brazo.errors import BrazoError
from brazo.model.description import DeltaModel, Inertia, Model, TreeModel, frozen
from brazo.model.inertia import merge, transformed


def carrying(
    rebuild: Callable[[Mapping[str, float]], Model], mass: float, com, inertia
) -> Carrying:
    """Return a `rebuild` with a load in the tool frame: `com` (3,), `inertia` (3,) or (3, 3)."""
    try:
        mass = float(mass)
        c, tensor = np.array(com, dtype=float), np.array(inertia, dtype=float)
    except (TypeError, ValueError) as error:
        raise BrazoError(f"payload: not numbers ({error})") from None
    tensor = np.diag(tensor) if tensor.shape == (3,) else tensor
    values = np.concatenate([[mass], c.ravel(), tensor.ravel()])
    if c.shape != (3,) or tensor.shape != (3, 3) or not np.isfinite(values).all() or mass < 0.0:
        raise BrazoError(
            "payload: wanted a mass of at least 0, com (3,) and inertia (3,) or (3, 3), all finite"
        )
    return Carrying(rebuild, Inertia(float(mass), frozen(c), frozen(tensor)))


@dataclass(frozen=True, eq=False)
class Carrying:
    """`rebuild` of a robot with a load."""

    rebuild: Callable[[Mapping[str, float]], Model]  # of the robot without the load
    load: Inertia  # in the tool frame

    def __call__(self, overrides: Mapping[str, float]) -> Model:
        return self.loaded(self.rebuild(overrides))

    def loaded(self, model: Model) -> Model:
        """Return the model with the load merged into the body that carries it."""
        load = self.load
        if isinstance(model, DeltaModel):
            if model.platform_mass is None:
                raise BrazoError(f"robot '{model.name}' is kinematic only: it cannot feel a load")
            return replace(model, platform_mass=model.platform_mass + load.mass)
        assert isinstance(model, TreeModel)
        tip = model.bodies[model.tip]
        if tip.inertia is None:
            raise BrazoError(f"robot '{model.name}' is kinematic only: it cannot feel a load")
        held = merge(tip.inertia, transformed(load, model.tool))
        bodies = list(model.bodies)
        bodies[model.tip] = replace(tip, inertia=held)
        return replace(model, bodies=tuple(bodies))
