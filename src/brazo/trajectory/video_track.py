"""Strokes from a video: the path of a coloured marker that a person moves in front of a camera.

The pen is down while the marker is detected (`brazo.trajectory.marker`).  A gap of more than 0.15 s
starts a new stroke; a shorter gap is bridged.  Repeated frames, with which a decoder fills the time
between the images of a slow camera, are skipped.  Positions are smoothed by local regression: a
parabola over time is fitted to the positions in a window around each position.  Unlike a moving
average, this does not shrink curves.  Then points closer than 0.5 % of the longer image side to
the previous point are removed, so that a marker at rest adds no points.  Strokes smaller than 2 %
of the longer image side are dropped.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brazo.checks import positive
from brazo.errors import BrazoError
from brazo.trajectory.drawing import Drawing, drawing_of_points
from brazo.trajectory.marker import TOLERANCE, color_table, color_text, find_marker, read_color
from brazo.trajectory.video_frames import RATE, video_frames

Array = np.ndarray
Progress = Callable[[int], object]
WIDTH = 0.08  # m
SMOOTHING = 0.2  # s
MAX_STROKE_POINTS = 500
_GAP = 0.15  # s
_NEAR = 0.005  # of the longer side of the picture: points are further apart
_MOVED = 0.02  # of the longer side: extent of a stroke


@dataclass(frozen=True, eq=False)
class MarkerTrack:
    """Path of a marker in a video, in m: x to the right, y up, origin at the image centre."""

    t: Array  # (n,) s, of the frames
    points: Array  # (n, 2) m, NaN where the marker is not seen
    strokes: tuple[Array, ...]  # each (k, 2) m: smoothed, thinned out
    duration: float  # s, from the first to the last frame with the marker
    size: tuple[float, float]  # m, width and height of the picture

    @property
    def seen(self) -> int:
        """Number of frames in which the marker was detected."""
        return int(np.isfinite(self.points[:, 0]).sum())

    def drawing(self) -> Drawing:
        """Strokes as a drawing for `draw`, with splines between corners."""
        return drawing_of_points(self.strokes)


def track_video(
    file: str | Path,
    color: Any,
    width: float = WIDTH,
    mirror: bool = False,
    tolerance: float = TOLERANCE,
    smoothing: float = SMOOTHING,
    progress: Progress | None = None,
) -> MarkerTrack:
    """Track a coloured marker in a video file.

    Parameters
    ----------
    file : path
        Video of at most 120 s; it is converted to 30 frames/s and at most 480 px.
    color : str or three numbers
        Colour of the marker: `"red"`, `"#e02020"`, or R, G, B from 0 to 1.
    width : float
        Width (m) to which the image width is scaled.
    mirror : bool
        Exchange left and right, for a camera that faces the person.
    tolerance : float
        Max difference in hue (rad).
    smoothing : float
        Window of the smoothing filter (s); 0 for none.
    progress : callable, optional
        Called with the number of each frame.

    Returns
    -------
    MarkerTrack
        Pass its `drawing()` to `draw`.  Its `duration` is the duration of the recorded motion.
    """
    with contextlib.closing(video_frames(file)) as frames:  # ends the decoder
        try:
            return track_marker(frames, RATE, color, width, mirror, tolerance, smoothing, progress)
        except _NotFound as error:
            raise BrazoError(f"{file}: {error}") from None


def track_marker(
    frames: Iterable[Array],
    rate: float,
    color: Any,
    width: float = WIDTH,
    mirror: bool = False,
    tolerance: float = TOLERANCE,
    smoothing: float = SMOOTHING,
    progress: Progress | None = None,
) -> MarkerTrack:
    """Track a coloured marker in frames (height, width, 3) of 8-bit RGB, at a frame rate (1/s).

    See `track_video` for the other arguments.
    """
    rate, width = positive(rate, "rate"), positive(width, "width")
    if not 0.0 <= smoothing <= 2.0:
        raise BrazoError(f"smoothing {smoothing:g} s: must be 0 to 2 s")
    rgb = read_color(color)
    table = color_table(rgb, tolerance)
    found: list[tuple[float, float]] = []
    fresh: list[int] = []  # frames that differ from the one before
    before: Array | None = None
    for k, frame in enumerate(frames):
        pixels = np.asarray(frame)
        if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8:
            raise BrazoError(
                f"frame {k} has shape {pixels.shape} of {pixels.dtype}; expected "
                "(height, width, 3) of uint8"
            )
        if before is not None and pixels.shape != before.shape:
            raise BrazoError(
                f"frame {k} has shape {pixels.shape}, but frame {k - 1} has shape {before.shape}"
            )
        if before is not None and np.array_equal(pixels, before):
            found.append(found[-1])
        else:
            fresh.append(k)
            found.append(find_marker(pixels, table) or (np.nan, np.nan))
        before = pixels
        if progress is not None:
            progress(k)
    if before is None:
        raise _NotFound("the video has no frames")
    rows, columns = before.shape[:2]
    scale = width / columns
    points = scale * (np.array(found) - 0.5 * np.array([columns, rows]))
    points *= (-1.0 if mirror else 1.0, -1.0)
    seen = np.flatnonzero(np.isfinite(points[:, 0]))
    what = f"marker of colour {color_text(rgb)}"
    if not len(seen):
        raise _NotFound(
            f"no {what} in {len(found)} frames; give its colour as it appears in the "
            "video, increase the tolerance, or use more light"
        )
    side = scale * max(rows, columns)
    t = np.arange(len(found)) / rate
    runs = np.split(seen, np.flatnonzero(np.diff(t[seen]) > _GAP) + 1)
    kept = [np.intersect1d(run, fresh, assume_unique=True) for run in runs]
    thin = [_thinned(_smoothed(t[run], points[run], smoothing), _NEAR * side) for run in kept]
    strokes = tuple(one for one in thin if np.ptp(one, axis=0).max() >= _MOVED * side)
    if not strokes:
        raise _NotFound(
            f"the {what} is seen in {len(seen)} of {len(found)} frames, but moves less than "
            f"{100 * _MOVED:g} % of the image size; move it further, and use a colour that nothing "
            "else in the image has"
        )
    duration = float(t[seen[-1]] - t[seen[0]])
    return MarkerTrack(t, points, strokes, duration, (width, scale * rows))


class _NotFound(BrazoError):
    """Raised if no moving marker was found in the frames."""


def _smoothed(t: Array, points: Array, window: float) -> Array:
    """Smooth points by local regression over a `window` (s) around each time in t.

    A point whose window contains fewer than five points is not changed.
    """
    found = points.copy()
    first = np.searchsorted(t, t - 0.5 * window - 1e-9)
    last = np.searchsorted(t, t + 0.5 * window + 1e-9)
    for k, (a, b) in enumerate(zip(first, last, strict=True)):
        if b - a >= 5:
            powers = np.vander(t[a:b] - t[k], 3, increasing=True)
            found[k] = np.linalg.lstsq(powers, points[a:b], rcond=None)[0][0]
    return found


def _thinned(points: Array, near: float) -> Array:
    """Remove each point that is closer than `near` to the previous remaining point.

    The last remaining point is then replaced by the last point of `points`, unless that point is
    closer than `near` / 2 to the second-to-last remaining point.  `near` is increased until at most
    `MAX_STROKE_POINTS` points remain.
    """
    while True:
        kept = [points[0]]
        for one in points[1:]:
            if np.linalg.norm(one - kept[-1]) >= near:
                kept.append(one)
        if len(kept) > 1 and np.linalg.norm(points[-1] - kept[-2]) >= 0.5 * near:
            kept[-1] = points[-1]
        if len(kept) <= MAX_STROKE_POINTS:
            return np.array(kept)
        near *= 1.0 + len(kept) / MAX_STROKE_POINTS
