"""Positions of the solid parts of an arm along its joint axes: the plan that `generate` draws.

A D-H table defines lines (`brazo.body.skeleton`), not solids.  The position of a solid along its
axis is free and is chosen here:

* A body with two parallel axes is a plate across them.  It can be shifted along the axes.  Plates
  are stacked side by side as in a real arm.  The sum of the distances between consecutive bodies
  is minimised.  Example: the upper arm of a Puma is beside its column, the forearm next to the
  upper arm.
* A body with intersecting or skew axes stays where the table puts it.  If two such bodies need the
  same part of an axis (a spherical wrist), the first becomes a fork.
* A gap that remains between two bodies on the same axis is bridged by a tube if it is long, by a
  hub if it is short.

All radii follow from one number, the radius of the first joint, which depends on the reach.  They
decrease along the arm with the remaining reach.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from brazo.body.skeleton import DEFAULT_REACH, Axis, Bone, Span, floor_level, stroke_axes, upright
from brazo.model.description import IDENTITY
from brazo.model.dh import DHRow

Mode = Literal["stack", "fork", "nest", "quill", "mast"]

SLENDERNESS = 0.085  # radius of the first joint over the reach
FORK_CHILD = 0.62  # half length of the housing between the tines, over the joint's radius
SEAM = 0.14  # gap between two bodies of one joint, over its radius


@dataclass(frozen=True, slots=True)
class Sizes:
    """Radii (m) of the joints, followed by the radius of the tool flange.

    The same object can be used while the lengths of an arm are edited, so that the radii stay
    constant.
    """

    radii: tuple[float, ...]

    def scaled(self, factor: float) -> Sizes:
        return Sizes(tuple(factor * r for r in self.radii))


@dataclass(slots=True)
class JointPlace:
    """Arrangement of the parent and child bodies on a joint axis.

    `parent` is the interval (m) along the axis that the parent body occupies, measured in its exit
    frame.  `child` is the interval of the child body, measured in its foot frame.  The z axes of
    both frames are the joint axis (see `Bone`).  Values of `mode`:

    * *stack*: the bodies are side by side;
    * *fork*: the child is between two tines of the parent;
    * *nest*: one body is inside the other;
    * *quill*: a rod of the child slides in a sleeve of the parent;
    * *mast*: the child slides on a mast of the parent.
    """

    mode: Mode
    parent: Span
    child: Span


@dataclass(frozen=True, slots=True)
class EndFace:
    """Required end face of the last body.

    `z` (m) is its position along the z axis of the foot frame of this body (the axis of the last
    joint).  `side` is +1 if the end face points along z, -1 if it points against z.
    """

    z: float
    side: float = 1.0  # or -1


@dataclass(frozen=True, slots=True, eq=False)
class DrawingPlan:
    """Plan for drawing an arm: bodies 0..n, joints 1..n, radii r[1]..r[n + 1] (m)."""

    bones: tuple[Bone, ...]
    axes: tuple[Axis, ...]
    places: tuple[JointPlace, ...]
    r: tuple[float, ...]

    @property
    def n(self) -> int:
        return len(self.axes)

    def place(self, k: int) -> JointPlace:
        return self.places[k - 1]

    def mode(self, k: int) -> Mode | None:
        """Return the arrangement at joint k (see `JointPlace`); None if there is no joint k."""
        return self.places[k - 1].mode if 1 <= k <= self.n else None

    def side(self, k: int) -> float:
        """Return +1 if the child of joint k is on the +z side of the parent, else -1."""
        place, axis = self.place(k), self.axes[k - 1]
        if k == 1 and upright(self.bones[0]):
            return math.copysign(1.0, self.bones[0].exit[2, 2])
        if place.mode == "quill":
            return 1.0 if sum(axis.foot) >= 0.0 else -1.0
        return 1.0 if axis.near + sum(place.child) / 2 >= sum(place.parent) / 2 else -1.0

    def gap(self, k: int) -> tuple[float, float]:
        """Return where the gap between parent and child of joint k begins and ends.

        The result is (face of the parent, face of the child), in m along the joint axis from the
        origin of the parent's exit frame.
        """
        place, near = self.place(k), self.axes[k - 1].near
        if self.side(k) > 0:
            return place.parent[1], near + place.child[0]
        return place.parent[0], near + place.child[1]

    def has_tube(self, k: int) -> bool:
        """Return whether the gap between parent and child of joint k is bridged by a tube."""
        if self.mode(k) != "stack":
            return False
        parent, child = self.gap(k)
        return abs(child - parent) > 0.8 * self.r[k]


def proportions(
    rows: Sequence[DHRow], limits: Sequence[Span] | None = None, tool: np.ndarray = IDENTITY
) -> Sizes:
    """Return the radii of the joints and the flange for the lengths in the D-H rows.

    The radius of a joint increases with the length of the arm beyond the joint.  `limits` are the
    limits of the joint variables, and `tool` (4, 4) is the pose of the tool in the last body.
    """
    beyond_tool = float(np.linalg.norm(tool[:3, 3]))
    axes = stroke_axes(rows, limits)
    lengths = [abs(float(row.a)) for row in rows]
    offsets = [max(map(abs, axis.foot)) for axis in axes]
    first = offsets[0] if axes[0].kind == "prismatic" else 0.0  # a column is not part of the reach
    reach = sum(lengths) + sum(offsets[1:]) + first + beyond_tool or offsets[0] or DEFAULT_REACH
    first_radius = SLENDERNESS * reach
    if axes[0].kind == "revolute" and offsets[0] > 0.0:  # a low shoulder needs a slimmer arm
        first_radius = min(first_radius, max(0.65 * first_radius, 0.46 * offsets[0]))
    radii: list[float] = []
    for k in range(len(rows)):
        beyond = sum(lengths[k:]) + sum(offsets[k + 1 :]) + beyond_tool
        wanted = first_radius * (0.40 + 0.60 * min(1.0, beyond / reach))
        # A joint is slightly slimmer than the one before it, so that no two surfaces coincide.
        radii.append(wanted if not radii else min(wanted, 0.95 * radii[-1]))
    return Sizes((*radii, 0.85 * radii[-1]))


def arrange(bones: Sequence[Bone], axes: Sequence[Axis], sizes: Sizes, end: EndFace) -> DrawingPlan:
    """Return the drawing plan of an arm, with an arrangement for every joint.

    `end` is the required end face of the last body.
    """
    r = (0.0, *sizes.radii)
    n = len(axes)
    places = [JointPlace("stack", (0.0, 0.0), (0.0, 0.0)) for _ in range(n + 1)]
    for i in range(1, n + 1):
        if not bones[i].parallel:
            half_foot, half_exit = crossing(bones[i], r[i], r[i + 1])
            places[i].child = (-half_foot, half_foot)
            if i < n:
                places[i + 1].parent = (-half_exit, half_exit)
    if not upright(bones[0]):
        places[1].parent = (-0.9 * r[1], 0.9 * r[1])
    _part_crossings(bones, axes, places, r)
    i = 1
    while i <= n:
        if bones[i].parallel:
            last = i
            while last < n and bones[last + 1].parallel:
                last += 1
            _stack(bones, axes, places, r, (i, last), end)
            i = last
        i += 1
    for k in range(1, n + 1):
        if axes[k - 1].kind == "prismatic":
            _slide(bones, axes, places, r, k)
        elif k > 1 and not bones[k - 1].parallel and bones[k].parallel and bones[k].a:
            _reach_out(axes[k - 1], places[k], r[k])
    return DrawingPlan(tuple(bones), tuple(axes), tuple(places[1:]), r)


def plate_half(radius: float, bone: Bone) -> float:
    """Return half the thickness (m) of the plate of a body with parallel axes.

    If the two axes coincide (a = 0), the result is half the length of their common housing.
    """
    return 0.42 * radius if abs(bone.a) > 0.0 else 0.5 * radius


# ---- bodies whose axes are not parallel ----------------------------------------------------


def is_short(bone: Bone, radius: float) -> bool:
    """Return whether the two axes of a body are so close that their housings merge."""
    return abs(bone.a) < 0.9 * radius


def crossing(bone: Bone, r_foot: float, r_exit: float) -> tuple[float, float]:
    """Return half the lengths (m) of the two housings of a body whose axes are not parallel.

    The first is the housing around the axis that moves the body, of radius `r_foot` (m).  The
    second is the housing around the axis of the next joint, of radius `r_exit` (m).
    """
    if is_short(bone, r_foot):
        return max(1.12 * r_exit, 0.80 * r_foot), max(0.80 * r_exit, 0.95 * r_foot)
    return 0.60 * r_foot, 0.85 * r_exit


def _part_crossings(
    bones: Sequence[Bone], axes: Sequence[Axis], places: list[JointPlace], r: tuple[float, ...]
) -> None:
    """Separate the parent and child of each joint whose housings would overlap on the joint axis.

    Only revolute joints whose two bodies cannot be shifted along the axis are changed.  The
    housings become shorter, or the arrangement of the joint becomes *fork* or *nest*.
    """
    for k in range(1, len(axes) + 1):
        place, offset = places[k], axes[k - 1].near
        first = k == 1
        fixed = not bones[k].parallel and not (
            upright(bones[0]) if first else bones[k - 1].parallel
        )
        if axes[k - 1].kind != "revolute" or not fixed:
            continue
        room = abs(offset) / (place.parent[1] + place.child[1] + SEAM * r[k])
        if room >= 1.0:
            continue
        outer = fork_inside(r[k]) + fork_tine(r[k])
        if abs(offset) > 0.6 * outer:  # slimmer, they fit side by side
            place.parent = (room * place.parent[0], room * place.parent[1])
            place.child = (room * place.child[0], room * place.child[1])
        elif not first and (places[k - 1].mode == "fork" or abs(bones[k - 1].cosine) > 0.75):
            place.mode = "nest"
            half = place.parent[1] + 0.5 * r[k]
            place.child = (-half, half)
        else:
            place.mode = "fork"
            place.child = (-FORK_CHILD * r[k], FORK_CHILD * r[k])
            place.parent = (offset - outer, offset + outer)
            if not first and is_short(bones[k - 1], r[k - 1]):
                side = -1.0 if axes[k - 2].near >= 0.0 else 1.0
                far, near = side * fork_length(r[k]), -side * r[k]
                places[k - 1].child = (min(far, near), max(far, near))


def fork_inside(radius: float) -> float:
    """Return half the clear width (m) between the tines of a fork."""
    return (FORK_CHILD + 0.06) * radius


def fork_tine(radius: float) -> float:
    return 0.34 * radius


def fork_length(radius: float) -> float:
    """Return the distance (m) from the axis of a fork to the back of its bridge."""
    return 1.85 * radius


def _reach_out(axis: Axis, place: JointPlace, radius: float) -> None:
    """Extend the housing of the parent to the hub of the joint, if the gap is small.

    The child is a plate beside the parent.  `radius` (m) is the radius of the joint.
    """
    lo, hi = place.parent
    child_lo, child_hi = axis.near + place.child[0], axis.near + place.child[1]
    if hi < child_lo < hi + 3.0 * radius:
        place.parent = (lo, max(hi, child_lo - hub_length(radius)))
    elif lo - 3.0 * radius < child_hi < lo:
        place.parent = (min(lo, child_hi + hub_length(radius)), hi)


def hub_length(radius: float) -> float:
    return 0.4 * radius


# ---- runs of parallel bodies ---------------------------------------------------------------


def _stack(
    bones: Sequence[Bone],
    axes: Sequence[Axis],
    places: list[JointPlace],
    r: tuple[float, ...],
    run: tuple[int, int],
    end: EndFace,
) -> None:
    """Place consecutive bodies with parallel axes side by side along the axes.

    `run` contains the indices of the first and last of these bodies, and `end` is the required end
    face of the last body of the arm.
    """
    first, last = run
    n = len(axes)
    on_floor = first == 1 and upright(bones[0])
    up = math.copysign(1.0, bones[0].exit[2, 2]) if on_floor else 1.0
    feet, signs = {}, {}
    origin, sign = 0.0, up
    for k in range(first, last + 1):
        feet[k], signs[k] = origin + sign * axes[k - 1].near, sign
        origin, sign = feet[k], sign * math.copysign(1.0, bones[k].cosine)
    if last < n:
        goal = origin + sign * axes[last].near
        half = places[last + 1].child[1] + SEAM * r[last + 1]
        wall: Span | None = (goal - half, goal + half)
    else:
        goal, wall = feet[last] + signs[last] * end.z, None
    if on_floor:
        floor = floor_level(bones[0])
        start: Span = (-math.inf, floor + base_stack(r[1]))
    else:
        start = places[first].parent
    # Beam search: (cost, planes so far, intervals so far).
    beam: list[tuple[float, list[float], list[Span]]] = [(0.0, [], [start])]
    for k in range(first, last + 1):
        half = plate_half(r[k], bones[k])
        seam = SEAM * r[k]
        wanted = feet[k]
        if k == n and wall is None:
            wanted = goal - signs[k] * end.side * half
        grown = []
        for cost, planes, taken in beam:
            lo, hi = taken[-1]
            above, below = hi + seam, lo - seam
            choices = {wanted, above + half, below - half}
            if wall is not None:  # beside it, with room for the remaining plates
                rest = sum(
                    2.0 * plate_half(r[j], bones[j]) + SEAM * r[j] for j in range(k + 1, last + 1)
                )
                choices |= {max(above, wall[1] + rest) + half, min(below, wall[0] - rest) - half}
                choices |= {wall[0] - half, wall[1] + half}
            came = planes[-1] if planes else wanted if on_floor else 0.0
            for s in choices:
                if not math.isfinite(s):
                    continue
                here = (s - half, s + half)
                if _overlap(here, (lo - seam, hi + seam)):
                    continue
                if k == last and wall is not None and _overlap(here, wall):
                    continue
                extra = abs(s - came) + 0.2 * abs(s - wanted) - 1e-3 * half * (s > came)
                for j, other in enumerate(taken[:-1]):
                    if _overlap(here, other):
                        # They may collide when the arm folds; a head or a plain housing seldom
                        # does.
                        rare = (j == 0 and not on_floor) or not bones[k].a
                        extra += (0.5 if rare else 20.0 if j == 0 else 6.0) * half
                if k == last:
                    extra += abs(goal - s)
                if k == n and wall is None and signs[k] * end.side * (s - came) < 0.0:
                    extra += 8.0 * half  # the tool would point back into the arm
                # Once the first body is placed, the base extends up to it.
                before = [(-math.inf, here[0])] if on_floor and not planes else taken
                grown.append((cost + extra, [*planes, s], [*before, here]))
        beam = sorted(grown, key=lambda state: state[0])[:64]
    _, planes, _ = beam[0]
    for k, s in zip(range(first, last + 1), planes, strict=True):
        half = plate_half(r[k], bones[k])
        z = signs[k] * (s - feet[k])
        places[k].child = (z - half, z + half)
        if k < n:
            z *= math.copysign(1.0, bones[k].cosine)
            places[k + 1].parent = (z - half, z + half)


def base_stack(radius: float) -> float:
    """Return the min height (m) of the base, from the floor to the first moving body."""
    return 1.05 * radius


def _overlap(a: Span, b: Span) -> bool:
    tolerance = 1e-9 * (a[1] - a[0])
    return a[0] < b[1] - tolerance and b[0] < a[1] - tolerance


# ---- prismatic joints ----------------------------------------------------------------------


def _slide(
    bones: Sequence[Bone],
    axes: Sequence[Axis],
    places: list[JointPlace],
    r: tuple[float, ...],
    k: int,
) -> None:
    """Arrange prismatic joint k as a *quill*: a rod of the child in a sleeve of the parent.

    If the axis is the vertical first joint axis or coincides with it, the arrangement is *mast*.
    """
    place, axis = places[k], axes[k - 1]
    coaxial = all(bone.parallel and abs(bone.a) < 1e-9 for bone in bones[1:k])
    if coaxial and upright(bones[0]):
        place.mode = "mast"  # a rod would extend into the floor
        return
    place.mode = "quill"
    side = 1.0 if sum(axis.foot) >= 0.0 else -1.0
    lo, hi = place.parent
    half = max(1.1 * r[k], (hi - lo) / 2)
    middle = (lo + hi) / 2
    # The sleeve ends before the closest position of the child's housing.
    nearest = axis.near + (place.child[0] if side > 0 else place.child[1]) - side * SEAM * r[k]
    front = side * min(side * middle + half, max(side * nearest, side * middle + 0.2 * half))
    back = front - side * 2.0 * half
    place.parent = (min(front, back), max(front, back))
