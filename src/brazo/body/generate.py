"""Solid shapes of an arm, generated from its D-H table: castings, joints, tool and gripper.

`generate_parts` draws the plan of `brazo.body.layout`.  One rule keeps the proportions when lengths
change: **flanges and housings have a fixed size, beams change their length.**  A base five times as
high has the same floor plate, bolts and top; only its column is longer.

Frames: the pose of a part is in the frame of its body.  Body 0 is the base; body i is moved by
joint i.  The floor plate of the base is at z = 0.  If the first joint is too low for this, the
floor plate is lower.  The fingers slide along the y axis of the tool frame, "finger left" at +y and
"finger right" at -y.  Their inner faces are half the opening away from the centre.  The tool frame
is between the fingers, at 0.7 of their length.

Part names: "base plate", "base", "base top"; "first joint" for joint 1 and "first segment" for the
body that it moves, then "second joint" and so on; "tool flange", "tool neck", "gripper", "finger
left", "finger right".  The names of details begin with the same ordinal ("second cap").  Parts with
`collides` false are small decorations on other parts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from brazo.body import castings, ends, fittings
from brazo.body.canvas import Canvas
from brazo.body.delta_body import delta_parts
from brazo.body.layout import Sizes, arrange, proportions
from brazo.body.skeleton import Span, skeleton
from brazo.body.style import Style
from brazo.errors import BrazoError
from brazo.model.description import IDENTITY, Gripper, Part
from brazo.model.dh import Convention, DHRow

__all__ = ["Sizes", "Style", "delta_parts", "generate_parts", "proportions"]


def generate_parts(
    rows: Sequence[DHRow],
    convention: Convention,
    *,
    limits: Sequence[Span] | None = None,
    base: np.ndarray = IDENTITY,
    tool: np.ndarray = IDENTITY,
    gripper: Gripper | None = None,
    style: Style | None = None,
    sizes: Sizes | None = None,
) -> tuple[tuple[Part, ...], ...]:
    """Return the parts of each body, from body 0 (the base) to body n.

    `base` is the pose of the first frame of the table in the base frame, `tool` the pose of the
    tool in the frame of the last body, `limits` the range (rad or m) of each joint variable.  Pass
    the `sizes` (see `proportions`) of the original arm to keep them while its lengths are edited.
    By default, the sizes follow from the lengths in `rows`, the limits and the tool.
    """
    if not rows:
        raise BrazoError("an arm needs at least one joint to be drawn")
    style = style or Style()
    sizes = (sizes or proportions(rows, limits, tool)).scaled(style.width)
    if len(sizes.radii) != len(rows) + 1:
        raise BrazoError(
            f"sizes has radii for {len(sizes.radii) - 1} joints, but the D-H table has {len(rows)} "
            "rows; use proportions(rows)"
        )
    bones, axes = skeleton(rows, convention, limits, base)
    end = ends.tool_end(bones, sizes.radii[-1], tool, gripper)
    plan = arrange(bones, axes, sizes, end)
    canvas = Canvas(style, tuple([] for _ in bones))
    ends.draw_base(canvas, plan)
    for i in range(1, plan.n + 1):
        castings.draw_segment(canvas, plan, i)
    for k in range(1, plan.n + 1):
        fittings.draw_joint(canvas, plan, k)
    ends.draw_tool(canvas, plan, np.asarray(tool, dtype=float), gripper)
    return canvas.finished()
