"""Forward and inverse kinematics, Jacobians and dexterity measures."""

from __future__ import annotations

from brazo.model.description import DeltaModel, Model


def kinematics_of(model: Model):
    """The kinematics of a model of any kind; all kinds have the same interface."""
    if isinstance(model, DeltaModel):
        from brazo.kinematics.delta import DeltaKinematics

        return DeltaKinematics(model)
    from brazo.kinematics.tree import TreeKinematics

    return TreeKinematics(model.require_tree())
