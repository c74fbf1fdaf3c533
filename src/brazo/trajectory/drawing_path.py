"""Tool paths that draw text, SVG files or strokes through points; the pen is up between strokes.

The tool starts above the first stroke, lowers the pen, draws the stroke with a stop at every
corner, raises the pen and moves to the next stroke.  It ends above the last stroke.  The pen is
raised by `lift` along the normal of the plane or, with `retract="tool"`, along the negative z axis
of the tool.

A given duration is divided among all parts of the path.  The time of a part of length l is
proportional to √(l² + l·2 cm), so that short parts do not have high accelerations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from brazo.checks import one_of, positive
from brazo.errors import BrazoError
from brazo.trajectory.cartesian import CartesianPath, SequencePath
from brazo.trajectory.curves import Curve, Straight
from brazo.trajectory.drawing import Drawing, drawing_of_points, sections
from brazo.trajectory.paths import Z, along, plane_axes
from brazo.trajectory.reading import vector
from brazo.trajectory.svg_drawing import read_svg
from brazo.trajectory.text_drawing import text_drawing
from brazo.trajectory.timing import Timing, read_timing
from brazo.trajectory.tool_orientation import Constant, Radial, ToolOrientation, read_orientation

Array = np.ndarray
Retract = Literal["normal", "tool"]
RETRACTS: tuple[Retract, ...] = ("normal", "tool")
LIFT = 0.01  # m
_EASY = 0.02  # m; shorter parts get more time than their share of the length


class DrawingPath(SequencePath):
    """Tool path that draws strokes one after another; `pen_down` gives the times of the strokes."""

    def __init__(self, parts: Sequence[tuple[CartesianPath, bool]]) -> None:
        super().__init__([path for path, _ in parts])
        self._down = tuple(down for _, down in parts)

    @property
    def pen_down(self) -> Array:
        """Start and end times (s) of all strokes, as an array (k, 2)."""
        found: list[list[float]] = []
        for k, down in enumerate(self._down):
            start, end = float(self._starts[k]), float(self._starts[k + 1])
            if down and found and self._down[k - 1]:
                found[-1][1] = end
            elif down:
                found.append([start, end])
        return np.array(found)

    def _placed(self, scale: float, b: Array) -> DrawingPath:
        parts = [path._placed(scale, b) for path in self.paths]
        return DrawingPath(list(zip(parts, self._down, strict=True)))


def draw(
    drawing: Drawing,
    centre: Any,
    orientation: Any,
    timing: Timing | float,
    normal: Any = Z,
    start: Any = None,
    lift: float = LIFT,
    retract: Retract = "normal",
) -> DrawingPath:
    """Tool path for a drawing in a plane in space.

    `centre` is the position of the drawing's origin, `normal` the normal of the plane, and `start`
    the direction of the drawing's x axis.  `orientation` is the tool orientation, a rotation matrix
    or `Radial`.  `timing` is a `Timing`, or the duration in seconds.  Between strokes the pen is
    raised by `lift` (m), along `normal` or, with `retract="tool"`, along the negative z axis of the
    tool.
    """
    turning = read_orientation(orientation)
    if not isinstance(turning, Constant | Radial):
        raise BrazoError(
            "a drawing needs an orientation that does not depend on the direction of the path: a "
            "rotation matrix, or Radial"
        )
    one_of(retract, RETRACTS, "retract")
    lift = positive(lift, "lift")
    axes = plane_axes(normal, start)
    placed = drawing.placed(axes, vector(centre, 3, "centre"))
    parts = _parts(placed, turning, lift, axes[:, 2] if retract == "normal" else None)
    shares = np.array([math.sqrt(curve.length * (curve.length + _EASY)) for curve, _ in parts])
    timing = read_timing(timing)
    return DrawingPath(
        [
            (along(curve, turning, timing.shared(float(share))), down)
            for (curve, down), share in zip(parts, shares / shares.sum(), strict=True)
        ]
    )


def text(
    content: str,
    height: float,
    centre: Any,
    orientation: Any,
    timing: Timing | float,
    font: str = "single-stroke",
    normal: Any = Z,
    start: Any = None,
    lift: float = LIFT,
    retract: Retract = "normal",
) -> DrawingPath:
    """Tool path for a text centred at `centre`; see `text_drawing` for the fonts.

    `height` (m) is the height of a capital letter.  The other arguments are those of `draw`.
    """
    drawing = text_drawing(content, height, font).centred()
    return draw(drawing, centre, orientation, timing, normal, start, lift, retract)


def svg(
    file: str | Path,
    centre: Any,
    orientation: Any,
    timing: Timing | float,
    width: float | None = None,
    height: float | None = None,
    normal: Any = Z,
    start: Any = None,
    lift: float = LIFT,
    retract: Retract = "normal",
) -> DrawingPath:
    """Tool path for the paths of an SVG file, centred at `centre`.

    The drawing is scaled to `width` or `height` (m), or to fit into both; by default it has the
    size given in the file.  The other arguments are those of `draw`.
    """
    drawing = read_svg(file)
    if width is not None or height is not None:
        drawing = drawing.fitted(width, height)
    return draw(drawing.centred(), centre, orientation, timing, normal, start, lift, retract)


def strokes(
    points: Any,
    centre: Any,
    orientation: Any,
    timing: Timing | float,
    smooth: bool = True,
    normal: Any = Z,
    start: Any = None,
    lift: float = LIFT,
    retract: Retract = "normal",
) -> DrawingPath:
    """Tool path for strokes through points.

    `points` is a list of arrays (k, 2) in m, relative to `centre` in the plane.  With `smooth`, the
    points are joined by splines, otherwise by straight lines.  The other arguments are those of
    `draw`.
    """
    drawing = drawing_of_points(points, smooth)
    return draw(drawing, centre, orientation, timing, normal, start, lift, retract)


def pen_is_down(path: CartesianPath, t: Any) -> Array:
    """Return whether the pen is down at times t (...,); always true for a path without a pen."""
    times = np.asarray(t, dtype=float)
    if not isinstance(path, DrawingPath):
        return np.ones(times.shape, dtype=bool)
    start, end = path.pen_down.T
    k = np.searchsorted(start, times, side="right") - 1
    return (k >= 0) & (times <= end[np.maximum(k, 0)])


def _parts(
    drawing: Drawing, orientation: ToolOrientation, lift: float, normal: Array | None
) -> list[tuple[Curve, bool]]:
    """Curves of the path in order, each with a flag that is true if the pen is down.

    The pen is raised along `normal`, or along the negative z axis of the tool if `normal` is None.
    """

    def raised(p: Array) -> Array:
        if normal is not None:
            return p + lift * normal
        still = np.zeros((4, 1, 3))
        still[0, 0] = p
        return p - lift * orientation.at(np.zeros(1), still)[0][0, :, 2]

    found: list[tuple[Curve, bool]] = []
    above: Array | None = None
    for stroke in drawing.strokes:
        first = stroke[0].at(np.zeros(1))[0, 0]
        last = stroke[-1].at(np.ones(1))[0, 0]
        over = raised(first)
        if above is not None and np.linalg.norm(over - above) > 1e-9:
            found.append((Straight(above, over), False))
        found.append((Straight(over, first), False))
        found += [(section, True) for section in sections(stroke)]
        above = raised(last)
        found.append((Straight(last, above), False))
    return found
