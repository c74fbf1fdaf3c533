"""Curves in programs and trajectory files: declaration, reading and transformation to a path.

Each curve is a path of `brazo.trajectory`.  Points and directions are given in a user frame and
transformed to the robot's base frame, where joint motion is planned.

The name of an SVG file is relative to the file that refers to it.  The SVG file must be in the same
folder or below, so that a file from an untrusted source cannot read arbitrary files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Any, Literal

import numpy as np

from brazo import units
from brazo.errors import BrazoError
from brazo.formats.document import Field
from brazo.trajectory.cartesian import CartesianPath
from brazo.trajectory.drawing import Drawing
from brazo.trajectory.drawing_path import RETRACTS, draw, strokes, text
from brazo.trajectory.paths import arc, circle, helix, lissajous, polyline, spiral, square
from brazo.trajectory.svg_drawing import parse_svg, read_svg
from brazo.trajectory.text_drawing import FONTS, text_drawing
from brazo.trajectory.timing import Timing

Array = np.ndarray
Kind = Literal[
    "point", "direction", "number", "numbers", "points", "word", "switch", "text", "file", "strokes"
]
MAX_POINTS = 1000
MAX_STROKES = 500
MAX_DATA = 100_000  # characters of path data


@dataclass(frozen=True, slots=True)
class CurveField:
    """Declaration of one argument of a curve."""

    kind: Kind
    dimension: units.Dimension = units.NUMBER
    count: tuple[int, ...] = ()  # allowed numbers of values of a list
    needed: bool = False
    words: tuple[str, ...] = ()


_CENTRE = CurveField("point", needed=True)
_RADIUS = CurveField("number", units.LENGTH, needed=True)
_PLANE = {"normal": CurveField("direction"), "start": CurveField("direction")}
_CORNERS = {
    "corners": CurveField("word", words=("stop", "blend")),
    "blend": CurveField("number", units.LENGTH),
}
_PEN = {
    "lift": CurveField("number", units.LENGTH),
    "retract": CurveField("word", words=RETRACTS),
}

CURVES: dict[str, dict[str, CurveField]] = {
    "circle": {"centre": _CENTRE, "radius": _RADIUS, "turns": CurveField("number"), **_PLANE},
    "arc": {"points": CurveField("points", count=(3,), needed=True)},
    "square": {
        "centre": _CENTRE,
        "side": CurveField("number", units.LENGTH, needed=True),
        **_PLANE,
        **_CORNERS,
    },
    "spiral": {
        "centre": _CENTRE,
        "radii": CurveField("numbers", units.LENGTH, (2,), needed=True),
        "turns": CurveField("number", needed=True),
        **_PLANE,
    },
    "helix": {
        "centre": _CENTRE,
        "radius": _RADIUS,
        "pitch": CurveField("number", units.LENGTH, needed=True),
        "turns": CurveField("number", needed=True),
        "axis": CurveField("direction"),
        "start": CurveField("direction"),
    },
    "lissajous": {
        "centre": _CENTRE,
        "amplitudes": CurveField("numbers", units.LENGTH, (2, 3), needed=True),
        "frequencies": CurveField("numbers", units.NUMBER, (2, 3), needed=True),
        "phases": CurveField("numbers", units.ANGLE, (2, 3)),
        **_PLANE,
    },
    "polyline": {"points": CurveField("points", needed=True), **_CORNERS},
    "text": {
        "text": CurveField("text", needed=True),
        "height": CurveField("number", units.LENGTH, needed=True),
        "centre": _CENTRE,
        "font": CurveField("word", words=FONTS),
        **_PLANE,
        **_PEN,
    },
    "svg": {
        "file": CurveField("file"),
        "data": CurveField("text"),
        "centre": _CENTRE,
        "width": CurveField("number", units.LENGTH),
        "height": CurveField("number", units.LENGTH),
        **_PLANE,
        **_PEN,
    },
    "strokes": {
        "points": CurveField("strokes", needed=True),
        "centre": _CENTRE,
        "smooth": CurveField("switch"),
        **_PLANE,
        **_PEN,
    },
}
_MAKERS: dict[str, Any] = {
    "circle": circle,
    "square": square,
    "spiral": spiral,
    "helix": helix,
    "lissajous": lissajous,
    "strokes": strokes,
}


def check_curve(curve: str, values: Mapping[str, Any]) -> None:
    """Raise an error for an unknown curve, or for unknown or missing arguments."""
    if curve not in CURVES:
        raise BrazoError(f"no curve '{curve}'; curves: {', '.join(CURVES)}")
    known = CURVES[curve]
    for name in values:
        if name not in known:
            raise BrazoError(f"{curve} has no argument '{name}'; arguments: {', '.join(known)}")
    for name, field in known.items():
        if field.needed and name not in values:
            raise BrazoError(f"curve '{curve}' needs '{name}'")
    if curve == "svg" and ("file" in values) == ("data" in values):
        raise BrazoError("curve 'svg' needs either 'file' or 'data' (path data in mm), not both")


def read_curve(curve: str, block: Field) -> dict[str, Any]:
    """Read the arguments of a curve in a file, in SI units; errors name file, line and field."""
    known = CURVES[curve]
    fields = block.mapping(known)
    values = {name: _value(known[name], one) for name, one in fields.items()}
    with block.errors_here():
        check_curve(curve, values)
    try:
        # What can be wrong in the contents of an argument.
        if curve == "text":
            text_drawing(values["text"], values["height"], values.get("font", FONTS[0]))
        elif curve == "svg":
            _svg(values, block.folder)
    except BrazoError as error:
        name = "text" if curve == "text" else "file" if "file" in values else "data"
        fields[name].fail(str(error))
    return values


def _value(kind: CurveField, field: Field) -> Any:
    match kind.kind:
        case "word":
            return field.choice(*kind.words)
        case "switch":
            return field.choice("on", "off", "true", "false") in ("on", "true")
        case "text":
            return field.text(at_most=MAX_DATA)
        case "file":
            return _file_name(field)
        case "number":
            return field.number(kind.dimension)
        case "point":
            return tuple(field.numbers(3, units.LENGTH))
        case "direction":
            return tuple(field.numbers(3))
        case "strokes":
            found = [_stroke(one) for one in field.items(MAX_STROKES)]
            if not found:
                field.fail("no strokes; expected lists of points [x, y]")
            return tuple(found)
        case "points":
            return _points(kind, field)
    items = list(field.items())
    if len(items) not in kind.count:
        field.fail(f"{len(items)} numbers; expected {' or '.join(map(str, kind.count))}")
    return tuple(item.number(kind.dimension) for item in items)


def _points(kind: CurveField, field: Field) -> tuple[tuple[float, ...], ...]:
    points = [tuple(item.numbers(3, units.LENGTH)) for item in field.items(MAX_POINTS)]
    least = kind.count[0] if kind.count else 2
    if len(points) < least or (kind.count and len(points) != least):
        field.fail(f"{len(points)} points; expected {'' if kind.count else 'at least '}{least}")
    return tuple(points)


def _stroke(field: Field) -> tuple[tuple[float, ...], ...]:
    points = tuple(tuple(item.numbers(2, units.LENGTH)) for item in field.items(MAX_POINTS))
    if len(set(points)) < 2:
        field.fail(f"{len(points)} points; expected at least 2 different ones")
    return points


def _file_name(field: Field) -> str:
    name = field.text(at_most=400).strip()
    # The stricter rules of Windows hold everywhere: no drive, root or parent folder.
    pure = PureWindowsPath(name)
    if not name.isprintable() or not pure.parts or ".." in pure.parts or pure.anchor:
        field.fail("expected the name of an SVG file in the folder of this file or in a subfolder")
    return name


def svg_of(curve: str, values: Mapping[str, Any], folder: Path | None) -> Drawing | None:
    """Read, scale and centre the drawing of an `svg` curve; return None for other curves.

    The drawing can be passed to several calls of `curve_in_base`.
    """
    return _svg(values, folder) if curve == "svg" else None


def _svg(values: Mapping[str, Any], folder: Path | None) -> Drawing:
    """Read the drawing of an `svg` curve from its SVG file or path data; scale and centre it."""
    if "data" in values:
        data = str(values["data"]).replace("&", "").replace('"', "").replace("<", "")
        # Path data is in mm, y up.
        size = 'width="100mm" height="100mm" viewBox="0 0 100 100"'
        drawing = parse_svg(
            f'<svg xmlns="http://www.w3.org/2000/svg" {size}><path transform="scale(1,-1)" '
            f'd="{data}"/></svg>',
            "path data",
        )
    else:
        file = Path(values["file"])
        if not file.is_absolute():
            if folder is None:
                raise BrazoError(
                    "SVG files are searched in the folder of the program or trajectory file; save "
                    "that file first, or give the path data as 'data'"
                )
            folder, file = folder.resolve(), (folder / file).resolve()
            if not file.is_relative_to(folder):  # a link
                raise BrazoError(
                    f"'{values['file']}' is outside {folder}; copy the SVG file into this folder"
                )
        drawing = read_svg(file)
    if values.get("width") is not None or values.get("height") is not None:
        drawing = drawing.fitted(values.get("width"), values.get("height"))
    return drawing.centred()


def curve_in_base(
    curve: str,
    values: Mapping[str, Any],
    T: Array,
    R: Array,
    timing: Timing | float,
    folder: Path | None = None,
    drawing: Drawing | None = None,
) -> CartesianPath:
    """Create the path of a curve in the base frame.

    `values` are the arguments of the curve, with points and directions in the user frame.  `T`
    (4, 4) is the pose of this frame and `R` (3, 3) the tool orientation, both in the base frame.
    `folder` is the folder of the file that contains the curve; SVG files are searched there.
    `drawing` is the drawing of an `svg` curve if it has already been read.
    """
    given: dict[str, Any] = {}
    # Angles of a curve start at the x axis of its frame, not of the base.
    fields = CURVES[curve]
    axis = "axis" if "axis" in fields else "normal"
    if axis in fields:
        given[axis] = T[:3, 2]
        normal = np.asarray(values.get(axis, (0.0, 0.0, 1.0)), dtype=float)
        along_x = abs(normal[0]) > 0.999 * float(np.linalg.norm(normal))
        given["start"] = T[:3, 1 if along_x else 0]
    for name, value in values.items():
        kind = fields[name].kind
        if kind == "point":
            given[name] = T[:3, :3] @ np.asarray(value, dtype=float) + T[:3, 3]
        elif kind == "direction":
            given[name] = T[:3, :3] @ np.asarray(value, dtype=float)
        elif kind == "points":
            given[name] = np.asarray(value, dtype=float) @ T[:3, :3].T + T[:3, 3]
        else:
            given[name] = value
    if curve == "arc":
        p0, p1, p2 = given["points"]
        return arc(p0, p1, p2, R, timing)
    if curve == "text":
        return text(given.pop("text"), orientation=R, timing=timing, **given)
    if curve == "svg":
        for name in ("file", "data", "width", "height"):
            given.pop(name, None)
        drawing = drawing or _svg(values, folder)
        return draw(drawing, orientation=R, timing=timing, **given)
    if curve == "polyline":
        return polyline(given.pop("points"), timing, orientation=R, **given)
    return _MAKERS[curve](orientation=R, timing=timing, **given)
