"""Attachments: grippers and tools on the flange of a robot, described in the cell file.

The pose `mount` of an attachment is relative to the tool frame that the robot has without the
attachment.  The z axis of `mount` points away from the flange.  With the attachment, the tool frame
relative to the last link is

    T_link_tool = T_link_oldtool · mount · translate(z = length)

For robots with a D-H table, the default `mount` is the face of the drawn flange.  (In some tables,
such as that of the Puma 560, the tool frame is at the wrist centre inside the arm.)  For other
robots, the default `mount` is the identity.

A gripper consists of a palm and two fingers that slide along y; the palm is half as long as the
fingers.  Its tool frame is between the fingers, at 0.7 of their length, as for grippers in robot
files.  A tool is a cylinder with the tool frame at its end.  The inertia of the attachment, a
uniform box or cylinder, is added to the link that carries it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from brazo.body.drawing import DrawnParts
from brazo.body.ends import GRASP, PALM
from brazo.errors import BrazoError
from brazo.model.description import (
    IDENTITY,
    Array,
    Gripper,
    Inertia,
    Model,
    Part,
    TreeModel,
    frozen,
)
from brazo.model.inertia import merge, shape_tensor, transformed
from brazo.model.shapes import Box, Cylinder
from brazo.model.transforms import invert, rot_x, translate

DARK = (0.23, 0.25, 0.29)
STEEL = (0.78, 0.80, 0.83)


@dataclass(frozen=True, slots=True, eq=False)
class AttachedGripper:
    """A two-finger gripper on the flange of a robot."""

    gripper: Gripper = Gripper()
    mass: float = 0.5  # kg
    mount: Array | None = None  # (4, 4), see the module docstring; None: on the flange

    @property
    def palm(self) -> tuple[float, float, float]:
        """Size of the palm (m) along x, y and z."""
        x, y, z = self.gripper.finger
        return (max(1.6 * x, 0.04), self.gripper.opening[1] + 2.0 * y + 0.5 * x, PALM * z)

    @property
    def length(self) -> float:
        """Distance (m) from the flange to the tool frame."""
        return self.palm[2] + GRASP * self.gripper.finger[2]

    @property
    def parts(self) -> tuple[Part, ...]:
        """Palm and fingers, in the frame of `mount`."""
        x, y, z = self.gripper.finger
        palm, opening = self.palm, self.gripper.opening[1]
        finger = Box((x, y, z), 0.1 * min(x, y))
        found = [
            Part("gripper", Box(palm, 0.15 * min(palm)), frozen(translate(z=palm[2] / 2)), DARK)
        ]
        for side, sign in (("left", 1.0), ("right", -1.0)):
            at = translate(y=sign * (opening + y) / 2, z=palm[2] + z / 2)
            found.append(Part(f"finger {side}", finger, frozen(at), STEEL))
        return tuple(found)

    @property
    def inertia(self) -> Inertia:
        """Inertia of a uniform box, in the frame of `mount`.

        The box has the width and depth of the palm, and the length of palm and fingers together.
        """
        x, y, palm = self.palm
        length = palm + self.gripper.finger[2]
        tensor = shape_tensor("box", self.mass, (x, y, length))
        return Inertia(self.mass, frozen([0.0, 0.0, length / 2]), frozen(tensor))


@dataclass(frozen=True, slots=True, eq=False)
class AttachedTool:
    """A cylindrical tool on the flange of a robot, such as a pen, a probe or a torch."""

    length: float = 0.10  # m, from the flange to the tool frame
    radius: float = 0.008  # m
    mass: float = 0.2  # kg
    mount: Array | None = None  # (4, 4), see the module docstring; None: on the flange

    @property
    def gripper(self) -> None:
        """None, because a tool has no fingers."""
        return None

    @property
    def parts(self) -> tuple[Part, ...]:
        """The cylinder, in the frame of `mount`."""
        shape = Cylinder(self.radius, self.length, 0.1 * min(self.radius, self.length))
        return (Part("attached tool", shape, frozen(translate(z=self.length / 2)), DARK),)

    @property
    def inertia(self) -> Inertia:
        """Inertia of the cylinder, in the frame of `mount`."""
        tensor = shape_tensor("cylinder", self.mass, (self.radius, self.length))
        return Inertia(self.mass, frozen([0.0, 0.0, self.length / 2]), frozen(tensor))


Attachment = AttachedGripper | AttachedTool


def with_attachment(model: Model, attachment: Attachment) -> TreeModel:
    """Return the model of the robot with a gripper or tool on its flange."""
    if model.gripper is not None:
        raise BrazoError(
            f"robot '{model.name}' has a gripper in its robot file, so nothing can be attached; "
            "edit that gripper, or use a robot without one"
        )
    tree = model.require_tree("a gripper or tool can only be attached to a serial or tree robot")
    mount = flange_face(tree) if attachment.mount is None else attachment.mount
    flange = tree.tool @ mount
    tip = tree.bodies[tree.tip]
    added = tuple(replace(one, pose=frozen(flange @ one.pose)) for one in attachment.parts)
    inertia = tip.inertia
    if inertia is not None and attachment.mass:
        inertia = merge(inertia, transformed(attachment.inertia, flange))
    parts = DrawnParts(partial(_joined, tip.parts, added)).parts(0)
    bodies = list(tree.bodies)
    bodies[tree.tip] = replace(tip, parts=parts, inertia=inertia)
    return replace(
        tree,
        bodies=tuple(bodies),
        tool=frozen(flange @ translate(z=attachment.length)),
        gripper=attachment.gripper,
    )


def flange_face(model: TreeModel) -> Array:
    """Return the pose (4, 4) of the face of the drawn flange, relative to the tool frame.

    The face is the side with the bolts.  The z axis of the pose points out of the face.  If no
    flange is drawn, the result is the identity.
    """
    parts = {part.name: part for part in model.bodies[model.tip].parts}
    if "tool flange" not in parts or "tool flange bolts" not in parts:
        return IDENTITY
    back = invert(model.tool)
    disc, bolts = (back @ parts[f"tool flange{name}"].pose for name in ("", " bolts"))
    face = translate(z=float(bolts[2, 3]))
    return frozen(face if bolts[2, 3] >= disc[2, 3] else face @ rot_x(math.pi))


def _joined(own: Sequence[Part], added: tuple[Part, ...]) -> list[tuple[Part, ...]]:
    return [(*own, *added)]
