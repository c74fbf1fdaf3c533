"""`Animation`: a short video in memory that a notebook displays and that can be saved."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.errors import BrazoError
from brazo.files import replacing
from brazo.recording.recording import Recording
from brazo.video.rendering import VideoOptions, render

if TYPE_CHECKING:
    from brazo.robot import Robot

SIZE = (640, 480)
MAX_BYTES = 8_000_000  # in a notebook; larger videos would make it slow to open
MAX_DURATION = 120.0  # s
_TYPES = {".mp4": "video/mp4", ".webm": "video/webm", ".gif": "image/gif"}


@dataclass(frozen=True, eq=False)
class Animation:
    """Video in memory; a notebook displays it, and `save` writes it to a file.

    `data` are the bytes of a file with the suffix `suffix`: .mp4, .webm or .gif.
    """

    data: bytes = field(repr=False)
    suffix: str
    size: tuple[int, int]  # px
    frames: int
    duration: float  # s

    def save(self, path: str | Path) -> Path:
        """Write the video to a file and return its path.

        The suffix of `path` must be that of the animation.
        """
        path = Path(path)
        if path.suffix.lower() != self.suffix:
            raise BrazoError(
                f"{path}: the animation is in format {self.suffix}; save it with this suffix, or "
                f"call animate with another format ({', '.join(_TYPES)})"
            )
        with replacing(path) as temporary:
            temporary.write_bytes(self.data)
        return path

    def _repr_html_(self) -> str:
        width, height = self.size
        if len(self.data) > MAX_BYTES:
            return (
                f"<p>Animation of {len(self.data) / 1e6:.1f} MB, more than the "
                f"{MAX_BYTES / 1e6:g} MB that a notebook shows: save it with "
                f"<code>.save('run{self.suffix}')</code>.</p>"
            )
        kind = _TYPES[self.suffix]
        address = f"data:{kind};base64,{base64.b64encode(self.data).decode('ascii')}"
        if self.suffix == ".gif":
            return f'<img src="{address}" width="{width}" height="{height}" alt="Animation">'
        return (
            f'<video width="{width}" height="{height}" controls loop muted playsinline '
            f'src="{address}"></video>'
        )


def animate(source: Any, *, cell: Any = None, format: str = ".mp4", **options: Any) -> Animation:
    """Render a recording, a cell or a robot to an `Animation`.

    `source` and `cell` are those of `render`.  `format` is mp4, webm or gif.  `options` are the
    fields of `VideoOptions`; the default size is 640 x 480 px.
    """
    suffix = "." + format.lower().lstrip(".")
    if suffix not in _TYPES:
        raise BrazoError(f"format '{format}' is not supported; choose {', '.join(_TYPES)}")
    chosen = VideoOptions(**{"size": SIZE, **options})
    with tempfile.TemporaryDirectory(prefix="brazo-") as folder:
        done = render(source, Path(folder) / f"animation{suffix}", chosen, cell=cell)
        data = done.path.read_bytes()
    return Animation(data, suffix, chosen.size, done.frames, done.duration)


def animate_robot(robot: Robot, qs: Any, dt: float, **options: Any) -> Animation:
    """Render a robot at k joint positions qs (k, n), `dt` seconds apart, to an `Animation`.

    `options` are those of `animate`.  The video may last at most `MAX_DURATION` (s).
    """
    values = np.asarray(qs, dtype=float)
    if values.ndim != 2 or values.shape[1] != robot.n or len(values) < 2:
        raise BrazoError(
            f"animate: qs has shape {values.shape}; expected (k, {robot.n}) with k at least 2"
        )
    if not np.isfinite(values).all():
        raise BrazoError("animate: qs contains values that are not finite")
    if not (np.isfinite(dt) and dt > 0.0):
        raise BrazoError(f"animate: dt is {dt} s; it must be greater than 0")
    speed = VideoOptions(speed=options.get("speed", 1.0)).speed  # raises if it is invalid
    duration = dt * (len(values) - 1) / speed
    if duration > MAX_DURATION:
        raise BrazoError(
            f"animate: the video would last {duration:g} s; at most {MAX_DURATION:g} s are "
            "allowed: shorten the motion, or increase 'speed'"
        )
    names: Sequence[str] = robot.joint_names
    columns = {"t": (dt * np.arange(len(values)), "s")}
    for name, kind, column in zip(names, robot.joint_kinds, values.T, strict=True):
        columns[f"q.{name}"] = (column, "rad" if kind == "revolute" else "m")
    return animate(Recording(columns), cell=robot, **options)
