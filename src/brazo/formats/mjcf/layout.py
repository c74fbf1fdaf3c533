"""Layout of a tree robot in MuJoCo, for files (`writer`) and for cells (`brazo.world.tree`).

MuJoCo bodies can have any frame, so they keep those of the model: body i is placed in its parent at

    before · after   (q = 0),      with its joint at  −Rᵀ t  along  Rᵀ a,      after = [R t],

and `xpos`, `xmat` are the frames of the model.
"""

from __future__ import annotations

from collections.abc import Container

from brazo.model.description import Array, Joint, TreeModel

APART = 2  # joints; bodies up to this far apart overlap at their joints by design


def axis_and_place(joint: Joint, after: Array) -> tuple[Array, Array]:
    """Return the axis (3,) and a point (3,) of a joint in the body that `after` leads to."""
    R, t = after[:3, :3], after[:3, 3]
    return R.T @ joint.axis, -R.T @ t


def near_carriers(model: TreeModel, i: int, folded: Container[int] = ()) -> list[int]:
    """Return the ancestors of body i up to `APART` joints away, not counting those in `folded`."""
    found: list[int] = []
    while len(found) < APART and (i := model.bodies[i].parent) >= 0:
        if i not in folded:
            found.append(i)
    return found
