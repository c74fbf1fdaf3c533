"""Curve for the tool, defined by its kind, plane and dimensions, as edited in the panel.

By default, a geometric curve starts at the tool pose at which the draft was created, so that no
approach motion is needed.  A drawing (text, SVG file or strokes of the drawing pad) is centred at
this pose, and the pen is raised between strokes.  A recorded motion keeps its recorded position.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from brazo.errors import BrazoError
from brazo.trajectory import (
    RecordedPath,
    circle,
    draw,
    drawing_of_points,
    helix,
    lissajous,
    parse_svg,
    spiral,
    square,
    text,
)
from brazo.trajectory.drawing_path import Retract

if TYPE_CHECKING:
    from brazo.trajectory import CartesianPath

Array = np.ndarray
Strokes = tuple[tuple[tuple[float, float], ...], ...]  # of the pad: x, y from −0.5 to 0.5
PLANES = {"xy": (0, 1, 2), "xz": (0, 2, 1), "yz": (1, 2, 0)}  # two in-plane axes, normal
MAX_STROKES = 200
MAX_STROKE_POINTS = 500


@dataclass(frozen=True, slots=True)
class Size:
    """Dimension of a curve: its label, displayed unit and default value."""

    title: str
    unit: Literal["mm", "number"]
    first: float  # default, SI


_LIFT = Size("Pen lift", "mm", 0.01)
CURVES: dict[str, dict[str, Size]] = {
    "circle": {"radius": Size("Radius", "mm", 0.05), "turns": Size("Turns", "number", 1.0)},
    "square": {"side": Size("Side", "mm", 0.08), "blend": Size("Round corners", "mm", 0.0)},
    "spiral": {
        "first": Size("First radius", "mm", 0.01),
        "last": Size("Last radius", "mm", 0.05),
        "turns": Size("Turns", "number", 3.0),
    },
    "helix": {
        "radius": Size("Radius", "mm", 0.04),
        "pitch": Size("Pitch", "mm", 0.01),
        "turns": Size("Turns", "number", 2.0),
    },
    "lissajous": {
        "width": Size("Width", "mm", 0.08),
        "height": Size("Height", "mm", 0.06),
        "across": Size("X frequency", "number", 1.0),
        "along": Size("Y frequency", "number", 2.0),
    },
}
DRAWINGS: dict[str, dict[str, Size]] = {
    "text": {"height": Size("Letter height", "mm", 0.02), "lift": _LIFT},
    "svg": {"width": Size("Width", "mm", 0.08), "lift": _LIFT},
    "drawing": {"width": Size("Pad width", "mm", 0.08), "lift": _LIFT},
}
KINDS: dict[str, dict[str, Size]] = {**CURVES, **DRAWINGS, "recorded": {}}
TITLES = {kind: kind.capitalize() for kind in KINDS} | {
    "svg": "SVG file",
    "drawing": "Drawing pad",
    "recorded": "Recorded motion",
}


@dataclass(eq=False, slots=True)
class _Texts:
    """Cached texts that describe a curve, by name; valid until the curve is edited."""

    values: tuple[Any, ...]
    arrays: tuple[Any, ...]  # compared by identity
    found: dict[str, str]


@dataclass
class ToolCurve:
    """Curve for the tool, in the robot's base frame.

    To edit an array, assign a new one; the cache does not detect changes in place.
    """

    start: Array  # (4, 4) tool pose at the start, or at the centre of a drawing
    kind: str = "circle"
    plane: str = "xy"
    time: float = 4.0  # s, duration
    sizes: dict[str, float] = field(default_factory=dict)
    content: str = "brazo"  # of a text
    font: str = "single-stroke"
    retract: Retract = "tool"
    svg: str = ""  # the SVG file
    svg_name: str = ""
    strokes: Strokes = ()
    recorded: tuple[Array, Array] | None = None  # times (k,) and poses (k, 4, 4)
    _texts: _Texts | None = field(default=None, init=False, repr=False, compare=False)

    def copy(self) -> ToolCurve:
        """Copy of the curve; edits of the copy do not affect the original."""
        return replace(self, sizes=dict(self.sizes))

    def cached(self, name: str, make: Callable[[], str]) -> str:
        """Result of `make()`, cached under `name` until the curve is edited."""
        named = (self.kind, self.plane, self.time, self.content, self.font, self.retract)
        contents = (self.svg_name, self.svg, self.strokes)
        values, arrays = (named, tuple(self.sizes.items()), contents), (self.start, self.recorded)
        known = self._texts
        if (
            known is None
            or known.values != values
            or any(a is not b for a, b in zip(known.arrays, arrays, strict=True))
        ):
            known = self._texts = _Texts(values, arrays, {})
        if name not in known.found:
            known.found[name] = make()
        return known.found[name]

    def size(self, name: str) -> float:
        """Return the dimension with this name, e.g. "radius", of the current kind, in SI units."""
        return self.sizes.get(f"{self.kind}.{name}", KINDS[self.kind][name].first)

    def text(self) -> str:
        """Return kind, plane, dimensions and time as one line of text, in SI units.

        Long contents, such as an SVG file, are represented by a hash.
        """
        return self.cached("text", self._text)

    def _text(self) -> str:
        sizes = "".join(f", {name} {self.size(name):g}" for name in KINDS[self.kind])
        return f"{self.kind}, plane {self.plane}{sizes}{self._contents()}, time {self.time:g}"

    def _contents(self) -> str:
        match self.kind:
            case "text":
                return f", {json.dumps(self.content)} {self.font}, retract {self.retract}"
            case "svg":
                found = f"{self.svg_name} {_digest(self.svg.encode())}"
                return f", {found}, retract {self.retract}"
            case "drawing":
                found = f"{len(self.strokes)} strokes {_digest(repr(self.strokes).encode())}"
                return f", {found}, retract {self.retract}"
            case "recorded" if self.recorded is not None:
                return f", {len(self.recorded[0])} poses {_digest(*self.recorded)}"
        return ""

    def place(self, shift: Array, scale: float, about: Array) -> None:
        """Scale the curve about the point `about` (3,), then translate it by `shift` (3,), in m."""
        if self.recorded is not None and self.kind == "recorded":
            t, poses = self.recorded
            poses = poses.copy()
            poses[:, :3, 3] = about + scale * (poses[:, :3, 3] - about) + shift
            self.recorded = t, poses
            return
        start = self.start.copy()
        start[:3, 3] = about + scale * (start[:3, 3] - about) + shift
        self.start = start
        for name, size in KINDS[self.kind].items():
            if size.unit == "mm":
                self.sizes[f"{self.kind}.{name}"] = scale * self.size(name)

    def path(self) -> CartesianPath:
        """Return the tool path over time.

        Raises `BrazoError` if the recording, SVG file or strokes are missing, or if a dimension is
        invalid.
        """
        if self.kind == "recorded":
            if self.recorded is None:
                raise BrazoError("no recorded motion yet: choose a recording first")
            t, poses = self.recorded
            return RecordedPath(self.time * t / t[-1], poses)
        a, b, n = (np.eye(3)[i] for i in PLANES[self.plane])
        # The curve must turn from the first axis of the plane to the second.
        normal = n if np.cross(a, b) @ n > 0.0 else -n
        if self.kind in DRAWINGS:
            return self._drawing(a, normal)
        p, R, size = self.start[:3, 3], self.start[:3, :3], self.size
        plane = {"normal": normal, "start": a}
        if self.kind == "circle":
            r = size("radius")
            return circle(p - r * a, r, R, self.time, turns=size("turns"), **plane)
        if self.kind == "square":
            half, blend = 0.5 * size("side"), size("blend")
            corners = {"corners": "blend", "blend": blend} if blend > 0.0 else {}
            return square(p - half * (a + b), 2.0 * half, R, self.time, **plane, **corners)
        if self.kind == "spiral":
            radii = size("first"), size("last")
            return spiral(p - radii[0] * a, radii, size("turns"), R, self.time, **plane)
        if self.kind == "helix":
            r = size("radius")
            return helix(
                p - r * a, r, size("pitch"), size("turns"), R, self.time, axis=normal, start=a
            )
        swing = 0.5 * np.array([size("width"), size("height")])
        often = size("across"), size("along")
        return lissajous(p - swing[0] * a, swing, often, R, self.time, **plane)

    def _drawing(self, along: Array, normal: Array) -> CartesianPath:
        p, R = self.start[:3, 3], self.start[:3, :3]
        pen = {"lift": self.size("lift"), "retract": self.retract}
        plane = {"normal": normal, "start": along}
        if self.kind == "text":
            height = self.size("height")
            return text(self.content, height, p, R, self.time, self.font, **plane, **pen)
        if self.kind == "svg":
            if not self.svg:
                raise BrazoError("no SVG file yet: load one first")
            drawing = parse_svg(self.svg, self.svg_name).fitted(self.size("width")).centred()
        else:
            if not self.strokes:
                raise BrazoError("no strokes yet: draw on the pad, or use a camera")
            drawing = drawing_of_points(self.strokes).scaled(self.size("width"))
        return draw(drawing, p, R, self.time, **plane, **pen)


def _digest(*contents: bytes | Array) -> str:
    found = hashlib.sha256()
    for one in contents:
        found.update(one if isinstance(one, bytes) else np.ascontiguousarray(one).tobytes())
    return found.hexdigest()[:12]
