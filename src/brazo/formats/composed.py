"""Planar and floating joints as a series of joints with one degree of freedom each.

    planar    translations along two axes in the plane, then a rotation about the plane's normal
    floating  translations along x, y and z, then rotations about x, y and z

The links between the joints are massless.  The rotations of a floating joint by the angles q1, q2
and q3 give R = Rx(q1) Ry(q2) Rz(q3).  At q2 = ±90° the first and last rotation axes coincide.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from brazo.formats.assembly import Connection, FileLink
from brazo.model.description import Array, Inertia, frozen
from brazo.model.transforms import align_z

MASSLESS = Inertia(0.0, frozen(np.zeros(3)), frozen(np.zeros((3, 3))))
_X, _Y, _Z = np.eye(3)
_STEPS: dict[str, tuple[tuple[str, Literal["revolute", "prismatic"], Array], ...]] = {
    "planar": (("x", "prismatic", _X), ("y", "prismatic", _Y), ("theta", "revolute", _Z)),
    "floating": (
        *((word, "prismatic", axis) for word, axis in zip("xyz", np.eye(3), strict=True)),
        *((f"r{word}", "revolute", axis) for word, axis in zip("xyz", np.eye(3), strict=True)),
    ),
}
COMPOSED = tuple(_STEPS)


def composed(
    whole: Connection, kind: str, normal: Array
) -> tuple[list[Connection], list[FileLink]]:
    """Return the joints that replace a planar or floating joint, and the links between them.

    `whole` is the joint to replace, and `kind` is "planar" or "floating".  `normal` (3,) is the
    normal of the plane of a planar joint, in the joint frame; it is ignored for a floating joint.
    If the normal is z, the two translations are along x and y of the joint frame.
    """
    turned = align_z(normal)[:3, :3] if kind == "planar" else np.eye(3)
    connections: list[Connection] = []
    links: list[FileLink] = []
    parent = whole.parent
    for word, how, axis in _STEPS[kind]:
        name = f"{whole.name}/{word}"
        child = whole.child if word == _STEPS[kind][-1][0] else f"{whole.child}/{name}"
        connections.append(
            replace(
                whole,
                name=name,
                parent=parent,
                child=child,
                kind=how,
                axis=turned @ axis,
                before=None if connections else whole.before,
            )
        )
        if child != whole.child:
            links.append(FileLink(child, inertia=MASSLESS, source=whole.source))
        parent = child
    return connections, links
