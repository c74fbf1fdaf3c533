"""Two benchmark motions for controllers: sines about a pose, and a quintic between two poses.

Both start at the first pose of the robot file, and runs with them last `T_END` = 2 s.  No joint
exceeds half of its speed limit or leaves its position limits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from brazo.robot import Robot

T_END = 2.0
Trajectory = Callable[[float], tuple[np.ndarray, np.ndarray, np.ndarray]]


def sines(robot: Robot) -> Trajectory:
    """Sine motion of every joint about the first pose, with frequencies from 0.5 to 1 Hz."""
    centre, reach = _room(robot)
    omega = 2.0 * np.pi * np.linspace(0.5, 1.0, robot.n)
    amplitude = np.minimum(reach, 0.5 * _speeds(robot) / omega)

    def trajectory(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        s, c = np.sin(omega * t), np.cos(omega * t)
        return (
            centre + amplitude * s,
            amplitude * omega * c,
            -amplitude * omega**2 * s,
        )

    return trajectory


def quintic(robot: Robot) -> Trajectory:
    """Motion of every joint from the first pose, from rest to rest in 1.5 s, then at rest.

    The position changes as 10 x³ − 15 x⁴ + 6 x⁵, where x is the time divided by 1.5 s.
    """
    start, reach = _room(robot)
    duration = 0.75 * T_END
    # The quintic's max speed is 15/8 of the mean.
    distance = np.minimum(1.5 * reach, 0.5 * _speeds(robot) * duration * 8.0 / 15.0)
    low, high = robot.limits.T

    def fits(side: np.ndarray) -> np.ndarray:
        end = start + side * distance
        return (end >= low) & (end <= high)

    side = np.where(np.arange(robot.n) % 2, -1.0, 1.0)
    side = np.where(fits(side), side, -side)
    # A joint with both limits near moves towards the farther one.
    farther = np.where(high - start > start - low, 1.0, -1.0)
    room = 0.9 * np.maximum(high - start, start - low)
    distance = np.where(fits(side), side * distance, farther * room)

    def trajectory(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x = min(t / duration, 1.0)
        return (
            start + distance * (x**3 * (10.0 - 15.0 * x + 6.0 * x**2)),
            distance * (30.0 * x**2 * (1.0 - x) ** 2 / duration),
            distance * (60.0 * x * (1.0 - 3.0 * x + 2.0 * x**2) / duration**2),
        )

    return trajectory


def _room(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Return the first pose (n,), and the max amplitude (n,) of a motion about it.

    The amplitude is 0.4 rad or 0.05 m, or less if a joint limit is near.
    """
    start = np.array(next(iter(robot.poses.values()), np.zeros(robot.n)), dtype=float)
    low, high = robot.limits.T
    half = np.array([0.4 if kind == "revolute" else 0.05 for kind in robot.joint_kinds])
    return start, np.minimum(half, 0.9 * np.minimum(start - low, high - start))


def _speeds(robot: Robot) -> np.ndarray:
    drives = getattr(robot.model, "coordinates", None)
    if drives is None:
        return np.full(robot.n, robot.model.drive.max_speed)  # pyright: ignore[reportAttributeAccessIssue]
    return np.array([joint.drive.max_speed for joint in drives])
