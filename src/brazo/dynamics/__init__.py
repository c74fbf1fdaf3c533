"""Robot dynamics: Newton–Euler, mass matrix, Coriolis, gravity, friction, energy."""

from __future__ import annotations

from brazo.model.description import DeltaModel, Model


def dynamics_of(model: Model):
    """Create the `DeltaDynamics` or `TreeDynamics` of a model; both have the same interface."""
    if isinstance(model, DeltaModel):
        from brazo.dynamics.delta import DeltaDynamics

        return DeltaDynamics(model)
    from brazo.dynamics.tree import TreeDynamics

    return TreeDynamics(model.require_tree())
