"""Parts to draw for every body: those of the robot file, or a generated stick figure.

A body without parts in the robot file gets a stick figure, which is derived from its joints.  A
rotary joint is a cylinder along its axis.  A linear joint is a block, and a rod with the length of
its travel.  Further rods go from the joint of the body to each child joint and to the tool.  Sizes
are proportional to the reach, the longest path along the rods.

The fields `before` and `after` of a `Joint` are transforms before and after the joint motion.  In
the frame of a body, its joint is therefore at inv(after), and each child joint is at its `before`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from brazo.model.description import Joint, Model, Part, TreeModel
from brazo.model.shapes import Box, Capsule, Cylinder
from brazo.model.transforms import align_z, invert, translate

DRUM = 0.028  # radius of a cylinder and half side of a block, relative to the reach
ROD = 0.011
LONGEST_SLIDE = 3.0
JOINT_COLOR = (0.91, 0.35, 0.05)
ROD_COLOR = (0.5, 0.55, 0.62)


def visible_parts(model: Model, own: tuple[Sequence[Part], ...]) -> tuple[Sequence[Part], ...]:
    """Return the parts to draw for each body.

    `own` are the parts of each body in the robot file (`Robot.parts`).  A body without parts gets a
    stick figure; a robot with closed loops never gets one.
    """
    if model.closed_loops or all(own):
        return own
    tree = model.require_tree()
    reach = _reach(tree) or 1.0
    return tuple(parts or _figure(tree, i, reach) for i, parts in enumerate(own))


def _figure(model: TreeModel, index: int, reach: float) -> tuple[Part, ...]:
    joint = model.bodies[index].joint
    start, *ends = _points(model, index)
    parts = [_rod(f"rod {i}", start, end, reach) for i, end in enumerate(ends)]
    if joint is not None:
        turned = invert(joint.after) @ align_z(joint.axis)
        parts += [_slide(joint, turned, reach)] if joint.kind == "prismatic" else []
        parts.append(_mark(joint, turned, reach))
    return tuple(part for part in parts if part is not None)


def _mark(joint: Joint, turned: np.ndarray, reach: float) -> Part:
    side = 2 * DRUM * reach
    slides = joint.kind == "prismatic"
    shape = Box((side, side, 1.4 * side)) if slides else Cylinder(side / 2, 1.6 * side)
    return Part("joint", shape, turned, JOINT_COLOR)


def _slide(joint: Joint, turned: np.ndarray, reach: float) -> Part | None:
    """Return the rod of a prismatic joint; None if its travel is too long to draw.

    The rod moves with the child body.  It is long enough to pass through the joint's origin on the
    parent body at every joint position within the limits.  `turned` (4, 4) is the pose of the joint
    in the frame of the child body, rotated so that z is the joint axis.
    """
    ends = [joint.multiplier * limit + joint.offset for limit in joint.limits]
    low, _, high = sorted((*ends, 0.0))
    if high - low > LONGEST_SLIDE * reach:
        return None  # practically unlimited
    start, end = ((turned @ translate(z=-value))[:3, 3] for value in (low, high))
    return _rod("slide", start, end, reach)


def _rod(name: str, start: np.ndarray, end: np.ndarray, reach: float) -> Part | None:
    length = float(np.linalg.norm(end - start))
    if length < 1e-6 * reach:
        return None
    pose = translate(*(start + end) / 2) @ align_z(end - start)
    return Part(name, Capsule(ROD * reach, length), pose, ROD_COLOR)


def _points(model: TreeModel, index: int) -> list[np.ndarray]:
    """Return positions (3,) in the frame of a body: its own joint, then the joints of its children.

    The position of the tool is added for the body that carries it.
    """
    joint = model.bodies[index].joint
    points = [np.zeros(3) if joint is None else invert(joint.after)[:3, 3]]
    points += [b.joint.before[:3, 3] for b in model.bodies if b.parent == index and b.joint]
    return points + ([model.tool[:3, 3]] if index == model.tip else [])


def _reach(model: TreeModel) -> float:
    """Return the length (m) of the longest path from the base along the rods."""
    far = [0.0] * len(model.bodies)
    longest = 0.0
    for i, body in enumerate(model.bodies):
        if body.joint is not None:
            step = body.joint.before[:3, 3] - _points(model, body.parent)[0]
            far[i] = far[body.parent] + float(np.linalg.norm(step))
        start, *ends = _points(model, i)
        longest = max([longest, *(far[i] + float(np.linalg.norm(end - start)) for end in ends)])
    return longest
