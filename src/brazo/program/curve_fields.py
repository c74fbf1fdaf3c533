"""The curves of a `path` step: their arguments, and their transformation to the base frame.

Each is a path of `brazo.trajectory`.  Points and directions are given in the step's frame and
transformed to the robot's base frame, where joint motion is planned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from brazo import units
from brazo.errors import BrazoError
from brazo.trajectory import (
    CartesianPath,
    Timing,
    arc,
    circle,
    helix,
    lissajous,
    polyline,
    spiral,
    square,
)

Array = np.ndarray
Kind = Literal["point", "direction", "number", "numbers", "points", "word"]
MAX_POINTS = 1000


@dataclass(frozen=True, slots=True)
class CurveField:
    """One argument of a curve."""

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
}
_MAKERS: dict[str, Any] = {
    "circle": circle,
    "square": square,
    "spiral": spiral,
    "helix": helix,
    "lissajous": lissajous,
}


def check_curve(curve: str, values: Mapping[str, Any]) -> None:
    """Raise for an unknown curve, or unknown or missing arguments."""
    if curve not in CURVES:
        raise BrazoError(f"no curve '{curve}'; curves: {', '.join(CURVES)}")
    known = CURVES[curve]
    for name in values:
        if name not in known:
            raise BrazoError(f"{curve} has no argument '{name}'; arguments: {', '.join(known)}")
    for name, field in known.items():
        if field.needed and name not in values:
            raise BrazoError(f"a {curve} needs '{name}'")


def curve_in_base(
    curve: str, values: Mapping[str, Any], T: Array, R: Array, timing: Timing | float
) -> CartesianPath:
    """The curve in the base frame; `T` (4, 4) is its frame, `R` (3, 3) the tool orientation."""
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
    if curve == "polyline":
        return polyline(given.pop("points"), timing, orientation=R, **given)
    return _MAKERS[curve](orientation=R, timing=timing, **given)
