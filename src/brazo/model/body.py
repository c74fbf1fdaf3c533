"""The solid look of an arm, made from nothing but its D-H table: castings, joints, tool and clamp.

`generate_parts` draws what `brazo.model.layout` has planned.  The rule that keeps an arm handsome
when its lengths change: **flanges and housings have a fixed size, beams stretch.**  A base five
times as high has the same floor plate, the same bolts and the same top; only its column grew.

Frames: a part's pose is in its body's frame; body 0 is the base, standing on its own plane z = 0
(deeper when the table leaves no room above it), body i the one moved by joint i.  Fingers slide
along the tool's y axis, "finger left" at +y and "finger right" at -y, their inner faces half the
opening away from the middle; the tool frame lies between them, at 0.7 of their length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from brazo.errors import BrazoError
from brazo.model import layout
from brazo.model.delta_body import delta_parts
from brazo.model.description import IDENTITY, Gripper, Part, frozen
from brazo.model.dh import Convention, DHRow
from brazo.model.layout import Sizes, Span, proportions
from brazo.model.shapes import Beam, Box, Cylinder, Lever, Pattern, Shape
from brazo.model.style import Color, Style
from brazo.model.transforms import align_z, rot_y, rot_z, translate

__all__ = ["Sizes", "Style", "delta_parts", "generate_parts", "ordinal", "proportions"]

ORDINALS = ("zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth",
            "ninth", "tenth", "eleventh", "twelfth")  # fmt: skip


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
    """Parts of body 0 (the base) to body n.

    `base` is the table's first frame in the base body, `tool` the tool in the last body, `limits`
    the range of each joint variable.  Pass the `sizes` (`proportions`) of the arm as described to
    keep them while its lengths are edited; left out, they follow the lengths given here.
    """
    if not rows:
        raise BrazoError("an arm needs at least one joint")
    style = style or Style()
    free = [(-math.inf, math.inf)] * len(rows)
    sizes = (sizes or proportions(rows, limits, tool)).scaled(style.width)
    if len(sizes.radii) != len(rows) + 1:
        raise BrazoError(
            f"sizes for {len(sizes.radii) - 1} joints given to an arm of {len(rows)}: "
            "compute them with proportions(rows)"
        )
    arm = _Arm(rows, convention, limits or free, base, tool, gripper, style, sizes)
    arm.draw()
    return tuple(_named(i, parts) for i, parts in enumerate(arm.parts))


def ordinal(i: int) -> str:
    return ORDINALS[i] if i < len(ORDINALS) else f"{i}th"


class _Arm:
    """Draws one arm, body by body and joint by joint."""

    def __init__(self, rows, convention, limits, base, tool, gripper, style: Style, sizes: Sizes):
        self.bones, self.axes = layout.skeleton(rows, convention, limits, base)
        self.n = len(rows)
        self.r = (0.0, *sizes.radii)
        self.style = style
        self.tool = np.asarray(tool, dtype=float)
        self.gripper: Gripper | None = gripper
        last = self.bones[-1]
        end = self.tool[2, 3] - self._clamp_length() - self._flange_thickness()
        end *= math.copysign(1.0, last.cosine)
        self.places = [None, *layout.arrange(self.bones, self.axes, sizes, end)]
        self.parts: list[list[Part]] = [[] for _ in self.bones]

    def draw(self) -> None:
        self._base()
        for i in range(1, self.n + 1):
            if self.bones[i].parallel:
                self._plate(i)
            else:
                self._elbow(i)
        for k in range(1, self.n + 1):
            self._joint(k)
        self._tool_flange()

    # ---- where things are on a joint axis (coordinates from the parent's exit) ----

    def _side(self, k: int) -> float:
        """+1 when the child of joint k sits on the positive side of its parent."""
        place, axis = self.places[k], self.axes[k - 1]
        if k == 1 and layout.upright(self.bones[0]):
            return math.copysign(1.0, self.bones[0].exit[2, 2])
        middle = axis.near + sum(place.child) / 2 - sum(place.parent) / 2
        if axis.kind == "prismatic" and place.mode == "quill":
            middle = sum(axis.foot)
        return 1.0 if middle >= 0.0 else -1.0

    def _gap(self, k: int) -> tuple[float, float]:
        """The parent's and the child's face that look at each other across joint k."""
        place, near = self.places[k], self.axes[k - 1].near
        if self._side(k) > 0:
            return place.parent[1], near + place.child[0]
        return place.parent[0], near + place.child[1]

    def _has_tube(self, k: int) -> bool:
        """Whether joint k is so far from its parent that a tube leads there."""
        if k > self.n or self.places[k].mode != "stack":
            return False
        parent, child = self._gap(k)
        return abs(child - parent) > 1.2 * self.r[k]

    # ---- bodies ----

    def _base(self) -> None:
        bone, r, style = self.bones[0], self.r[1], self.style
        if layout.upright(bone):
            up = math.copysign(1.0, bone.exit[2, 2])
            frame = bone.exit @ np.diag([1.0, up, up, 1.0])
            top = up * self._gap(1)[1] - 0.35 * r
            if self.places[1].mode == "mast":
                top = up * (self.axes[0].foot[0] + self.places[1].child[0]) - 0.1 * r
            floor = layout.floor_level(bone)
        else:
            frame = translate(*bone.exit[:3, 3])
            top, floor = 0.0, -float(bone.exit[2, 3])
            if self.places[1].mode == "fork":
                top = -layout.fork_length(r) + 0.3 * r
                self._fork(1, np.array([0.0, 0.0, -1.0]))
            else:
                lo, hi = self.places[1].parent
                self._cylinder(0, "base top", bone.exit, lo, hi, r, style.base)
                self._cap(0, "base cap", bone.exit, lo if self._side(1) > 0 else hi, self._side(1), r)
        height = max(style.base_height, layout.base_stack(r) - 0.35 * r)
        floor = min(floor, top - height)
        plate, head = floor + 0.2 * r, top - 0.3 * r
        if layout.upright(bone):
            self._cylinder(0, "base top", frame, head, top, 1.1 * r, style.base, bevel=0.1)
        else:
            head = top
        self._beam(0, "base", frame, plate - 0.1 * r, head, 1.2 * r, 0.98 * r, style.base, 1.0)
        self._cylinder(0, "base floor", frame, floor, plate, 1.7 * r, style.joint, bevel=0.06)
        bolt = Cylinder(0.11 * r, 0.16 * r, 0.03 * r)
        self._add(0, "base bolts", Pattern(bolt, 8, 1.45 * r), frame @ translate(z=plate + 0.06 * r),
                  style.steel, collides=False)  # fmt: skip

    def _plate(self, i: int) -> None:
        """Parallel axes: a lever with round ends, or a housing when the axes coincide."""
        bone, r0, r1 = self.bones[i], self.r[i], self.r[i + 1]
        lo, hi = self.places[i].child
        color = self.style.link
        name = f"{ordinal(i)} segment"
        if abs(bone.a) < 1e-9:
            self._cylinder(i, name, bone.foot, lo, hi, r0, color)
            return
        half = (hi - lo) / 2
        turn = rot_z(0.0 if bone.a > 0 else math.pi)
        pose = bone.foot @ translate(z=lo + half) @ turn @ translate(x=abs(bone.a) / 2)
        self._add(i, name, Lever(abs(bone.a), (r0, r1), 2 * half, 0.4 * half), pose, color)
        side = self._side(i)
        self._cap(i, f"{ordinal(i)} cap", bone.foot, hi if side > 0 else lo, -side, r0)
        if i < self.n and self.places[i + 1].mode in ("stack",):
            side = self._side(i + 1)
            lo, hi = self.places[i + 1].parent
            self._cap(i, f"{ordinal(i)} end cap", bone.exit, lo if side > 0 else hi, side, r1)

    def _elbow(self, i: int) -> None:
        """Axes that cross or are skew: a housing round each, and a beam between them if far."""
        bone, r0, r1 = self.bones[i], self.r[i], self.r[i + 1]
        lo, hi = self.places[i].child
        mode = self.places[i].mode
        fork_next = i < self.n and self.places[i + 1].mode == "fork"
        short = layout.is_short(bone, r0)
        housing = f"{ordinal(i)} housing"
        color = self.style.link
        side = self._side(i)
        tube = self._has_tube(i + 1)
        half = layout._crossing(bone, r0, r1)[1]
        if mode == "fork":
            self._cylinder(i, housing, bone.foot, lo, hi, 0.95 * r0, color)
        elif mode == "nest":
            self._cylinder(i, housing, bone.foot, lo, hi, 0.7 * r0, color)
        elif not short:
            self._cylinder(i, housing, bone.foot, lo, hi, r0, color)
        elif tube or (mode == "stack" and i > 1 and self.bones[i - 1].parallel and not fork_next):
            self._cylinder(i, housing, bone.foot, lo, hi, r0, color)
            self._cap(i, f"{ordinal(i)} cap", bone.foot, hi if side > 0 else lo, -side, r0)
        elif not fork_next:
            face = lo if side > 0 else hi
            neck = min(0.9 * r0, 0.94 * r1)
            self._cylinder(i, housing, bone.foot, min(face, 0.0), max(face, 0.0), neck, color)
        if fork_next:
            across = self._toward_foot(i)
            self._fork(i + 1, across)
            if short:
                return
        if not short:
            self._arm_beam(i, fork_next)
        if fork_next:
            return
        if not (short and tube) and not (i == self.n):
            name = f"{ordinal(i)} segment"
            lo, hi = (-half, half)
            if self.places[i + 1].mode == "stack":
                lo, hi = self.places[i + 1].parent
                s = self._side(i + 1)
                self._cap(i, f"{ordinal(i)} end cap", bone.exit, lo if s > 0 else hi, s, r1)
            self._cylinder(i, name, bone.exit, lo, hi, r1, color)

    def _arm_beam(self, i: int, to_fork: bool) -> None:
        """The beam along the common normal, from the foot's housing to the exit's."""
        bone, r0, r1 = self.bones[i], self.r[i], self.r[i + 1]
        lo, hi = self.places[i].child
        length = abs(bone.a)
        if to_fork:
            length -= 1.55 * r1
            if length < 0.3 * r1:
                return
        turn = rot_z(0.0 if bone.a > 0 else math.pi)
        # z of the beam along the normal, x along the foot axis.
        frame = bone.foot @ turn @ np.array(
            [[0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 1]], dtype=float
        )
        wide = 0.92 * (hi - lo)
        start, end = (wide, 1.6 * r0), (min(wide, 1.7 * r1), 1.5 * r1)
        shape = Beam(length, start, end, 0.5, 0.0)
        self._add(i, f"{ordinal(i)} segment", shape, frame @ translate(x=-(lo + hi) / 2, z=length / 2),
                  self.style.link)  # fmt: skip

    def _toward_foot(self, i: int) -> np.ndarray:
        """Direction across the exit axis from which body i arrives, in the body frame."""
        bone = self.bones[i]
        if not layout.is_short(bone, self.r[i]):
            return -math.copysign(1.0, bone.a) * bone.foot[:3, 0]
        lo, hi = self.places[i].child
        return bone.foot[:3, 2] * (1.0 if hi > -lo else -1.0)

    def _fork(self, k: int, toward: np.ndarray) -> None:
        """Two tines on the axis of joint k and the bridge that joins them, on the parent."""
        i, r, style = k - 1, self.r[k], self.style
        exit_ = self.bones[i].exit
        z = exit_[:3, 2]
        x = toward - z * (z @ toward)
        x /= np.linalg.norm(x)
        frame = np.eye(4)
        frame[:3, :3] = np.column_stack([x, np.cross(z, x), z])
        frame[:3, 3] = exit_[:3, 3] + z * sum(self.places[k].parent) / 2
        inside, tine = layout.fork_inside(r), layout.fork_tine(r)
        color = style.base if i == 0 else style.link
        name = "base" if i == 0 else ordinal(i)
        reach = 1.55 * r
        for sign, label in ((1.0, "left"), (-1.0, "right")):
            pose = frame @ translate(x=reach / 2, z=sign * (inside + tine / 2))
            lever = Lever(reach, (0.95 * r, 0.9 * r), tine, 0.3 * tine)
            self._add(i, f"{name} fork {label}", lever, pose, color)
        section = (2.04 * (inside + tine), 1.96 * r)
        bridge = Beam(0.62 * r, section, section, 0.6, 0.12 * r)
        pose = frame @ translate(x=reach) @ rot_y(math.pi / 2)
        self._add(i, f"{name} bridge", bridge, pose, color)

    # ---- joints ----

    def _joint(self, k: int) -> None:
        place, r, style = self.places[k], self.r[k], self.style
        exit_, name = self.bones[k - 1].exit, f"{ordinal(k)} joint"
        if place.mode == "fork":
            lo, hi = place.parent
            self._cylinder(k - 1, name, exit_, lo - 0.1 * r, hi + 0.1 * r, 0.6 * r, style.joint)
        elif place.mode == "nest":
            self._cylinder(k - 1, name, exit_, *place.parent, 0.9 * r, style.joint)
        elif place.mode == "mast":
            self._mast(k)
        elif place.mode == "quill":
            self._quill(k)
        else:
            self._hub(k)

    def _hub(self, k: int) -> None:
        """A dark hub with its accent ring against the child, a tube from the parent if far."""
        r, style, side = self.r[k], self.style, self._side(k)
        exit_, name = self.bones[k - 1].exit, f"{ordinal(k)} joint"
        parent, child = self._gap(k)
        on_base = k == 1 and layout.upright(self.bones[0])
        length = 0.35 * r if on_base else min(abs(child - parent), layout.hub_length(r))
        start = child - side * length
        if self._has_tube(k) and not on_base:
            root = sum(self.places[k].parent) / 2
            wide = min(0.9 * self.r[k - 1], 1.5 * r) if k > 1 else r
            lo, hi = sorted((root, start))
            self._beam(k - 1, f"{ordinal(k - 1)} segment", exit_, lo, hi,
                       *((wide, 0.96 * r)[:: int(side)]), style.link, 0.7)  # fmt: skip
        ends = sorted((start - side * 0.2 * r, child + side * 0.2 * r))
        self._cylinder(k - 1, name, exit_, *ends, 0.86 * r, style.joint, bevel=0.0)
        if length > 0.2 * r:
            middle = child - side * length / 2
            self._cylinder(k - 1, f"{name} ring", exit_, middle - 0.05 * r, middle + 0.05 * r,
                           0.9 * r, style.accent, bevel=0.02, collides=False)  # fmt: skip

    def _quill(self, k: int) -> None:
        place, axis, r, style = self.places[k], self.axes[k - 1], self.r[k], self.style
        name = f"{ordinal(k)} joint"
        lo, hi = place.parent
        self._cylinder(k - 1, name, self.bones[k - 1].exit, lo, hi, 0.75 * r, style.joint, bevel=0.1)
        rod = (min(place.child[0], lo - axis.foot[1]), max(place.child[1], hi - axis.foot[0]))
        self._cylinder(k, f"{ordinal(k)} rod", self.bones[k].foot, rod[0] - 0.2 * r,
                       rod[1], 0.42 * r, style.steel, bevel=0.05)  # fmt: skip

    def _mast(self, k: int) -> None:
        place, axis, r, style = self.places[k], self.axes[k - 1], self.r[k], self.style
        bottom = sum(place.parent) / 2 if k > 1 else axis.foot[0] + place.child[0] - 0.3 * r
        top = axis.foot[1] + place.child[1] + 0.5 * r
        self._cylinder(k - 1, f"{ordinal(k)} joint", self.bones[k - 1].exit, bottom, top, 0.5 * r,
                       style.steel)  # fmt: skip

    # ---- the end ----

    def _flange_thickness(self) -> float:
        return 0.3 * self.r[-1]

    def _clamp_length(self) -> float:
        return 0.0 if self.gripper is None else 1.2 * self.gripper.finger[2]

    def _tool_flange(self) -> None:
        n, style, rf = self.n, self.style, self.r[-1]
        bone = self.bones[n]
        if bone.parallel:
            lo, hi = self.places[n].child
            flip = math.copysign(1.0, bone.cosine)
            lo, hi = sorted((flip * lo, flip * hi))
        else:
            half = max(layout._crossing(bone, self.r[n], rf)[1], self.r[n])
            if self.places[n].mode == "fork":
                half = 1.05 * self.r[n]
            lo, hi = -half, half
            self._cylinder(n, f"{ordinal(n)} segment", bone.exit, 0.0, half, 0.8 * rf, style.link)
        thick = self._flange_thickness()
        face = hi + thick
        self._cylinder(n, "tool flange", bone.exit, hi - 0.2 * thick, face, rf, style.steel, bevel=0.05)
        bolt = Cylinder(0.1 * rf, 0.12 * rf, 0.02 * rf)
        self._add(n, "tool flange bolts", Pattern(bolt, 6, 0.72 * rf),
                  bone.exit @ translate(z=face), style.joint, collides=False)  # fmt: skip
        start = (bone.exit @ translate(z=face))[:3, 3]
        target = self.tool @ translate(z=-self._clamp_length())
        gap = target[:3, 3] - start
        length = float(np.linalg.norm(gap))
        ahead = float(gap @ bone.exit[:3, 2])
        if length > 0.05 * rf and not (self.gripper is None and ahead < 0 and length + ahead < rf):
            if ahead < 0 and self.gripper is not None and length + ahead < 1e-6:
                target = bone.exit @ translate(z=face)
            else:
                pose = align_z(gap)
                pose[:3, 3] = start + gap / 2
                width = 0.55 * rf
                self._add(n, "tool neck", Beam(length + 0.1 * rf, (2 * width,) * 2, (1.7 * width,) * 2, 1.0),
                          pose, style.joint)  # fmt: skip
        if self.gripper is not None:
            self._clamp(target)

    def _clamp(self, back: np.ndarray) -> None:
        """Palm and fingers in front of `back`, whose z looks out of the hand."""
        assert self.gripper is not None
        n, style = self.n, self.style
        x, y, z = self.gripper.finger
        opening = self.gripper.opening[1]
        palm = (max(1.6 * x, 0.9 * self.r[-1]), opening + 2.0 * y + 0.5 * x, 0.5 * z)
        self._add(n, "clamp", Box(palm, 0.12 * min(palm)), back @ translate(z=palm[2] / 2), style.joint)
        for sign, side in ((1.0, "left"), (-1.0, "right")):
            centre = translate(y=sign * (opening + y) / 2, z=palm[2] + z / 2)
            self._add(n, f"finger {side}", Box((x, y, z), 0.1 * min(x, y)), back @ centre, style.steel)

    # ---- strokes ----

    def _cylinder(self, i, name, frame, lo, hi, radius, color, bevel=0.16, collides=True) -> None:
        shape = Cylinder(radius, hi - lo, min(bevel * radius, 0.45 * (hi - lo)))
        self._add(i, name, shape, frame @ translate(z=(lo + hi) / 2), color, collides)

    def _beam(self, i, name, frame, lo, hi, r_lo, r_hi, color, corner) -> None:
        shape = Beam(hi - lo, (2 * r_lo,) * 2, (2 * r_hi,) * 2, corner)
        self._add(i, name, shape, frame @ translate(z=(lo + hi) / 2), color)

    def _cap(self, i, name, frame, face, inward, radius) -> None:
        """A round cover on a face; `inward` is +1 when the solid lies on the positive side."""
        out = -inward
        lo, hi = sorted((face - out * 0.1 * radius, face + out * 0.08 * radius))
        self._cylinder(i, name, frame, lo, hi, 0.68 * radius, self.style.joint, bevel=0.05,
                       collides=False)  # fmt: skip

    def _add(self, i, name: str, shape: Shape, pose, color: Color, collides: bool = True) -> None:
        self.parts[i].append(Part(name, shape, frozen(pose, (4, 4)), color, collides))


def _named(i: int, parts: list[Part]) -> tuple[Part, ...]:
    """Make names unique, and see that the body has its segment."""
    segment = f"{ordinal(i)} segment"
    if i and all(part.name != segment for part in parts):
        biggest = next(k for k, p in enumerate(parts) if "joint" not in p.name and p.collides)
        parts = [replace(p, name=segment) if k == biggest else p for k, p in enumerate(parts)]
    seen: dict[str, int] = {}
    unique = []
    for part in parts:
        seen[part.name] = seen.get(part.name, 0) + 1
        again = seen[part.name]
        unique.append(part if again == 1 else replace(part, name=f"{part.name} {again}"))
    return tuple(unique)
