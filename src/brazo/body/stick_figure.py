"""Parts to draw for every body: those of the robot file, or a stick figure where it has none.

The stick figure of a body is derived from its joints: a cylinder along the axis of a rotary joint;
a block, and a rod of the length of its travel, for a linear joint; and a rod from its joint to each
child joint and to the tool.  In the frame of the body, its joint is at inv(after), and a child
joint at the child's `before`.  Sizes are proportional to the reach, the longest path along rods.
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
    """Parts to draw for each body; `own` are those of the robot (`Robot.parts`)."""
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
    """Rod along the travel of a linear joint; None if the travel is too long to draw.

    It passes through the joint of the parent at every position within the limits.
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
    """Positions (3,) in the body's frame: its joint, child joints, and the tool at the tip."""
    joint = model.bodies[index].joint
    points = [np.zeros(3) if joint is None else invert(joint.after)[:3, 3]]
    points += [b.joint.before[:3, 3] for b in model.bodies if b.parent == index and b.joint]
    return points + ([model.tool[:3, 3]] if index == model.tip else [])


def _reach(model: TreeModel) -> float:
    """Length (m) of the longest path from the base along the rods."""
    far = [0.0] * len(model.bodies)
    longest = 0.0
    for i, body in enumerate(model.bodies):
        if body.joint is not None:
            step = body.joint.before[:3, 3] - _points(model, body.parent)[0]
            far[i] = far[body.parent] + float(np.linalg.norm(step))
        start, *ends = _points(model, i)
        longest = max([longest, *(far[i] + float(np.linalg.norm(end - start)) for end in ends)])
    return longest
