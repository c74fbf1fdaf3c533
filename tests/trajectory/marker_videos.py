"""Pictures and videos of a coloured disc at known positions, with noise and uneven light."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from brazo.ffmpeg import ffmpeg

WIDTH, HEIGHT, RADIUS = 160, 120, 7.0  # px
GREEN = (0.1, 0.75, 0.2)


def picture(
    xy: tuple[float, float] | None,
    color: tuple[float, float, float] = GREEN,
    light: float = 1.0,
    seed: int = 0,
    size: tuple[int, int] = (WIDTH, HEIGHT),
) -> np.ndarray:
    """A frame with the disc at a position (px, y down), or without it."""
    width, height = size
    y, x = np.mgrid[:height, :width] + 0.5
    frame = np.stack([90.0 + 40.0 * x / width, 100.0 + 0.0 * x, 110.0 + 30.0 * y / height], axis=2)
    if xy is not None:
        distance = np.hypot(x - xy[0], y - xy[1])
        covered = np.clip(RADIUS + 0.5 - distance, 0.0, 1.0)[..., None]
        frame = (1.0 - covered) * frame + covered * 255.0 * np.array(color)
    frame = light * frame + np.random.default_rng(seed).normal(0.0, 6.0, frame.shape)
    return np.clip(frame, 0.0, 255.0).astype(np.uint8)


def circle(count: int, radius: float = 40.0, turns: float = 1.0) -> np.ndarray:
    """Positions (count, 2) on a circle about the centre, counterclockwise as it is seen."""
    a = 2.0 * np.pi * turns * np.arange(count) / count
    return np.stack([0.5 * WIDTH + radius * np.cos(a), 0.5 * HEIGHT - radius * np.sin(a)], axis=1)


def pictures(positions: Iterable, dimmed: float = 0.3, **more) -> list[np.ndarray]:
    """Frames with the disc at these positions, in light that changes."""
    return [
        picture(xy, light=1.0 - dimmed * np.sin(0.2 * k) ** 2, seed=k, **more)
        for k, xy in enumerate(positions)
    ]


def write_video(path: Path, frames: list[np.ndarray], *options: str, rate: int = 30) -> Path:
    """Write frames with the encoder that ffmpeg chooses for the suffix."""
    height, width = frames[0].shape[:2]
    given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(rate)]
    subprocess.run(
        [ffmpeg(), "-v", "error", "-y", *given, "-i", "-", "-pix_fmt", "yuv420p", *options, path],
        input=b"".join(frame.tobytes() for frame in frames),
        check=True,
    )
    return path
