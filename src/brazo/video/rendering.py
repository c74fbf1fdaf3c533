"""Rendering of a recording, a cell or a robot to a video file.

The state of each frame is interpolated between the rows of the recording.  The physics engine
computes the poses of the bodies from this state; it makes no simulation steps.  A robot or cell
without a recording is shown at its start configuration.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.recording.frames import elapsed, values_at
from brazo.recording.recording import Recording
from brazo.recording.source import READABLE, ColumnSource, Progress, memory_source, open_source
from brazo.simulation.given_cell import as_cell
from brazo.simulation.recorded_cell import recorded_cell
from brazo.video.camera import CameraView, camera_path
from brazo.video.encoder import encoding, frame_size, video_format
from brazo.video.extent import Extent
from brazo.video.offscreen import backend
from brazo.video.stage import FIELD_OF_VIEW_DEG, Stage
from brazo.world import Cell, World
from brazo.world.drawn_parts import drawn_parts
from brazo.world.replay_world import ReplayWorld

FPS = 30.0
SIZE = (1280, 720)
STILL = 8.0  # s, duration of a video without a recording
MAX_FRAMES = 200_000
FRAMING = 12  # times of the run at which everything has to be in view

Array = np.ndarray


@dataclass(frozen=True)
class VideoOptions:
    """Options for rendering a video.

    Parameters
    ----------
    fps : frames per second of the video.
    size : width and height in px, both even.
    camera : name of a view (default, front, back, left, right, top), azimuth and elevation in
        degrees (and a distance in m), or a .yaml or .csv file with keyframes.
    turntable : let the camera make one revolution during the video.
    speed : playback speed; 2 is twice as fast as the run.
    start, stop : recorded times (s) at which the video starts and ends; None for the whole run.
    trail : draw the path of each tool up to the current time.
    shadows : draw shadows, which takes about twice as long.
    """

    fps: float = FPS
    size: Any = SIZE
    camera: Any = None
    turntable: bool = False
    speed: float = 1.0
    start: float | None = None
    stop: float | None = None
    trail: bool = False
    shadows: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", frame_size(self.size))
        for name, high in (("fps", 240.0), ("speed", 1e4)):
            value = getattr(self, name)
            if not (isinstance(value, int | float) and 0.0 < value <= high):
                raise BrazoError(
                    f"{name} is {value}; it must be greater than 0 and at most {high:g}"
                )


@dataclass(frozen=True)
class Rendered:
    """Written video: its file, number of frames and duration (s), and notes on the recording."""

    path: Path
    frames: int
    duration: float
    notes: tuple[str, ...] = ()


def render(
    source: Any,
    path: str | Path,
    options: VideoOptions | None = None,
    *,
    cell: Any = None,
    progress: Progress | None = None,
) -> Rendered:
    """Write a video of `source` as .mp4, .webm or .gif.

    `source` is a recording (object or path), an object with an attribute `recording`, a cell, a
    robot, or the name or file of a cell or robot.  `cell` replaces the recorded cell.  `progress`
    is called with the completed fraction; it may raise an exception to cancel.
    """
    options, path = options or VideoOptions(), Path(path)
    video_format(path)
    tell = progress or (lambda _fraction: None)
    tell(0.0)  # may raise to cancel
    backend()  # raises before any work if nothing can be rendered here
    tell(0.0)
    clip = Clip(source, options, cell)
    with clip.stage() as stage, encoding(path, options.size, options.fps) as write:
        for k, frame in enumerate(clip.frames(stage), 1):
            write(frame)
            tell(k / clip.count)
    return Rendered(path, clip.count, clip.count / options.fps, tuple(clip.notes))


def write_video(
    path: Path, source: ColumnSource, progress: Progress | None = None, cell: Any = None
) -> None:
    """Write a video of a recording with the default options; used by `Recording.to`."""
    render(source, path, cell=cell, progress=progress)


class Clip:
    """Frames of a video: their number, their times and their images."""

    def __init__(self, source: Any, options: VideoOptions, cell: Any = None) -> None:
        self._options = options
        self.notes: list[str] = []
        self._source = _recording_of(source)
        if self._source is None:
            if options.start is not None or options.stop is not None or options.speed != 1.0:
                raise BrazoError(
                    "'start', 'stop' and 'speed' apply to recordings only; omit them for a cell or "
                    "a robot"
                )
            if cell is not None:
                raise BrazoError("'cell' applies to recordings only; omit it for a cell or a robot")
            shown = as_cell(source)
        else:
            shown = self._cut(self._source[0], self._source[1], cell)
        self._world = World(shown)
        self._bodies = drawn_parts(self._world)
        self._fixed = [one.kind == "fixture" and bool(shown.robots) for one in self._world.drawn]
        self._floor = None if shown.floor is None else shown.floor.height
        if self._source is None:
            self._replay = None
            self._times = np.arange(max(2, round(STILL * options.fps))) / options.fps
            self._first = 0.0
        else:
            rows, name = self._source
            self._replay = ReplayWorld(self._world, rows.units, name)
            self._first = float(next(iter(rows.read([rows.time])))[0][0])
            self._times = self._frame_times(rows)
        self.extent = Extent.of(self._bodies, self._fixed, self._framed(), self._floor)
        width, height = options.size
        self._camera = camera_path(
            options.camera, self.extent, width / height, FIELD_OF_VIEW_DEG, options.turntable
        )

    @property
    def count(self) -> int:
        """Number of frames."""
        return len(self._times)

    def stage(self) -> Stage:
        """Return the `Stage` that draws the frames; it is a context manager."""
        tools = len(self._world.robots) if self._options.trail else 0
        return Stage(
            self._bodies,
            self.extent,
            self._options.size,
            far=max(self._view(k).distance for k in range(self.count)),
            shadows=self._options.shadows,
            tools=tools,
        )

    def frames(self, stage: Stage) -> Iterator[Array]:
        """Yield the frames (height, width, 3); each is valid until the next frame is requested."""
        trail = self._options.trail
        for k, poses in enumerate(self._poses(self._times)):
            yield stage.draw(poses, self._view(k), self._tools() if trail else None)

    def _view(self, k: int) -> CameraView:
        return self._camera(self._first + float(self._times[k]), k / self.count)

    def _poses(self, times: Array) -> Iterator[Array]:
        if self._source is None or self._replay is None:
            poses = self._world.poses()
            for _ in times:
                yield poses
            return
        for values in values_at(self._source[0], self._replay.names, times):
            self._replay.place(values)
            yield self._world.poses()

    def _framed(self) -> list[Array]:
        if self._source is None:
            return [self._world.poses()]
        picked = np.linspace(0, self.count - 1, FRAMING).astype(int)
        return [poses.copy() for poses in self._poses(self._times[np.unique(picked)])]

    def _tools(self) -> Array:
        return np.array([robot.tool()[:3, 3] for robot in self._world.robots.values()])

    def _cut(self, rows: ColumnSource, name: Path, cell: Any) -> Cell:
        """Limit the recording `rows` to the time range of the options; return the cell to draw."""
        options = self._options
        shown, notes = recorded_cell(rows, name, cell)
        self.notes += [*rows.notes, *notes]
        if options.start is not None or options.stop is not None:
            rows = rows.between(options.start, options.stop)
        if rows.rows < 2:
            raise BrazoError(
                f"{name}: a video needs at least two rows; the time range has {rows.rows}"
            )
        self._source = rows, name
        return shown

    def _frame_times(self, rows: ColumnSource) -> Array:
        """Return the times (k,) of the frames, in s after the first row of `rows`."""
        options = self._options
        length = float(elapsed(rows)[-1])
        count = math.floor(length * options.fps / options.speed + 1e-6) + 1
        if count > MAX_FRAMES:
            raise BrazoError(
                f"the video would have {count} frames; at most {MAX_FRAMES} are allowed: choose a "
                "shorter time range, a higher speed or a lower frame rate"
            )
        return np.minimum(np.arange(count) * options.speed / options.fps, length)


def _recording_of(source: Any) -> tuple[ColumnSource, Path] | None:
    """Return the rows and name of a recording; None if `source` is something else."""
    if isinstance(source, ColumnSource):
        return source, Path("recording")
    if isinstance(source, Recording):
        return memory_source(source.columns, source.events, source.about), Path("recording")
    if isinstance(source, str | Path) and str(source).lower().endswith(READABLE):
        path = Path(source).expanduser()
        return open_source(path), path
    recording = getattr(source, "recording", None)
    return None if not isinstance(recording, Recording) else _recording_of(recording)
