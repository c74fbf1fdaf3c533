"""The two ends of an arm: the base on the floor, and the tool flange with neck and gripper."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from brazo.body import layout
from brazo.body.canvas import Canvas, ordinal
from brazo.body.castings import draw_fork
from brazo.body.layout import DrawingPlan, EndFace
from brazo.body.skeleton import Bone, floor_level, upright
from brazo.model.description import Gripper
from brazo.model.shapes import Beam, Box, CircularPattern, Cylinder
from brazo.model.transforms import align_z, translate

GRASP = 0.7  # position of the tool frame along the fingers, as a fraction of their length
PALM = 0.5  # length of the palm over that of the fingers
SHORT_PALM = 0.15  # the same if the tool frame is close to the flange


def draw_base(canvas: Canvas, plan: DrawingPlan) -> None:
    """Draw the base: floor plate with bolts, column, and a top or fork for the first joint.

    The length of the column depends on the height of the first joint.
    """
    bone, r, style = plan.bones[0], plan.r[1], canvas.style
    is_upright = upright(bone)
    if is_upright:
        up = math.copysign(1.0, bone.exit[2, 2])
        frame = bone.exit @ np.diag([1.0, up, up, 1.0])
        axis, place = plan.axes[0], plan.place(1)
        lowest = min(up * (foot + z) for foot in axis.foot for z in place.child)
        top = lowest - (0.1 * r if place.mode == "mast" else layout.hub_length(r))
        floor = floor_level(bone)
    else:
        frame = translate(*bone.exit[:3, 3])
        top, floor = 0.0, -float(bone.exit[2, 3])
        if plan.mode(1) == "fork":
            top = 0.3 * r - layout.fork_length(r)
            draw_fork(canvas, plan, 1, np.array([0.0, 0.0, -1.0]))
        else:
            span, side = plan.place(1).parent, plan.side(1)
            canvas.cylinder(0, "base top", bone.exit, span, r, style.base)
            canvas.cap(0, "base cap", bone.exit, span[0] if side > 0 else span[1], -side, r)
    least = max(style.base_height, layout.base_stack(r)) - layout.hub_length(r)
    floor = min(floor, top - least)
    plate, head = floor + 0.2 * r, top
    if is_upright:
        head -= 0.3 * r
        canvas.cylinder(0, "base top", frame, (head, top), 1.1 * r, style.base, bevel=0.1)
    column = (plate - 0.1 * r, head + (0.05 * r if is_upright else 0.0))
    shape = Beam(column[1] - column[0], (2.4 * r, 2.4 * r), (1.96 * r, 1.96 * r), 1.0)
    canvas.add(0, "base", shape, frame @ translate(z=sum(column) / 2), style.base)
    canvas.cylinder(0, "base plate", frame, (floor, plate), 1.7 * r, style.joint, bevel=0.06)
    bolts = CircularPattern(Cylinder(0.11 * r, 0.16 * r, 0.03 * r), 8, 1.45 * r)
    canvas.add(0, "base bolts", bolts, frame @ translate(z=plate + 0.06 * r), style.steel, False)


def outward(bones: Sequence[Bone], radius: float, tool: np.ndarray, has_gripper: bool) -> float:
    """Return +1 if the tool points along the z axis of the last body's exit frame, otherwise -1.

    The exit frame is at the end of the last D-H row.  `radius` (m) is the radius of the tool
    flange, and `tool` (4, 4) is the pose of the tool in the frame of the last body.  If all axes
    are vertical and there is neither a tool offset nor a gripper, the tool points down.
    """
    if tool[2, 2] < -0.5 or tool[2, 3] < -0.2 * radius:
        return -1.0
    undecided = not has_gripper and abs(tool[2, 3]) < 0.2 * radius
    hanging = upright(bones[0]) and all(bone.parallel for bone in bones[1:])
    upward = math.prod(bone.cosine for bone in bones[1:]) * bones[0].exit[2, 2] > 0.0
    return -1.0 if undecided and hanging and upward else 1.0  # such arms work downward


def tool_end(
    bones: Sequence[Bone], radius: float, tool: np.ndarray, gripper: Gripper | None
) -> EndFace:
    """Return the face where the last body must end so that flange and gripper reach the tool frame.

    See `outward` for the arguments.
    """
    sign = outward(bones, radius, tool, gripper is not None)
    z = float(tool[2, 3]) - sign * (gripper_length(gripper) + flange_thickness(radius))
    flip = math.copysign(1.0, bones[-1].cosine)
    return EndFace(flip * z, flip * sign)


def draw_tool(canvas: Canvas, plan: DrawingPlan, tool: np.ndarray, gripper: Gripper | None) -> None:
    """Draw the flange on the last body, a neck from the flange to the tool, and the gripper."""
    n, style, r = plan.n, canvas.style, plan.r[-1]
    sign = outward(plan.bones, r, tool, gripper is not None)
    frame = plan.bones[n].exit @ np.diag([1.0, sign, sign, 1.0])  # z out of the flange
    face = _last_face(canvas, plan, frame) + flange_thickness(r)
    span = (face - 1.2 * flange_thickness(r), face)
    canvas.cylinder(n, "tool flange", frame, span, r, style.steel, bevel=0.05)
    bolts = CircularPattern(Cylinder(0.1 * r, 0.12 * r, 0.02 * r), 6, 0.72 * r)
    mount = frame @ translate(z=face)
    canvas.add(n, "tool flange bolts", bolts, mount, style.joint, False)
    palm = 0.0
    if gripper is not None:
        room = float((mount[:3, 2] @ (tool[:3, 3] - mount[:3, 3])) / gripper.finger[2] - GRASP)
        palm = min(max(room, SHORT_PALM), PALM) * gripper.finger[2]
    back = tool @ translate(z=-gripper_length(gripper, palm))
    offset = back[:3, 3] - mount[:3, 3]
    length, ahead = float(np.linalg.norm(offset)), float(offset @ mount[:3, 2])
    if ahead < 0.1 * r and length < r + abs(ahead):  # the tool is inside or behind the flange
        back[:3, 3] = mount[:3, 3]
    elif length > 0.02 * r:
        pose = align_z(offset)
        pose[:3, 3] = mount[:3, 3] + offset / 2
        neck = Beam(length + 0.1 * r, (1.1 * r, 1.1 * r), (0.9 * r, 0.9 * r), 1.0, 0.05 * r)
        canvas.add(n, "tool neck", neck, pose, style.joint)
    if gripper is not None:
        _draw_gripper(canvas, plan, back, gripper, palm)


def flange_thickness(radius: float) -> float:
    return 0.3 * radius


def gripper_length(gripper: Gripper | None, palm: float | None = None) -> float:
    """Return the distance (m) from the back of the palm to the tool frame; 0 without a gripper.

    `palm` is the length (m) of the palm; by default it follows from the length of the fingers.
    """
    if gripper is None:
        return 0.0
    return GRASP * gripper.finger[2] + (PALM * gripper.finger[2] if palm is None else palm)


def _last_face(canvas: Canvas, plan: DrawingPlan, frame: np.ndarray) -> float:
    """Return the z coordinate (m) in `frame` at which the last body ends.

    The z axis of `frame` points out of the flange.  If the two axes of the last body are not
    parallel, this function also draws a cylinder from the body to this position.
    """
    n = plan.n
    bone, r0, r1 = plan.bones[n], plan.r[n], plan.r[n + 1]
    if bone.parallel:
        flip = math.copysign(1.0, float(bone.foot[:3, 2] @ frame[:3, 2]))
        return max(flip * z for z in plan.place(n).child)
    face = max(layout.crossing(bone, r0, r1)[1], r0) if plan.mode(n) != "fork" else 1.05 * r0
    name = f"{ordinal(n)} segment"
    canvas.cylinder(n, name, frame, (0.0, face), 0.8 * r1, canvas.style.link)
    return face


def _draw_gripper(
    canvas: Canvas, plan: DrawingPlan, back: np.ndarray, gripper: Gripper, length: float
) -> None:
    """Draw the palm and the fingers of the gripper, at the max opening.

    `back` (4, 4) is the pose of the back of the palm in the frame of the last body; its z axis
    points along the fingers.  `length` (m) is the length of the palm.
    """
    n, style = plan.n, canvas.style
    x, y, z = gripper.finger
    opening = gripper.opening[1]
    palm = (max(1.6 * x, 0.9 * plan.r[-1]), opening + 2.0 * y + 0.5 * x, length)
    shape = Box(palm, 0.15 * min(palm))
    canvas.add(n, "gripper", shape, back @ translate(z=palm[2] / 2), style.joint)
    finger = Box((x, y, z), 0.1 * min(x, y))
    for sign, side in ((1.0, "left"), (-1.0, "right")):
        centre = translate(y=sign * (opening + y) / 2, z=palm[2] + z / 2)
        canvas.add(n, f"finger {side}", finger, back @ centre, style.steel)
