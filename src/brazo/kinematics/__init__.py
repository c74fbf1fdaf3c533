"""Forward and inverse kinematics, Jacobians and dexterity measures."""

from __future__ import annotations

from brazo.model.description import DeltaModel, Model


def kinematics_of(model: Model):
    """Return a `DeltaKinematics` for a Delta robot and a `TreeKinematics` for other robots.

    Both classes have the same interface.
    """
    if isinstance(model, DeltaModel):
        from brazo.kinematics.delta import DeltaKinematics

        return DeltaKinematics(model)
    from brazo.kinematics.tree import TreeKinematics

    return TreeKinematics(model.require_tree())
