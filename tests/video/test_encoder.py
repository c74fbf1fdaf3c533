"""Frames to files: what a decoder makes of them, and that no half file is left."""

from __future__ import annotations

import subprocess

import imageio_ffmpeg
import numpy as np
import pytest

from brazo.errors import BrazoError
from brazo.ffmpeg import ffmpeg
from brazo.video import encoder
from brazo.video.encoder import encoding, frame_size, video_format

SIZE = (64, 48)


def frames(count: int) -> list[np.ndarray]:
    """Frames of one colour each, upper half dark."""
    found = []
    for k in range(count):
        frame = np.full((48, 64, 3), (200, 60 + 10 * k, 40), np.uint8)
        frame[:24] //= 2
        found.append(frame)
    return found


def decoded(path) -> list[np.ndarray]:
    program = [ffmpeg(), "-v", "error", "-i", str(path)]
    raw = subprocess.run(
        [*program, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"], capture_output=True, check=True
    ).stdout
    return list(np.frombuffer(raw, np.uint8).reshape(-1, 48, 64, 3))


@pytest.mark.parametrize("suffix", [".mp4", ".webm", ".gif"])
def test_a_decoder_finds_the_frames_again(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    with encoding(path, SIZE, 10.0) as write:
        for frame in frames(6):
            write(frame)
    found = decoded(path)
    assert len(found) == 6
    for one, given in zip(found, frames(6), strict=True):
        # Lossy codecs with half the colour resolution; away from the edge between the halves.
        for rows in (slice(4, 18), slice(30, 44)):
            assert np.abs(one[rows].astype(int) - given[rows]).mean() < 6.0
    assert imageio_ffmpeg.count_frames_and_secs(str(path))[1] == pytest.approx(0.6, abs=0.05)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interruption_leaves_no_file(tmp_path, error):
    with pytest.raises(error), encoding(tmp_path / "a.mp4", SIZE, 10.0) as write:
        write(frames(1)[0])
        raise error
    assert not list(tmp_path.iterdir())


def test_an_encoder_that_fails_is_reported(tmp_path, monkeypatch):
    monkeypatch.setitem(encoder._CODECS, ".mp4", ("-c:v", "no-such-codec", "-f", "mp4"))
    with (
        pytest.raises(BrazoError, match="ffmpeg could not write the file"),
        encoding(tmp_path / "a.mp4", SIZE, 10.0) as write,
    ):
        for frame in frames(6):
            write(frame)
    assert not list(tmp_path.iterdir())


def test_other_formats_are_refused():
    with pytest.raises(BrazoError, match=r"\.mp4, \.webm, \.gif"):
        video_format("a.avi")


def test_a_size_is_two_even_numbers():
    assert frame_size("1280x720") == (1280, 720)
    for size in ("1280", "641x480", (2, 2), "axb", None, "10000x10000"):
        with pytest.raises(BrazoError, match="size"):
            frame_size(size)
