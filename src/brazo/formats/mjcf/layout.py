"""Layout of a tree robot in MuJoCo, for files (`writer`) and for cells (`brazo.world.tree`).

The MuJoCo bodies have the same frames as the bodies of the model, so `xpos` and `xmat` are the body
poses of the model.  With a joint (`before`, axis a, `after` = [R t]),

    pose of the body in its parent at q = 0     before · after
    position of the joint in the body frame     −Rᵀ t
    axis of the joint in the body frame         Rᵀ a
"""

from __future__ import annotations

from collections.abc import Container

from brazo.model.description import Array, Joint, TreeModel

APART = 2  # joints; bodies up to this far apart overlap at their joints by design


def axis_and_place(joint: Joint, after: Array) -> tuple[Array, Array]:
    """Return the axis (3,) of a joint and a point (3,) on this axis, in the frame of a body.

    `after` (4, 4) is the pose of the body in the moved joint frame.
    """
    R, t = after[:3, :3], after[:3, 3]
    return R.T @ joint.axis, -R.T @ t


def near_carriers(model: TreeModel, i: int, folded: Container[int] = ()) -> list[int]:
    """Return the `APART` nearest ancestors of body i, or fewer near the base.

    Body i may overlap these bodies.  Bodies in `folded` are skipped, because they have no MuJoCo
    body of their own.
    """
    found: list[int] = []
    while len(found) < APART and (i := model.bodies[i].parent) >= 0:
        if i not in folded:
            found.append(i)
    return found
