"""Encoder of frames to an .mp4 (H.264), .webm (VP9) or .gif file, by ffmpeg in another process.

The file appears only when it is complete.  If an exception or Ctrl+C ends the context manager
`encoding`, no file is written.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from brazo.errors import BrazoError
from brazo.ffmpeg import running
from brazo.files import replacing

_H264 = ("-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-pix_fmt", "yuv420p")
_CODECS = {
    ".mp4": (*_H264, "-movflags", "+faststart", "-f", "mp4"),
    ".webm": (
        *("-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "7", "-row-mt", "1"),
        *("-b:v", "0", "-crf", "33", "-pix_fmt", "yuv420p", "-f", "webm"),
    ),
    # Colours of a GIF are chosen from all frames, so these are first kept without loss.
    ".gif": ("-c:v", "libx264rgb", "-preset", "ultrafast", "-qp", "0", "-f", "matroska"),
}
_GIF = "[0:v]palettegen=stats_mode=full[p];[1:v][p]paletteuse=dither=sierra2_4a:diff_mode=rectangle"
FORMATS = tuple(_CODECS)
MAX_SIDE = 7680  # px

Write = Callable[[np.ndarray], None]


def video_format(path: str | Path) -> str:
    """Return the suffix of a video file in lower case; raise BrazoError if not in `FORMATS`."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise BrazoError(f"{path}: videos are written as {', '.join(FORMATS)}; change the suffix")
    return suffix


def frame_size(size: Any) -> tuple[int, int]:
    """Convert a size such as `(640, 480)` or `640x480` to (width, height) in px.

    Raise BrazoError unless both are even and from 16 to `MAX_SIDE`.
    """
    try:
        parts = size.lower().split("x") if isinstance(size, str) else size
        width, height = (int(one) for one in parts)
    except (TypeError, ValueError):
        raise BrazoError(f"size '{size}': expected WIDTHxHEIGHT in px, such as 1280x720") from None
    for side in (width, height):
        if side % 2 or not 16 <= side <= MAX_SIDE:
            raise BrazoError(
                f"size {width}x{height}: width and height must be even, from 16 to {MAX_SIDE} px"
            )
    return width, height


@contextlib.contextmanager
def encoding(path: Path, size: tuple[int, int], fps: float) -> Iterator[Write]:
    """Write a video (context manager); yield a function that adds a frame.

    A frame is (height, width, 3), 8-bit RGB.
    """
    suffix = video_format(path)
    with contextlib.ExitStack() as stack:
        target = stack.enter_context(replacing(path))
        file = target
        if suffix == ".gif":
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="brazo-"))
            file = Path(folder) / "frames.mkv"
        raw = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}")
        given = (*raw, "-r", f"{fps:g}", "-i", "pipe:0", "-an")
        with _written_by(path, *given, *_CODECS[suffix], str(file)) as write:
            yield write
        if suffix == ".gif":
            twice = ("-i", str(file), "-i", str(file), "-filter_complex", _GIF)
            with _written_by(path, *twice, "-f", "gif", str(target)):
                pass


@contextlib.contextmanager
def _written_by(path: Path, *arguments: str) -> Iterator[Write]:
    """Run ffmpeg to write a file (context manager); yield a function that sends ffmpeg a frame."""
    with running("-y", *arguments) as ffmpeg:
        with contextlib.suppress(BrokenPipeError):  # its exit code tells why
            yield lambda frame: _send(frame, ffmpeg.stdin)
            ffmpeg.stdin.close()
        if reason := ffmpeg.failure():
            raise BrazoError(f"{path}: ffmpeg could not write the file: {reason}")


def _send(frame: np.ndarray, pipe: IO[bytes]) -> None:
    pipe.write(np.ascontiguousarray(frame).data)
