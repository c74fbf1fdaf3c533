"""D-H table as lines in space, on which all solids of an arm are based.

Body i is between two joint axes: axis i, which moves it, and axis i + 1, which it carries.  It
extends by `d` along axis i to the *foot* of the common normal, then by `a` along the common normal
to the *exit* on axis i + 1.  This holds in both D-H conventions.  Only the body frame differs: it
is the exit in the standard convention and the foot in the modified convention.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from brazo.model.description import IDENTITY, JointKind
from brazo.model.dh import Convention, DHRow
from brazo.model.transforms import invert, rot_x, translate

Span = tuple[float, float]

DEFAULT_REACH = 0.5  # m, for a table without lengths
DEFAULT_STROKE = 0.4  # fraction of the sum of lengths, for a prismatic joint without limits


@dataclass(frozen=True, slots=True, eq=False)
class Bone:
    """The two joint axes of one body and their common normal.

    `foot` and `exit` are poses (4, 4) in the body frame.  The z axis of `foot` is the axis of the
    joint that moves the body, the z axis of `exit` is the axis of the next joint.  The common
    normal goes from `foot` along x by the D-H length `a` (m) to `exit`.
    """

    foot: np.ndarray
    exit: np.ndarray
    a: float

    @property
    def cosine(self) -> float:
        """Cosine of the angle between the two joint axes."""
        return float(self.foot[:3, 2] @ self.exit[:3, 2])

    @property
    def parallel(self) -> bool:
        return abs(self.cosine) > 0.97


@dataclass(frozen=True, slots=True)
class Axis:
    """Joint axis.

    `foot` is the range (m) of positions of the child body along the axis.  A position is that of
    the child's foot frame, measured from the parent's exit frame (see `Bone`).
    """

    kind: JointKind
    foot: Span  # lowest and highest; equal for a revolute joint

    @property
    def near(self) -> float:
        """End (m) of the range `foot` that is closer to the origin of the parent's exit frame."""
        return min(self.foot, key=abs)


def skeleton(
    rows: Sequence[DHRow],
    convention: Convention,
    limits: Sequence[Span] | None = None,
    base: np.ndarray = IDENTITY,
) -> tuple[list[Bone], list[Axis]]:
    """Return the bones of bodies 0..n (0 is the base) and the joint axes 1..n of a D-H table.

    `limits` are the limits of the joint variables.  `base` (4, 4) is the pose of the first frame of
    the table in the base frame.
    """
    bones = []
    for i in range(len(rows) + 1):
        if convention == "standard":
            step = translate(x=rows[i - 1].a) @ rot_x(rows[i - 1].alpha) if i else np.eye(4)
            a = float(rows[i - 1].a) if i else 0.0
            exit_ = np.array(base) if i == 0 else np.eye(4)
            bones.append(Bone(exit_ @ invert(step), exit_, a))
        else:
            last = i == len(rows)
            step = np.eye(4) if last else translate(x=rows[i].a) @ rot_x(rows[i].alpha)
            foot = np.array(base) if i == 0 else np.eye(4)
            bones.append(Bone(foot, foot @ step, 0.0 if last else float(rows[i].a)))
    return bones, stroke_axes(rows, limits)


def upright(base: Bone) -> bool:
    """Return whether the axis of the first joint is roughly vertical, pointing up or down."""
    return abs(base.exit[2, 2]) > 0.7


def floor_level(base: Bone) -> float:
    """Return the height (m) of the floor, measured from the origin of the exit frame of the base.

    The exit frame is on the first joint axis, which is assumed to be vertical.  The floor is the
    plane z = 0 of the base frame.  The result is normally negative, because the exit frame is above
    the floor.
    """
    axis = base.exit[:3, 2] * math.copysign(1.0, base.exit[2, 2])
    return -float(axis @ base.exit[:3, 3])


def stroke_axes(rows: Sequence[DHRow], limits: Sequence[Span] | None) -> list[Axis]:
    """Return the joint axes of a D-H table.

    A prismatic joint without limits gets a stroke in proportion to the lengths of the arm.
    """
    limits = limits or [(-math.inf, math.inf)] * len(rows)
    lengths = sum(abs(row.a) + abs(row.d) for row in rows) or DEFAULT_REACH
    return [_axis(row, limit, lengths) for row, limit in zip(rows, limits, strict=True)]


def _axis(row: DHRow, limit: Span, lengths: float) -> Axis:
    if row.kind == "revolute":
        return Axis("revolute", (float(row.d), float(row.d)))
    low, high = map(float, limit)
    if not math.isfinite(low):
        low = min(0.0, high) - DEFAULT_STROKE * lengths if math.isfinite(high) else 0.0
    if not math.isfinite(high):
        high = low + DEFAULT_STROKE * lengths
    return Axis("prismatic", (row.offset + low, row.offset + high))
