"""Option `--trajectory`: read a motion from a file.

The suffix of the file determines its kind:

    .py        a function `trajectory(t)`, or a function `tool(t)` and a number `duration` (s)
    .npy       an array (joints, samples, 3): positions, velocities and accelerations
    .yaml      a trajectory file (also .yml): via points, or a tool path
    .parquet   a recording; the robot follows the recorded tool path
    .csv       a recording, as with .parquet
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.cli.user_code import load_function, load_module
from brazo.errors import BrazoError

if TYPE_CHECKING:
    from brazo.robot import Robot

RECORDINGS = (".parquet", ".csv")


def given_motion(path: Path, arm: Robot) -> tuple[Any, Any]:
    """Return the motion in a file, for `Robot.follow`, and the intervals with the pen down.

    The intervals (k, 2) are start and end times in s; None if the file does not describe a drawing.
    """
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return _array(path), None
    if suffix in (".yaml", ".yml"):
        return _file(path, arm)
    if suffix in RECORDINGS:
        from brazo.recording import Recording
        from brazo.trajectory import recorded_path

        return _planned(arm, recorded_path(Recording.open(path), arm)), None
    module = load_module(path)
    if not callable(getattr(module, "tool", None)):
        return load_function(path, "trajectory", "trajectory(t) -> q, qd, qdd"), None
    from brazo.trajectory import function

    duration = getattr(module, "duration", None)
    if not isinstance(duration, int | float) or isinstance(duration, bool):
        raise BrazoError(
            f"{path}: has a function tool(t), but no number 'duration' (s); add e.g. duration = 5.0"
        )
    first = next(iter(arm.poses.values()), np.zeros(arm.n))
    probe = np.shape(module.tool(0.0))
    turning = None if probe == (4, 4) else arm.fk(np.asarray(first))[:3, :3]
    return _planned(arm, function(module.tool, float(duration), turning)), None


def _planned(arm: Robot, path: Any) -> Any:
    from brazo.trajectory import plan_path

    return plan_path(arm, path, orientation="full" if arm.mobility >= 6 else "nearest")


def _file(path: Path, arm: Robot) -> tuple[Any, Any]:
    from brazo.trajectory import DrawingPath, PathFile, read_trajectory

    found = read_trajectory(path, arm)
    motion = found.trajectory(arm)
    if not isinstance(found, PathFile):
        return motion, None
    drawn = found.path(arm)
    if not isinstance(drawn, DrawingPath):
        return motion, None
    # The motion may have been slowed down to the limits.
    return motion, drawn.pen_down * (motion.duration / drawn.duration)


def _array(path: Path) -> Any:
    try:
        # Memory-mapped, so that a header that claims terabytes allocates nothing.
        return np.load(path, allow_pickle=False, mmap_mode="r")
    except (OSError, ValueError, EOFError, MemoryError) as error:
        raise BrazoError(f"{path}: not a NumPy array file: {error}") from None
