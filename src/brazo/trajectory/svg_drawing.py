"""Reading of SVG files as a `Drawing`: every visible path and shape, with its transforms.

Lines, Bézier curves and elliptic arcs are exact.  The size follows from width and height in the
file, or from 96 units per inch.  The y axis of the drawing points up, unlike that of SVG.  Text and
images are not drawn.
"""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.files import require_file
from brazo.trajectory.curves import Curve, Ellipse
from brazo.trajectory.drawing import MAX_PIECES, Drawing, Stroke, bezier, chain
from brazo.trajectory.svg_document import drawn_part

_METRES = 0.0254 / 96.0  # of an SVG unit
MAX_BYTES = 4 << 20
# Raised by svgelements for values that it cannot read.
_UNREADABLE = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError)


def read_svg(path: str | Path) -> Drawing:
    """Read an SVG file as a drawing, in m."""
    path = Path(path)
    require_file(path)
    if path.stat().st_size > MAX_BYTES:
        raise BrazoError(
            f"{path}: the file is larger than {MAX_BYTES >> 20} MB; simplify the drawing"
        )
    return parse_svg(path.read_bytes(), str(path))


def parse_svg(data: bytes | str, name: str = "SVG") -> Drawing:
    """Read the text of an SVG file as a drawing, in m; error messages start with `name`."""
    import svgelements as svg

    if len(data) > MAX_BYTES:
        raise BrazoError(
            f"{name}: the file is larger than {MAX_BYTES >> 20} MB; simplify the drawing"
        )
    drawn = drawn_part(data, name)
    try:
        # Transforms are applied here: those of the library keep the axes of an ellipse orthogonal.
        document = svg.SVG.parse(io.BytesIO(drawn), reify=False, ppi=96.0)
        strokes: list[Stroke] = []
        pieces = 0
        for element in document.elements(_drawn):
            segments = element.segments(transformed=False)
            pieces += len(segments)
            if pieces > 2 * MAX_PIECES:  # a move is a segment, too
                raise BrazoError(
                    f"{name}: more than {MAX_PIECES} pieces of lines and curves; simplify the "
                    "drawing"
                )
            strokes += _strokes(segments, element.transform)
    except _UNREADABLE as error:
        raise BrazoError(f"{name}: not a readable SVG file: {error}") from None
    if not strokes:
        raise BrazoError(
            f"{name}: no path or shape to draw; convert text to paths, and check that something "
            "is visible"
        )
    return Drawing(tuple(strokes))


def _drawn(element: Any) -> bool:
    import svgelements as svg

    if not isinstance(element, svg.Shape):
        return False
    values = element.values or {}
    hidden = values.get("visibility") in ("hidden", "collapse")
    return not hidden and values.get("display") != "none"


def _strokes(segments: Any, matrix: Any) -> list[Stroke]:
    """Strokes of an SVG shape after its transform, in m."""
    import svgelements as svg

    found: list[Stroke] = []
    pieces: list[Curve] = []

    def at(p: Any) -> tuple[float, float]:
        return _point(p, matrix)

    def end() -> None:
        if pieces:
            found.append(chain(pieces))
            pieces.clear()

    for segment in segments:
        if isinstance(segment, svg.Move):
            end()
        elif isinstance(segment, (svg.Line, svg.Close)):
            if segment.start is not None and segment.end is not None:
                pieces += bezier([at(segment.start), at(segment.end)])
            if isinstance(segment, svg.Close):
                end()
        elif isinstance(segment, svg.QuadraticBezier):
            pieces += bezier([at(p) for p in (segment.start, segment.control, segment.end)])
        elif isinstance(segment, svg.CubicBezier):
            controls = (segment.start, segment.control1, segment.control2, segment.end)
            pieces += bezier([at(p) for p in controls])
        elif isinstance(segment, svg.Arc):
            pieces += _arc(segment, matrix)
    end()
    return found


def _arc(segment: Any, matrix: Any) -> list[Curve]:
    centre = np.array([*_point(segment.center, matrix), 0.0])
    a = np.array([*_point(segment.prx, matrix), 0.0]) - centre
    b = np.array([*_point(segment.pry, matrix), 0.0]) - centre
    if min(np.linalg.norm(a), np.linalg.norm(b)) < 1e-12 or not segment.sweep:
        return bezier([_point(segment.start, matrix), _point(segment.end, matrix)])
    start = float(segment.get_start_t())
    if not math.isfinite(start + segment.sweep):
        raise ValueError("an angle of an arc is not finite")
    return [Ellipse(centre, a, b, (start, start + float(segment.sweep)))]


def _point(p: Any, matrix: Any) -> tuple[float, float]:
    moved = matrix.point_in_matrix_space(p)
    x, y = _METRES * float(moved.x), -_METRES * float(moved.y)
    if not (math.isfinite(x) and math.isfinite(y)):
        raise ValueError("a coordinate is not finite")
    return x, y
