"""Joints of an arm: hubs and fork pins of revolute joints, quills and masts of prismatic joints.

A hub is a dark cylinder with a coloured ring.  It is part of the parent body.  A tube or a collar
fills a gap between the parent body and the hub.  A quill is a rod of the child that slides in a
sleeve of the parent.  A mast is a column of the parent on which the child slides.  The lengths of
rods and masts depend on the stroke, the lengths of tubes and collars on the gap.  Most other sizes
depend only on the radius of the joint.
"""

from __future__ import annotations

from brazo.body import layout
from brazo.body.canvas import Canvas, ordinal
from brazo.body.castings import draw_tube
from brazo.body.layout import DrawingPlan
from brazo.body.skeleton import upright


def draw_joint(canvas: Canvas, plan: DrawingPlan, k: int) -> None:
    """Draw joint k on its parent body k - 1; the rod of a quill is drawn on child body k."""
    place, r, style = plan.place(k), plan.r[k], canvas.style
    exit_, name = plan.bones[k - 1].exit, f"{ordinal(k)} joint"
    match place.mode:
        case "stack":
            _hub(canvas, plan, k)
        case "fork":
            pin = (place.parent[0] - 0.1 * r, place.parent[1] + 0.1 * r)
            canvas.cylinder(k - 1, name, exit_, pin, 0.6 * r, style.joint)
        case "nest":
            canvas.cylinder(k - 1, name, exit_, place.parent, 0.9 * r, style.joint)
        case "quill":
            _quill(canvas, plan, k)
        case "mast":
            _mast(canvas, plan, k)


def _hub(canvas: Canvas, plan: DrawingPlan, k: int) -> None:
    """Draw the hub of joint k next to the child body.

    If there is a gap between the parent body and the hub, a tube or a collar fills it.
    """
    r, style, side = plan.r[k], canvas.style, plan.side(k)
    exit_, name = plan.bones[k - 1].exit, f"{ordinal(k)} joint"
    parent, child = plan.gap(k)
    start = child - side * layout.hub_length(r)
    rest = side * (start - parent)
    if k > 1 or not upright(plan.bones[0]):  # that column is drawn with the base
        if plan.has_tube(k):
            draw_tube(canvas, plan, k, start)
        elif rest > 0.01 * r:
            span, color = (parent - side * 0.2 * r, start), style.link if k > 1 else style.base
            canvas.cylinder(k - 1, f"{ordinal(k - 1)} collar", exit_, span, 0.9 * r, color, 0.05)
    # The length is constant; if parent and child are closer, part of the hub is inside the parent.
    ends = (start - side * 0.2 * r, child + side * 0.2 * r)
    canvas.cylinder(k - 1, name, exit_, ends, 0.86 * r, style.joint, bevel=0.0)
    if rest > -0.2 * r:
        middle = (max(side * start, side * parent) + side * child) / 2 * side
        ring = (middle - 0.05 * r, middle + 0.05 * r)
        canvas.cylinder(k - 1, f"{name} ring", exit_, ring, 0.9 * r, style.accent, 0.02, False)


def _quill(canvas: Canvas, plan: DrawingPlan, k: int) -> None:
    """Draw a sleeve on the parent and a rod on the child.

    The rod is long enough to stay in the sleeve over the whole stroke.
    """
    place, axis, r, style = plan.place(k), plan.axes[k - 1], plan.r[k], canvas.style
    lo, hi = place.parent
    name = f"{ordinal(k)} joint"
    canvas.cylinder(k - 1, name, plan.bones[k - 1].exit, (lo, hi), 0.75 * r, style.joint, bevel=0.1)
    lowest, highest = axis.foot[0] + place.child[0], axis.foot[1] + place.child[1]
    low, high = place.child
    if lowest < lo:
        high = max(high, hi - axis.foot[0] + 0.2 * r)
    if highest > hi or lowest >= lo:
        low = min(low, lo - axis.foot[1] - 0.2 * r)
    name = f"{ordinal(k)} rod"
    canvas.cylinder(k, name, plan.bones[k].foot, (low, high), 0.42 * r, style.steel, bevel=0.05)


def _mast(canvas: Canvas, plan: DrawingPlan, k: int) -> None:
    """Draw a mast on the parent body that is long enough for the whole stroke of the child."""
    place, axis, r, style = plan.place(k), plan.axes[k - 1], plan.r[k], canvas.style
    low, high = axis.foot[0] + place.child[0], axis.foot[1] + place.child[1]
    if k > 1:
        root = sum(place.parent) / 2
        low, high = min(low, root), max(high, root)
    span = (low - 0.3 * r, high + 0.3 * r)
    name, exit_ = f"{ordinal(k)} joint", plan.bones[k - 1].exit
    # Bodies on top of the carriage also surround the mast, so it must not collide with them.
    alone = k == plan.n or not (plan.bones[k].parallel and plan.bones[k].a == 0.0)
    canvas.cylinder(k - 1, name, exit_, span, 0.5 * r, style.steel, 0.1, collides=alone)
