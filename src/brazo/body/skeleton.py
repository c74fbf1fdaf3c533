"""D-H table as lines in space, on which all solids of an arm are based.

Between the axis that moves it and the axis it carries, body i extends by `d` along the first, to
the *foot* of the common normal, and by `a` along the normal, to the *exit* on the second.  This
holds in both conventions; only the body frame differs (standard: the exit, modified: the foot).
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
    """One body between its two axes; `foot` and `exit` are frames in the body frame.

    Both have z along their axis; exit = foot · Tx(a) · (a rotation).
    """

    foot: np.ndarray
    exit: np.ndarray
    a: float

    @property
    def cosine(self) -> float:
        """Cosine of the angle between the two axes."""
        return float(self.foot[:3, 2] @ self.exit[:3, 2])

    @property
    def parallel(self) -> bool:
        return abs(self.cosine) > 0.97


@dataclass(frozen=True, slots=True)
class Axis:
    """Joint axis; `foot` is the range of the child's foot above the parent's exit (m)."""

    kind: JointKind
    foot: Span  # lowest and highest; equal for a revolute joint

    @property
    def near(self) -> float:
        """Position of the foot closest to the parent's exit."""
        return min(self.foot, key=abs)


def skeleton(
    rows: Sequence[DHRow],
    convention: Convention,
    limits: Sequence[Span] | None = None,
    base: np.ndarray = IDENTITY,
) -> tuple[list[Bone], list[Axis]]:
    """Return bodies 0..n (0 is the base) and axes 1..n of a table."""
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
    """Return whether the first axis is roughly vertical, pointing up or down."""
    return abs(base.exit[2, 2]) > 0.7


def floor_level(base: Bone) -> float:
    """Return the floor height (z = 0 of the base) above the exit of an upright first axis."""
    axis = base.exit[:3, 2] * math.copysign(1.0, base.exit[2, 2])
    return -float(axis @ base.exit[:3, 3])


def stroke_axes(rows: Sequence[DHRow], limits: Sequence[Span] | None) -> list[Axis]:
    """Return the joint axes.

    Prismatic ones without limits get a stroke in proportion to the lengths.
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
