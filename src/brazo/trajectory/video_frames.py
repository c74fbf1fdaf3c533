"""Frames of a video file, decoded by ffmpeg in a child process.

Videos of any frame rate are converted to 30 frames/s, with square pixels and at most 480 px wide
and high.  Only video containers are read.  Playlists and other formats that refer to further files
or addresses are rejected.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator, Iterator
from pathlib import Path

import numpy as np

from brazo.errors import BrazoError
from brazo.ffmpeg import Running, running
from brazo.files import require_file

Array = np.ndarray
RATE = 30.0  # frames/s
MAX_SIDE = 480  # px
MAX_DURATION = 120.0  # s
MAX_BYTES = 500 << 20
SUFFIXES = (".webm", ".mp4", ".mov", ".mkv", ".avi", ".m4v", ".mpg", ".ogv", ".gif")
_MAX_PIXELS = 8192 * 4320  # of a frame in the file
_STALLED = 30.0  # s without a frame
_CONTAINERS = "matroska,webm,mov,mp4,m4a,3gp,3g2,mj2,avi,gif,ogg,mpeg,mpegts,yuv4mpegpipe"
_FILTER = (
    f"fps={RATE:g},scale=w=iw*sar:h=ih,"
    f"scale=w='min({MAX_SIDE},iw)':h='min({MAX_SIDE},ih)':force_original_aspect_ratio=decrease:"
    "flags=area"
)


def video_frames(path: str | Path) -> Generator[Array]:
    """Yield the frames (height, width, 3) of a video file, 8-bit RGB, 1/30 s apart."""
    path = Path(path)
    status = require_file(path)
    if status.st_size > MAX_BYTES:
        raise BrazoError(
            f"{path}: the file has {status.st_size / 1e6:.0f} MB; at most {MAX_BYTES / 1e6:.0f} MB "
            "are allowed"
        )
    safe = ("-nostdin", "-protocol_whitelist", "file", "-format_whitelist", _CONTAINERS)
    given = (*safe, "-max_pixels", str(_MAX_PIXELS), "-i", f"file:{path.resolve()}")
    wanted = ("-map", "0:v:0", "-vf", _FILTER, "-pix_fmt", "rgb24", "-c:v", "ppm")
    with running(*given, *wanted, "-f", "image2pipe", "pipe:1") as decoder:
        count = 0
        while (frame := _next(decoder, path)) is not None:
            count += 1
            if count > MAX_DURATION * RATE:
                raise BrazoError(f"{path}: longer than {MAX_DURATION:g} s; cut the video")
            yield frame
        reason = decoder.failure()
        # A file that ends in the middle of a frame, as one of a stopped recorder, has the others.
        if not count:
            more = f": {reason}" if reason else ""
            raise BrazoError(f"{path}: not a readable video ({', '.join(SUFFIXES)}){more}")


def _next(decoder: Running, path: Path) -> Array | None:
    """Read the next frame, encoded as a PPM image; None at the end."""
    with _frame_timeout(decoder, path):
        head = [decoder.stdout.readline() for _ in range(3)]  # P6, width height, 255
        if not head[-1]:
            return None
        width, height = map(int, head[1].split())
        data = decoder.stdout.read(3 * width * height)
    if len(data) < 3 * width * height:
        return None
    return np.frombuffer(data, np.uint8).reshape(height, width, 3)


@contextlib.contextmanager
def _frame_timeout(decoder: Running, path: Path) -> Iterator[None]:
    """Kill the decoder and raise an error if the block takes longer than `_STALLED` (s)."""
    late = threading.Event()

    def end() -> None:
        late.set()
        decoder.process.kill()

    timer = threading.Timer(_STALLED, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
    if late.is_set():
        raise BrazoError(f"{path}: ffmpeg decoded no frame for {_STALLED:g} s")
