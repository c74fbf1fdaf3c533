"""Frames to an .mp4 (H.264), .webm (VP9) or .gif file, by ffmpeg in another process.

ffmpeg comes with the package imageio-ffmpeg.  The file appears only when it is complete; an
exception or Ctrl+C inside the context removes it.
"""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

import numpy as np

from brazo.errors import BrazoError
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
    """Suffix of a video's path; raise `BrazoError` if it is not one of `FORMATS`."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise BrazoError(f"{path}: videos are written as {', '.join(FORMATS)}")
    return suffix


def frame_size(size: Any) -> tuple[int, int]:
    """Width and height in px, given as `(640, 480)` or `640x480`; both must be even."""
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


def ffmpeg() -> str:
    """Path of the ffmpeg program."""
    try:
        from imageio_ffmpeg import get_ffmpeg_exe

        return get_ffmpeg_exe()
    except ImportError:
        raise BrazoError("videos need imageio-ffmpeg: pip install imageio-ffmpeg") from None
    except RuntimeError as error:
        raise BrazoError(
            f"no ffmpeg program found ({error}): pip install --force-reinstall imageio-ffmpeg, or "
            "set IMAGEIO_FFMPEG_EXE to one"
        ) from None


@contextlib.contextmanager
def encoding(path: Path, size: tuple[int, int], fps: float) -> Iterator[Write]:
    """Write a video; yield the function that adds a frame (height, width, 3), 8 bit RGB."""
    suffix, program = video_format(path), ffmpeg()
    with contextlib.ExitStack() as stack:
        target = stack.enter_context(replacing(path))
        file = target
        if suffix == ".gif":
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="brazo-"))
            file = Path(folder) / "frames.mkv"
        raw = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}")
        given = (*raw, "-r", f"{fps:g}", "-i", "pipe:0", "-an")
        with _running(program, path, *given, *_CODECS[suffix], str(file)) as write:
            yield write
        if suffix == ".gif":
            twice = ("-i", str(file), "-i", str(file), "-filter_complex", _GIF)
            with _running(program, path, *twice, "-f", "gif", str(target)):
                pass


def _started(command: list[str], errors: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start ffmpeg; Ctrl+C during the start ends it.

    An exception inside `Popen` on the main thread would leave a process that nobody ends and that
    writes the removed file again; Ctrl+C raises no exception on another thread.
    """
    with ThreadPoolExecutor(1) as pool:
        started = pool.submit(
            subprocess.Popen,
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,  # Ctrl+C is for this process, which then ends ffmpeg
        )
        try:
            return started.result()
        except KeyboardInterrupt:
            process = started.result()
            process.kill()
            process.wait()
            raise


@contextlib.contextmanager
def _running(program: str, path: Path, *arguments: str) -> Iterator[Write]:
    """Run ffmpeg; yield the function that sends it a frame.  It is ended by an exception."""
    with tempfile.TemporaryFile() as errors:
        process = _started(
            [program, "-hide_banner", "-loglevel", "error", "-y", *arguments], errors
        )
        assert process.stdin is not None
        pipe = process.stdin

        def write(frame: np.ndarray) -> None:
            pipe.write(np.ascontiguousarray(frame).data)

        try:
            with contextlib.suppress(BrokenPipeError):  # its exit code tells why
                yield write
                pipe.close()
            if process.wait() != 0:
                errors.seek(0)
                lines = errors.read().decode(errors="replace").strip().splitlines()
                reason = lines[-1] if lines else f"exit code {process.returncode}"
                raise BrazoError(f"{path}: ffmpeg could not write it: {reason}")
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            with contextlib.suppress(OSError):
                pipe.close()
