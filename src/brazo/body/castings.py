"""Castings of an arm: the solid segment of each moving body, between its two joint axes.

Three forms cover every row of a D-H table.  A body with parallel axes is a *plate*: a lever with
round ends.  A body with intersecting or skew axes is an *elbow*: a housing around each axis, and a
beam along the common normal if the axes are far apart.  If the next body rotates at the
intersection of the axes, the elbow ends in a *fork*.

The *foot* and the *exit* of body i are the ends of the common normal of its two axes: the foot is
on axis i and the exit on axis i + 1 (see `brazo.body.skeleton`).
"""

from __future__ import annotations

import math

import numpy as np

from brazo.body import layout
from brazo.body.canvas import Canvas, ordinal
from brazo.body.layout import DrawingPlan
from brazo.body.skeleton import Bone
from brazo.model.shapes import Beam, Lever
from brazo.model.transforms import rot_x, rot_y, rot_z, translate


def draw_segment(canvas: Canvas, plan: DrawingPlan, i: int) -> None:
    """Draw the casting of body i: a plate if its two axes are parallel, otherwise an elbow."""
    if plan.bones[i].parallel:
        _plate(canvas, plan, i)
    else:
        _elbow(canvas, plan, i)


def draw_tube(canvas: Canvas, plan: DrawingPlan, k: int, start: float) -> None:
    """Draw the tube along axis k from body k - 1 to the hub of joint k.

    The hub begins at z = `start` (m) in the exit frame of body k - 1, whose z axis is axis k.
    """
    bone, r0, r1 = plan.bones[k - 1], plan.r[k - 1], plan.r[k]
    root = sum(plan.place(k).parent) / 2
    wide = min(0.9 * r0, 1.5 * r1) if k > 1 and not bone.parallel else 0.96 * r1
    deep = wide
    if k > 1 and not bone.parallel:  # hidden in the housing of the parent
        lo, hi = plan.place(k - 1).child
        deep = min(wide, 0.45 * (hi - lo))
    turn = rot_x(0.0 if start > root else math.pi)
    shape = Beam(abs(start - root), (2 * wide, 2 * deep), (1.92 * r1, 1.92 * r1), 0.7)
    pose = bone.exit @ translate(z=(root + start) / 2) @ turn
    name, color = f"{ordinal(k - 1)} segment", canvas.style.link
    if k == 1:
        name, color = "base arm", canvas.style.base
    canvas.add(k - 1, name, shape, pose, color)


def draw_fork(canvas: Canvas, plan: DrawingPlan, k: int, toward: np.ndarray) -> None:
    """Draw the fork of body k - 1 at joint k: two tines on axis k, and the bridge between them.

    `toward` is the direction (3,) from the axis to the bridge, in the frame of body k - 1.
    """
    i, r = k - 1, plan.r[k]
    exit_ = plan.bones[i].exit
    z = exit_[:3, 2]
    x = toward - z * (z @ toward)
    x /= np.linalg.norm(x)
    frame = np.eye(4)
    frame[:3, :3] = np.column_stack([x, np.cross(z, x), z])
    frame[:3, 3] = exit_[:3, 3] + z * sum(plan.place(k).parent) / 2
    inside, tine = layout.fork_inside(r), layout.fork_tine(r)
    color = canvas.style.base if i == 0 else canvas.style.link
    name = "base" if i == 0 else ordinal(i)
    reach = 1.55 * r
    section = (2.0 * (inside + 0.6 * tine), 1.96 * r)
    bridge = Beam(0.62 * r, section, section, 0.6, 0.12 * r)
    pose = frame @ translate(x=reach) @ rot_y(math.pi / 2)
    canvas.add(i, f"{name} bridge", bridge, pose, color)
    # The tines end with the bridge, so that the fork does not extend past the joint behind it.
    lever = Lever(1.2 * r, (0.95 * r, 0.62 * r), tine, 0.3 * tine)
    for sign, label in ((1.0, "left"), (-1.0, "right")):
        pose = frame @ translate(x=lever.length / 2, z=sign * (inside + tine / 2))
        canvas.add(i, f"{name} fork {label}", lever, pose, color)


def _plate(canvas: Canvas, plan: DrawingPlan, i: int) -> None:
    bone, r0, r1 = plan.bones[i], plan.r[i], plan.r[i + 1]
    span, color = plan.place(i).child, canvas.style.link
    name = f"{ordinal(i)} segment"
    if abs(bone.a) < 1e-9:
        canvas.cylinder(i, name, bone.foot, span, r0, color)
        return
    lo, hi = span
    thickness = hi - lo
    shape = Lever(abs(bone.a), (r0, r1), thickness, 0.2 * thickness)
    pose = (
        bone.foot @ translate(z=(lo + hi) / 2) @ _along_normal(bone) @ translate(x=shape.length / 2)
    )
    canvas.add(i, name, shape, pose, color)
    side = plan.side(i)
    canvas.cap(i, f"{ordinal(i)} cap", bone.foot, hi if side > 0 else lo, side, r0)
    if plan.mode(i + 1) == "stack":
        side = plan.side(i + 1)
        lo, hi = plan.place(i + 1).parent
        canvas.cap(i, f"{ordinal(i)} end cap", bone.exit, lo if side > 0 else hi, -side, r1)


def _elbow(canvas: Canvas, plan: DrawingPlan, i: int) -> None:
    bone, r0, r1 = plan.bones[i], plan.r[i], plan.r[i + 1]
    short, tube = layout.is_short(bone, r0), plan.has_tube(i + 1)
    _foot_housing(canvas, plan, i)
    if not short:
        _beam(canvas, plan, i)
    if plan.mode(i + 1) == "fork":
        draw_fork(canvas, plan, i + 1, _toward_foot(plan, i))
    elif i < plan.n and not (short and tube):
        span = plan.place(i + 1).parent
        half = layout.crossing(bone, r0, r1)[1]
        if plan.mode(i + 1) != "stack":
            span = (-half, half)
        radius = min(r1, 0.6 * r0) if plan.mode(i) == "fork" else r1  # clear of the tines
        canvas.cylinder(i, f"{ordinal(i)} segment", bone.exit, span, radius, canvas.style.link)
        if plan.mode(i + 1) == "stack" and plan.mode(i) != "fork":
            side = plan.side(i + 1)
            face = span[0] if side > 0 else span[1]
            canvas.cap(i, f"{ordinal(i)} end cap", bone.exit, face, -side, r1)


def _foot_housing(canvas: Canvas, plan: DrawingPlan, i: int) -> None:
    """Draw the housing of body i around axis i.

    If the two axes of the body are close together, the housing around axis i + 1 may cover axis i.
    In this case, only a thin neck or nothing is drawn around axis i.
    """
    bone, r0, r1 = plan.bones[i], plan.r[i], plan.r[i + 1]
    lo, hi = plan.place(i).child
    name, color, side = f"{ordinal(i)} housing", canvas.style.link, plan.side(i)
    mode, fork_next = plan.mode(i), plan.mode(i + 1) == "fork"
    if mode in ("fork", "nest"):
        radius = (0.95 if mode == "fork" else 0.7) * r0
        canvas.cylinder(i, name, bone.foot, (lo, hi), radius, color)
    elif mode == "mast" or not layout.is_short(bone, r0):
        canvas.cylinder(i, name, bone.foot, (lo, hi), r0, color)
    elif plan.has_tube(i + 1) or (i > 1 and plan.bones[i - 1].parallel and not fork_next):
        canvas.cylinder(i, name, bone.foot, (lo, hi), r0, color)
        if mode == "stack":
            canvas.cap(i, f"{ordinal(i)} cap", bone.foot, hi if side > 0 else lo, side, r0)
    elif not fork_next:
        neck = min(0.9 * r0, 0.94 * r1)
        if i < plan.n:  # not wider than the housing it enters
            neck = min(neck, 0.6 * (plan.place(i + 1).parent[1] - plan.place(i + 1).parent[0]))
            neck = max(neck, abs(bone.a) - 0.8 * r1)  # but long enough to enter it
        canvas.cylinder(i, name, bone.foot, (lo if side > 0 else hi, 0.0), neck, color)


def _beam(canvas: Canvas, plan: DrawingPlan, i: int) -> None:
    """Draw the beam of body i from the housing around axis i to the housing around axis i + 1.

    The beam is along the common normal of the two axes.
    """
    bone, r0, r1 = plan.bones[i], plan.r[i], plan.r[i + 1]
    lo, hi = plan.place(i).child
    length = abs(bone.a)
    if plan.mode(i + 1) == "fork":  # only to its bridge
        length -= 1.55 * r1
        if length < 0.3 * r1:
            return
    wide = 0.92 * (hi - lo)
    shape = Beam(length, (wide, 1.6 * r0), (min(wide, 1.7 * r1), 1.5 * r1), 0.5)
    # z of the beam along the normal, its x along the foot axis.
    pose = bone.foot @ translate(z=(lo + hi) / 2) @ _along_normal(bone) @ rot_y(math.pi / 2)
    name = f"{ordinal(i)} segment"
    canvas.add(i, name, shape, pose @ translate(z=length / 2), canvas.style.link)


def _toward_foot(plan: DrawingPlan, i: int) -> np.ndarray:
    """Return the direction (3,) from axis i + 1 to axis i, in the frame of body i.

    If the two axes are close together, return the direction of axis i in which the body extends
    further.
    """
    bone = plan.bones[i]
    if not layout.is_short(bone, plan.r[i]):
        return -math.copysign(1.0, bone.a) * bone.foot[:3, 0]
    lo, hi = plan.place(i).child
    return bone.foot[:3, 2] * (1.0 if hi > -lo else -1.0)


def _along_normal(bone: Bone) -> np.ndarray:
    """Return the rotation (4, 4) after which the x axis of the foot frame points to the exit.

    It is half a turn about z if `bone.a` is negative, otherwise the identity.
    """
    return rot_z(0.0 if bone.a >= 0.0 else math.pi)
