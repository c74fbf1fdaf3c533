"""Tool paths: line, polyline, circle, arc, square, spiral, helix, Lissajous, a function.

All functions except `function` take a `timing`: a `Timing`, or the duration (s) of a quintic
profile.  The `orientation` of the tool is a constant rotation matrix, or one of `Between`,
`AlongPath`, `Radial`.  Paths through poses take the orientation from the poses.

A plane is given by its `normal`.  Angles in the plane start at the direction `start`, by default
the base x axis projected into the plane (or the base y axis if the normal is along x).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from brazo.checks import one_of, positive
from brazo.errors import BrazoError
from brazo.trajectory.cartesian import CartesianPath, CurvePath, SequencePath
from brazo.trajectory.curves import (
    Curve,
    FunctionCurve,
    Lissajous,
    Straight,
    Winding,
    by_length,
    corner,
    joined,
)
from brazo.trajectory.reading import array, direction, pose, vector
from brazo.trajectory.series import series
from brazo.trajectory.timing import Timing, progress, read_timing
from brazo.trajectory.tool_orientation import (
    Between,
    Constant,
    FunctionOrientation,
    ThroughRotations,
    ToolOrientation,
    read_orientation,
)

Array = np.ndarray
Corners = Literal["stop", "blend"]
Z = (0.0, 0.0, 1.0)


def along(curve: Curve, orientation: Any, timing: Timing | float) -> CartesianPath:
    """Path along any curve, with an orientation and a timing."""
    turning = read_orientation(orientation)
    rate = 0.0
    if not isinstance(turning, Constant):
        x = np.linspace(0.0, 1.0, 1001)
        rate = float(np.linalg.norm(turning.at(x, curve.at(x))[1], axis=-1).max())
    return CurvePath(curve, turning, progress(read_timing(timing), curve.length, rate))


def line(T0: Any, T1: Any, timing: Timing | float) -> CartesianPath:
    """Straight line between two poses (4, 4), with interpolated orientation (slerp)."""
    T0, T1 = pose(T0, "T0"), pose(T1, "T1")
    return along(Straight(T0[:3, 3], T1[:3, 3]), Between(T0[:3, :3], T1[:3, :3]), timing)


def polyline(
    poses: Any,
    timing: Timing | float,
    corners: Corners = "stop",
    blend: float | None = None,
    orientation: Any = None,
) -> CartesianPath:
    """Straight lines through poses (k, 4, 4), or through points (k, 3) with one `orientation`.

    With `corners="stop"` the tool stops at every corner, and the duration of `timing` is divided
    among the lines in proportion to their lengths.  With `corners="blend"` the tool leaves each
    line `blend` metres before the corner and rounds the corner without stopping, with continuous
    acceleration.  The change of orientation between two poses then starts and ends smoothly.
    """
    one_of(corners, ("stop", "blend"), "corners")
    points, rotations = _poses(poses, orientation)
    timing = read_timing(timing)
    turning = None if rotations is not None else read_orientation(orientation)
    lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
    if (lengths < 1e-9).any():
        k = int(np.argmax(lengths < 1e-9))
        raise BrazoError(f"points[{k}] and points[{k + 1}] of the polyline are equal; remove one")
    if corners == "stop":
        if blend is not None:
            raise BrazoError("'blend' is given, so 'corners' must be 'blend', not 'stop'")
        return _stopping(points, rotations, turning, timing, lengths)
    curve, marks = _blended(points, lengths, blend)
    if rotations is not None:
        turning = ThroughRotations(marks, rotations)
    return along(curve, turning, timing)


def circle(
    centre: Any,
    radius: float,
    orientation: Any,
    timing: Timing | float,
    normal: Any = Z,
    start: Any = None,
    turns: float = 1.0,
) -> CartesianPath:
    """Circle in the plane with `normal`: counterclockwise, or clockwise with negative `turns`.

    The path starts at the angle 0, in the direction `start` from `centre`.
    """
    radius = positive(radius, "radius")
    angle = 2.0 * math.pi * _turns(turns)
    axes = plane_axes(normal, start)
    curve = Winding(vector(centre, 3, "centre"), axes, (radius, radius), (0.0, angle))
    return along(curve, orientation, timing)


def arc(p0: Any, p1: Any, p2: Any, orientation: Any, timing: Timing | float) -> CartesianPath:
    """Circular arc from the point p0 through p1 to p2."""
    return along(_winding(p0, p1, p2, whole=False), orientation, timing)


def circle_through(
    p0: Any, p1: Any, p2: Any, orientation: Any, timing: Timing | float
) -> CartesianPath:
    """Full circle from the point p0 through p1 and p2 back to p0."""
    return along(_winding(p0, p1, p2, whole=True), orientation, timing)


def square(
    centre: Any,
    side: float,
    orientation: Any,
    timing: Timing | float,
    normal: Any = Z,
    start: Any = None,
    corners: Corners = "stop",
    blend: float | None = None,
) -> CartesianPath:
    """Square that starts and ends at a corner; two of its sides are parallel to `start`."""
    half = 0.5 * positive(side, "side")
    e1, e2, _ = plane_axes(normal, start).T
    signs = [(1, 1), (-1, 1), (-1, -1), (1, -1), (1, 1)]
    middle = vector(centre, 3, "centre")
    points = [middle + half * (a * e1 + b * e2) for a, b in signs]
    return polyline(points, timing, corners, blend, orientation)


def spiral(
    centre: Any,
    radii: tuple[float, float],
    turns: float,
    orientation: Any,
    timing: Timing | float,
    normal: Any = Z,
    start: Any = None,
) -> CartesianPath:
    """Archimedean spiral from the first radius (m) to the second; one of them may be 0."""
    r0, r1 = vector(radii, 2, "radii").tolist()
    if min(r0, r1) < 0.0 or r0 == r1:
        raise BrazoError(
            f"radii are {r0:g} and {r1:g} m; expected two different radii of at least 0"
        )
    angle = 2.0 * math.pi * _turns(turns)
    curve = Winding(vector(centre, 3, "centre"), plane_axes(normal, start), (r0, r1), (0.0, angle))
    return along(by_length(curve), orientation, timing)


def helix(
    centre: Any,
    radius: float,
    pitch: float,
    turns: float,
    orientation: Any,
    timing: Timing | float,
    axis: Any = Z,
    start: Any = None,
) -> CartesianPath:
    """Helix that advances `pitch` metres along the axis per turn; `pitch` may be negative.

    `centre` is the centre of the circle at the start.  With negative `turns` the rotation is
    clockwise about the axis.
    """
    radius = positive(radius, "radius")
    rise = float(array(pitch, "pitch")) * abs(_turns(turns))
    curve = Winding(
        vector(centre, 3, "centre"),
        plane_axes(axis, start),
        (radius, radius),
        (0.0, 2.0 * math.pi * turns),
        rise,
    )
    return along(curve, orientation, timing)


def lissajous(
    centre: Any,
    amplitudes: Any,
    frequencies: Any,
    orientation: Any,
    timing: Timing | float,
    phases: Any = None,
    normal: Any = Z,
    start: Any = None,
) -> CartesianPath:
    """Lissajous path: sines along two directions in the plane and along its normal.

    `frequencies` are numbers of periods over the whole path, `amplitudes` are in m, and `phases` in
    rad (default: 90° for the first direction).  Two values instead of three give a curve in the
    plane.
    """
    A = _three(amplitudes, "amplitudes")
    f = _three(frequencies, "frequencies")
    phi = np.array([math.pi / 2, 0.0, 0.0]) if phases is None else _three(phases, "phases")
    curve = Lissajous(vector(centre, 3, "centre"), plane_axes(normal, start), A, f, phi)
    return along(by_length(curve), orientation, timing)


def function(f: Callable[[float], Any], duration: float, orientation: Any = None) -> CartesianPath:
    """Path given by a smooth function of time from 0 to `duration` (s).

    `f(t)` returns a pose (4, 4), or a point (3,) if an `orientation` is given.  Velocity and
    acceleration are derivatives of a Chebyshev series that equals the function up to rounding
    (`brazo.trajectory.series`).
    """
    T = positive(duration, "duration")
    s = series(lambda x: f(T * x), "the path's function", ((3,), (4, 4)))
    if s.shape == (4, 4):
        if orientation is not None:
            raise BrazoError("the function returns poses; do not give an orientation")
        for t in (0.0, 0.37, 1.0):
            pose(np.round(s(np.array([t]))[0], 9), f"the path's function at t = {t * T:g} s")
        point = FunctionCurve(lambda x: np.stack([s(x, k)[:, :3, 3] for k in range(4)]))
        turning: Any = FunctionOrientation(
            lambda x: (s(x)[:, :3, :3], s(x, 1)[:, :3, :3], s(x, 2)[:, :3, :3])
        )
    else:
        if orientation is None:
            raise BrazoError(
                "the function returns points; give the tool orientation: orientation=…"
            )
        point = FunctionCurve(lambda x: np.stack([s(x, k) for k in range(4)]))
        turning = read_orientation(orientation)
    return CurvePath(point, turning, progress(Timing("constant", T), 1.0, 0.0))


def _stopping(
    points: Array,
    rotations: Array | None,
    turning: ToolOrientation | None,
    timing: Timing,
    lengths: Array,
) -> CartesianPath:
    parts = []
    for k, share in enumerate(lengths / lengths.sum()):
        one = timing.shared(float(share))
        straight = Straight(points[k], points[k + 1])
        how: Any = turning if rotations is None else Between(rotations[k], rotations[k + 1])
        parts.append(along(straight, how, one))
    return SequencePath(parts)


def _blended(points: Array, lengths: Array, blend: float | None) -> tuple[Curve, Array]:
    """Polyline with rounded corners, and the progress from 0 to 1 at which it passes each point.

    `lengths` are the lengths of the lines, and `blend` (m) is the distance from a corner at which
    rounding starts.
    """
    if blend is None:
        raise BrazoError(
            "corners 'blend' needs 'blend': the distance (m) from a corner at which rounding starts"
        )
    d = positive(blend, "blend")
    inner = len(points) - 2
    # A side between two corners contains two blends.
    taken = d * np.array([(k > 0) + (k < inner) for k in range(len(lengths))])
    if (taken > lengths).any():
        k = int(np.argmax(taken > lengths))
        raise BrazoError(
            f"blend of {d:g} m is too long for the side of {lengths[k]:g} m from points[{k}]; "
            f"max {d * lengths[k] / taken[k]:g} m"
        )
    parts: list[Curve] = []
    marks = [0.0]
    at, run = points[0], 0.0
    for k in range(1, len(points) - 1):
        before, vertex, after = points[k - 1], points[k], points[k + 1]
        into = (vertex - before) / lengths[k - 1]
        out = (after - vertex) / lengths[k]
        if into @ out < -0.99:
            raise BrazoError(
                f"at points[{k}] the polyline reverses, which cannot be blended; use corners 'stop'"
            )
        straight = Straight(at, vertex - d * into)
        if straight.length > 1e-12:
            parts.append(straight)
            run += straight.length
        rounded = by_length(corner(before, vertex, after, d))
        parts.append(rounded)
        marks.append(run + 0.5 * rounded.length)
        run += rounded.length
        at = vertex + d * out
    last = Straight(at, points[-1])
    if last.length > 1e-12:
        parts.append(last)
        run += last.length
    return joined(parts), np.array([*marks, run]) / run


def _winding(p0: Any, p1: Any, p2: Any, whole: bool) -> Winding:
    a, b, c = (vector(p, 3, name) for p, name in ((p0, "p0"), (p1, "p1"), (p2, "p2")))
    u, v = b - a, c - a
    normal = np.cross(u, v)
    area = float(np.linalg.norm(normal))
    if area < 1e-9 * max(float(u @ u), float(v @ v), 1e-300):
        raise BrazoError("the three points are collinear: no circle passes through them")
    # The circumcentre, from the two perpendicular bisectors.
    away = (u @ u * np.cross(v, normal) + v @ v * np.cross(normal, u)) / (2.0 * area**2)
    centre = a + away
    e1 = -away / np.linalg.norm(away)
    e3 = normal / area
    axes = np.stack([e1, np.cross(e3, e1), e3], axis=1)
    x, y, _ = axes.T @ (c - centre)
    last = 2.0 * math.pi if whole else math.atan2(y, x) % (2.0 * math.pi)
    radius = float(np.linalg.norm(away))
    return Winding(centre, axes, (radius, radius), (0.0, last))


def plane_axes(normal: Any, start: Any) -> Array:
    """Right-handed frame (3, 3) of a plane: columns are two axes in the plane and the normal."""
    e3 = direction(normal, "normal")
    if start is None:
        first = np.eye(3)[0 if abs(e3[0]) < 0.999 else 1]
    else:
        first = direction(start, "start")
    e1 = first - (first @ e3) * e3
    size = float(np.linalg.norm(e1))
    if size < 1e-6:
        raise BrazoError("start is parallel to the normal; it must have a component in the plane")
    e1 /= size
    return np.stack([e1, np.cross(e3, e1), e3], axis=1)


def _poses(poses: Any, orientation: Any) -> tuple[Array, Array | None]:
    given = array(poses, "poses")
    if given.ndim == 3 and given.shape[1:] == (4, 4) and len(given) >= 2:
        if orientation is not None:
            raise BrazoError("the poses contain the orientation; do not give an orientation")
        checked = np.stack([pose(T, f"poses[{k}]") for k, T in enumerate(given)])
        return checked[:, :3, 3], checked[:, :3, :3]
    if given.ndim == 2 and given.shape[1] == 3 and len(given) >= 2:
        if orientation is None:
            raise BrazoError("points do not determine the tool orientation: give orientation=…")
        return given, None
    raise BrazoError(f"poses have shape {given.shape}; expected (k, 4, 4) or points (k, 3), k ≥ 2")


def _turns(turns: Any) -> float:
    value = float(array(turns, "turns"))
    if value == 0.0:
        raise BrazoError("turns is 0; the path would have length 0")
    return value


def _three(value: Any, what: str) -> Array:
    numbers = vector(value, None, what)
    if len(numbers) not in (2, 3):
        raise BrazoError(f"{what} has {len(numbers)} numbers; expected 2 or 3")
    return np.concatenate([numbers, np.zeros(3 - len(numbers))])
