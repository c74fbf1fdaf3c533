"""Strokes from a video: the path of a coloured marker that a person moves in front of a camera.

The pen is down while the marker is seen (`brazo.trajectory.marker`); a gap of more than 0.15 s
starts a new stroke, a shorter one is bridged.  Positions are smoothed by a Savitzky-Golay filter:
a parabola fitted by least squares to the positions around each, within a window of time.  It keeps
the size of curves, unlike a mean.  Then points closer than 0.5 % of the picture to the point before
are left out, so that a marker at rest adds none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.trajectory.drawing import Drawing, drawing_of_points
from brazo.trajectory.marker import TOLERANCE, color_table, color_text, find_marker, read_color
from brazo.trajectory.reading import positive
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
    """Path of a marker in a video, in m: x to the right, y up, from the centre of the picture."""

    t: Array  # (n,) s, of the frames
    points: Array  # (n, 2) m, NaN where the marker is not seen
    strokes: tuple[Array, ...]  # each (k, 2) m: smoothed, thinned out
    duration: float  # s, from the first to the last frame with the marker
    size: tuple[float, float]  # m, width and height of the picture

    @property
    def seen(self) -> int:
        """Number of frames with the marker."""
        return int(np.isfinite(self.points[:, 0]).sum())

    def drawing(self) -> Drawing:
        """The strokes for `draw`, joined by splines between corners."""
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
        Video of at most 120 s; ffmpeg reads it at 30 frames/s and at most 480 px.
    color : str or three numbers
        Colour of the marker: `"red"`, `"#e02020"`, or R, G, B from 0 to 1.
    width : float
        Width of the whole picture (m).
    mirror : bool
        Exchange left and right, for a camera that looks at the person.
    tolerance : float
        Largest difference of the hue (rad).
    smoothing : float
        Window of the smoothing filter (s); 0 for none.
    progress : callable, optional
        Called with the number of each frame.

    Returns
    -------
    MarkerTrack
        Its `drawing()` is drawn by `draw`, its `duration` is that of the motion in the video.
    """
    try:
        return track_marker(
            video_frames(file), RATE, color, width, mirror, tolerance, smoothing, progress
        )
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
    """As `track_video`, in frames (height, width, 3) of 8 bit RGB at a rate (1/s)."""
    rate, width = positive(rate, "rate"), positive(width, "width")
    if not 0.0 <= smoothing <= 2.0:
        raise BrazoError(f"smoothing {smoothing:g} s: must be 0 to 2 s")
    rgb = read_color(color)
    table = color_table(rgb, tolerance)
    found: list[tuple[float, float]] = []
    shape = None
    for k, frame in enumerate(frames):
        pixels = np.asarray(frame)
        if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8:
            raise BrazoError(
                f"frame {k} has shape {pixels.shape} of {pixels.dtype}; expected "
                "(height, width, 3) of uint8"
            )
        shape = shape or pixels.shape
        if pixels.shape != shape:
            raise BrazoError(f"frame {k} has shape {pixels.shape}, the frames before {shape}")
        found.append(find_marker(pixels, table) or (np.nan, np.nan))
        if progress is not None:
            progress(k)
    if shape is None:
        raise _NotFound("no frames")
    rows, columns = shape[:2]
    scale = width / columns
    points = scale * (np.array(found) - 0.5 * np.array([columns, rows]))
    points *= (-1.0 if mirror else 1.0, -1.0)
    seen = np.flatnonzero(np.isfinite(points[:, 0]))
    what = f"marker of colour {color_text(rgb)}"
    if not len(seen):
        raise _NotFound(
            f"no {what} in {len(found)} frames; give the colour that it has in the picture, a "
            "larger tolerance, or use more light"
        )
    side = scale * max(rows, columns)
    strokes = _strokes(points, seen, rate, smoothing, side)
    if not strokes:
        raise _NotFound(
            f"the {what} is seen in {len(seen)} of {len(found)} frames, but does not move by "
            f"{100 * _MOVED:g} % of the picture; move it further, and take a colour that nothing "
            "else in the picture has"
        )
    duration = float(seen[-1] - seen[0]) / rate
    t = np.arange(len(found)) / rate
    return MarkerTrack(t, points, strokes, duration, (width, scale * rows))


class _NotFound(BrazoError):
    """No marker that can be followed."""


def _strokes(
    points: Array, seen: Array, rate: float, smoothing: float, side: float
) -> tuple[Array, ...]:
    gaps = np.flatnonzero(np.diff(seen) > max(_GAP * rate, 1.0) + 1e-9) + 1
    found = []
    for run in np.split(seen, gaps):
        k = np.arange(run[0], run[-1] + 1)
        filled = np.stack([np.interp(k, run, points[run, i]) for i in (0, 1)], axis=1)
        smooth = _smoothed(filled, round(0.5 * smoothing * rate))
        thin = _thinned(smooth, _NEAR * side)
        if len(thin) > 1 and np.ptp(thin, axis=0).max() >= _MOVED * side:
            found.append(thin)
    return tuple(found)


def _smoothed(points: Array, half: int) -> Array:
    """Parabolas over 2 half + 1 points; fewer if there are not as many."""
    half = min(half, (len(points) - 1) // 2)
    if half < 2:  # a parabola passes through three points
        return points
    from scipy.signal import savgol_filter

    return np.asarray(savgol_filter(points, 2 * half + 1, 2, axis=0))


def _thinned(points: Array, near: float) -> Array:
    """Without points that are near the last one kept; it ends at the last point."""
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
