"""`Drawing`: strokes in a plane, from text, SVG files or points, to be drawn by a tool.

A stroke is a chain of pieces: straight lines, Bézier curves and elliptic arcs with z = 0.  A
section is a part of a stroke without corners; the tool stops only at corners.  Fonts and drawing
programs round control points, so smooth curves may have corners of about a degree.  A corner
smaller than 5° is removed by rotating the ends of the adjacent Bézier curves.

If the first two or the last two control points of a Bézier curve coincide, the curve has a tangent
at that end but zero velocity.  A short quadratic with the same tangents then replaces the end of
the curve.  It deviates by less than 1e-5 of the length of the piece.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from brazo.checks import positive
from brazo.errors import BrazoError
from brazo.trajectory.curves import Affine, Curve, Polynomial, Straight, by_length, joined
from brazo.trajectory.reading import array

Array = np.ndarray
Stroke = tuple[Curve, ...]
ALIGNED = math.radians(5.0)  # Bézier curves that meet at a smaller angle are made to have none
_CORNER = 1e-7  # rad; pieces that meet at a larger angle have a corner
SMOOTH = math.radians(50.0)  # points of a drawn line that turns less are passed without a corner
_SHORT = 1e-9  # of the size of a drawing
_END = 0.02  # of a Bézier curve without velocity at its end
MAX_STROKES = 2000
MAX_PIECES = 20_000


@dataclass(frozen=True, eq=False)
class Drawing:
    """Strokes in the plane z = 0, with x to the right and y up.

    Coordinates are in m, or in any unit before scaling.
    """

    strokes: tuple[Stroke, ...]

    def __post_init__(self) -> None:
        if not self.strokes:
            raise BrazoError("the drawing has no strokes")
        pieces = sum(map(len, self.strokes))
        if len(self.strokes) > MAX_STROKES or pieces > MAX_PIECES:
            raise BrazoError(
                f"the drawing has {len(self.strokes)} strokes with {pieces} pieces; at most "
                f"{MAX_STROKES} strokes and {MAX_PIECES} pieces are allowed"
            )

    @property
    def bounds(self) -> Array:
        """Lower left and upper right corner (2, 2) of the bounding box, from sampled points."""
        x = np.linspace(0.0, 1.0, 65)
        points = [piece.at(x)[0, :, :2] for stroke in self.strokes for piece in stroke]
        points = np.concatenate(points)
        return np.stack([points.min(axis=0), points.max(axis=0)])

    def scaled(self, factor: float) -> Drawing:
        """Return the drawing with all coordinates multiplied by a factor."""
        return self._affine(positive(factor, "factor") * np.eye(3), np.zeros(3))

    def shifted(self, xy: Any) -> Drawing:
        """Return the drawing moved by xy (2,) in its plane."""
        return self._affine(np.eye(3), np.array([*array(xy, "xy"), 0.0]))

    def centred(self) -> Drawing:
        """Return the drawing moved such that the centre of its bounding box is at the origin."""
        return self.shifted(-self.bounds.mean(axis=0))

    def fitted(self, width: float | None = None, height: float | None = None) -> Drawing:
        """Return the drawing scaled to a width or a height (m), or to fit into both.

        The aspect ratio is kept.
        """
        size = np.diff(self.bounds, axis=0)[0]
        wanted = [(w, s, n) for w, s, n in ((width, size[0], "width"), (height, size[1], "height"))]
        factors = []
        for value, now, name in wanted:
            if value is None:
                continue
            value = positive(value, name)
            if now > 0.0:
                factors.append(value / now)
        if not factors:
            raise BrazoError(
                "cannot scale the drawing: give a width or a height; a drawing of width 0 needs a "
                "height, and a drawing of height 0 needs a width"
            )
        return self.scaled(min(factors))

    def placed(self, axes: Array, origin: Array) -> Drawing:
        """Return the drawing in space, with its origin at `origin` (3,).

        The first two columns of `axes` (3, 3) are the directions of the x and y axes of the
        drawing.
        """
        return self._affine(axes, origin)

    def _affine(self, A: Array, b: Array) -> Drawing:
        return Drawing(
            tuple(tuple(_moved(piece, A, b) for piece in stroke) for stroke in self.strokes)
        )


def sections(stroke: Stroke) -> list[Curve]:
    """Parts of a stroke between its corners, each parametrised by arc length."""
    found: list[list[Curve]] = [[stroke[0]]]
    for before, after in pairwise(stroke):
        if _angle(_slope(before, 1.0), _slope(after, 0.0)) > _CORNER:
            found.append([])
        found[-1].append(after)
    return [
        joined([one if isinstance(one, Straight) else by_length(one) for one in part])
        for part in found
    ]


# ---- strokes from points -----------------------------------------------------------------------


def drawing_of_points(strokes: Any, smooth: bool = True) -> Drawing:
    """Create a drawing from a list of strokes, each an array of points (k, 2) in m.

    With `smooth`, the points of a stroke are joined by cubic splines between its corners.  A corner
    is a point at which the direction changes by more than 50°.  Without `smooth`, the points are
    joined by straight lines.
    """
    found = []
    for k, given in enumerate(strokes):
        points = array(given, f"strokes[{k}]")
        if points.ndim != 2 or points.shape[1] != 2:
            raise BrazoError(f"strokes[{k}] has shape {points.shape}; expected points (k, 2)")
        stroke = stroke_of_points(points, smooth)
        if stroke:
            found.append(stroke)
    if not found:
        raise BrazoError("the drawing has no stroke of at least two different points")
    return Drawing(tuple(found))


def stroke_of_points(points: Array, smooth: bool) -> Stroke:
    """Stroke through points (k, 2); empty if all points are equal."""
    size = float(np.ptp(points, axis=0).max(initial=0.0))
    kept = [points[0]]
    for one in points[1:]:
        if np.linalg.norm(one - kept[-1]) > max(_SHORT * size, 1e-12):
            kept.append(one)
    if len(kept) < 2:
        return ()
    p = np.concatenate([np.stack(kept), np.zeros((len(kept), 1))], axis=1)
    if not smooth:
        return tuple(Straight(a, b) for a, b in pairwise(p))
    step = np.diff(p, axis=0)
    turn = np.arctan2(
        np.abs(step[:-1, 0] * step[1:, 1] - step[:-1, 1] * step[1:, 0]),
        np.sum(step[:-1] * step[1:], axis=1),
    )
    corners = [0, *(np.flatnonzero(turn > SMOOTH) + 1).tolist(), len(p) - 1]
    pieces: list[Curve] = []
    for a, b in pairwise(corners):
        pieces += _spline(p[a : b + 1])
    return tuple(pieces)


def _spline(p: Array) -> list[Curve]:
    """Natural cubic spline through points (k, 3), parametrised by the length of their polyline."""
    if len(p) == 2:
        return [Straight(p[0], p[1])]
    from scipy.interpolate import CubicSpline

    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(p, axis=0), axis=1))])
    spline = CubicSpline(s, p, bc_type="natural")
    pieces: list[Curve] = []
    for k, h in enumerate(np.diff(s)):
        powers = h ** np.arange(4.0)
        pieces.append(Polynomial(spline.c[::-1, k] * powers[:, None]))
    return pieces


# ---- pieces ------------------------------------------------------------------------------------


def bezier(points: Sequence[Any]) -> list[Curve]:
    """Convert a Bézier curve of degree 1 to 3 to pieces of a stroke.

    `points` are its control points, each (2,).  If all of them are equal, there are no pieces.
    """
    P = np.zeros((len(points), 3))
    P[:, :2] = points
    size = float(np.ptp(P, axis=0).max())
    if size <= 1e-12:
        return []
    if _straight(P, size):
        return [Straight(P[0], P[-1])]
    near = 1e-6 * size
    if len(P) == 4 and np.linalg.norm(P[1] - P[0]) < near:
        head, P = _split(P, _END)
        return [*_start_at_rest(head), *bezier(P[:, :2].tolist())]
    if len(P) == 4 and np.linalg.norm(P[3] - P[2]) < near:
        P, tail = _split(P, 1.0 - _END)
        reverse = _start_at_rest(tail[::-1])
        return [*bezier(P[:, :2].tolist()), *(_reversed(one) for one in reversed(reverse))]
    return [Polynomial(_powers(P))]


def chain(pieces: Iterable[Curve]) -> Stroke:
    """Create a stroke from consecutive pieces.

    A corner smaller than the angle `ALIGNED` is removed by rotating the ends of adjacent Bézier
    curves.
    """
    found = list(pieces)
    closed = len(found) > 1 and bool(
        np.linalg.norm(found[-1].at(np.ones(1))[0] - found[0].at(np.zeros(1))[0]) < 1e-12
    )
    for k in range(0 if closed else 1, len(found)):
        before, after = found[k - 1], found[k]
        u, v = _unit(_slope(before, 1.0)), _unit(_slope(after, 0.0))
        turns = [isinstance(one, Polynomial) for one in (before, after)]
        if not any(turns) or not _CORNER < _angle(u, v) < ALIGNED:
            continue
        e = _unit(u + v) if all(turns) else v if turns[0] else u
        found[k - 1] = _with_slope(before, e, 1.0)
        found[k] = _with_slope(found[k] if k else found[0], e, 0.0)
    return tuple(found)


def _slope(piece: Curve, x: float) -> Array:
    return piece.slope(np.array([x]))[0]


def _unit(v: Array) -> Array:
    return v / np.linalg.norm(v)


def _angle(u: Array, v: Array) -> float:
    return math.atan2(float(np.linalg.norm(np.cross(u, v))), float(u @ v))


def _with_slope(piece: Curve, e: Array, x: float) -> Curve:
    """Rotate the tangent of a Bézier curve at x (0: start, 1: end) to the direction `e`.

    Other curves are returned unchanged.
    """
    if not isinstance(piece, Polynomial):
        return piece
    c = np.zeros((4, 3))
    c[: len(piece.coefficients)] = piece.coefficients
    p0, p1 = c[0], c.sum(axis=0)
    v0, v1 = c[1], c[1] + 2.0 * c[2] + 3.0 * c[3]
    if x == 0.0:
        v0 = float(np.linalg.norm(v0)) * e
    else:
        v1 = float(np.linalg.norm(v1)) * e
    gap = p1 - p0
    return Polynomial(np.stack([p0, v0, 3.0 * gap - 2.0 * v0 - v1, v0 + v1 - 2.0 * gap]))


def _straight(P: Array, size: float) -> bool:
    """Return whether control points P of a Bézier curve are in order on a straight line.

    Deviations up to 1e-9 `size` are ignored.
    """
    if len(P) == 2:
        return True
    along = P[-1] - P[0]
    length = float(np.linalg.norm(along))
    if length < 1e-9 * size:
        return False
    e = along / length
    off = np.linalg.norm(np.cross(P - P[0], e), axis=1)
    run = (P - P[0]) @ e
    return bool(off.max() < 1e-9 * size and (np.diff(run) >= -1e-9 * size).all())


def _powers(P: Array) -> Array:
    """Polynomial coefficients of a Bézier curve with control points P, lowest power first."""
    if len(P) == 2:
        return np.stack([P[0], P[1] - P[0]])
    if len(P) == 3:
        return np.stack([P[0], 2.0 * (P[1] - P[0]), P[0] - 2.0 * P[1] + P[2]])
    return np.stack(
        [
            P[0],
            3.0 * (P[1] - P[0]),
            3.0 * (P[0] - 2.0 * P[1] + P[2]),
            P[3] - 3.0 * P[2] + 3.0 * P[1] - P[0],
        ]
    )


def _split(P: Array, x: float) -> tuple[Array, Array]:
    """Control points of the two parts of a Bézier curve divided at x (De Casteljau)."""
    left, right, now = [], [], P
    while len(now):
        left.append(now[0])
        right.append(now[-1])
        now = (1.0 - x) * now[:-1] + x * now[1:]
    return np.stack(left), np.stack(right[::-1])


def _start_at_rest(P: Array) -> list[Curve]:
    """Replace a short cubic Bézier curve whose first two control points coincide.

    The result is a quadratic, or a straight line, with the same tangents at both ends.
    """
    e0, e1 = P[2] - P[0], P[3] - P[2]
    cross = float(np.cross(e0, e1)[2])
    along = P[3] - P[0]
    if abs(cross) < 1e-12 * float(np.linalg.norm(e0) * np.linalg.norm(e1)):
        return [Straight(P[0], P[3])]
    share = float(np.cross(along, e1)[2]) / cross
    vertex = P[0] + share * e0
    return [Polynomial(_powers(np.stack([P[0], vertex, P[3]])))]


def _reversed(piece: Curve) -> Curve:
    if isinstance(piece, Straight):
        return Straight(piece.p1, piece.p0)
    assert isinstance(piece, Polynomial)
    c0, c1, c2 = piece.coefficients
    return Polynomial(np.stack([c0 + c1 + c2, -c1 - 2.0 * c2, c2]))


def _moved(piece: Curve, A: Array, b: Array) -> Curve:
    if isinstance(piece, Straight):
        return Straight(A @ piece.p0 + b, A @ piece.p1 + b)
    if isinstance(piece, Polynomial):
        moved = piece.coefficients @ A.T
        moved[0] += b
        return Polynomial(moved)
    return Affine(piece, A, b)
