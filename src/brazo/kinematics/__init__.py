"""Where a robot's links are, how they move, and which joint values reach a pose."""

from __future__ import annotations

from brazo.model.description import DeltaModel, Model, TreeModel


def kinematics_of(model: Model):
    """The kinematics of a model, whatever its kind; both kinds have the same face."""
    if isinstance(model, DeltaModel):
        from brazo.kinematics.delta import DeltaKinematics

        return DeltaKinematics(model)
    from brazo.kinematics.tree import TreeKinematics

    assert isinstance(model, TreeModel)
    return TreeKinematics(model)
