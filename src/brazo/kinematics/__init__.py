"""Forward and inverse kinematics, Jacobians and dexterity measures."""

from __future__ import annotations

from brazo.model.description import DeltaModel, Model


def kinematics_of(model: Model):
    """Kinematics of a tree robot or a Delta; both classes have the same interface."""
    if isinstance(model, DeltaModel):
        from brazo.kinematics.delta import DeltaKinematics

        return DeltaKinematics(model)
    from brazo.kinematics.tree import TreeKinematics

    return TreeKinematics(model.require_tree())
