"""Motions of a robot: along a checked trajectory, and braking to rest."""

from __future__ import annotations

import numpy as np

from brazo.errors import BrazoError
from brazo.robot import Robot
from brazo.simulation.motion import Motion, Rest, Sampled
from brazo.trajectory import GoTo, Trajectory, limits_of

MAX_GAP = 0.02  # rad or m; a motion that starts farther from the reference is rejected
TOLERANCE = 1e-6  # rad or m; a motion that exceeds a joint limit by more than this is rejected
MAX_BRAKING = 60.0  # s


def checked_motion(
    name: str,
    arm: Robot,
    trajectory: Trajectory,
    current: Motion,
    dt: float,
    *,
    jump: bool,
    unchecked: bool,
) -> Sampled:
    """Check a trajectory and return the motion along it; see `SimRobot.move`."""
    if trajectory.n != arm.n:
        raise BrazoError(f"robot '{name}' has {arm.n} joints; the trajectory has {trajectory.n}")
    motion = Sampled.of(trajectory, dt)
    gap = np.abs(motion.q - current.q)
    if not jump and (gap > MAX_GAP).any():
        i = int(np.argmax(gap))
        unit = "rad" if arm.joint_kinds[i] == "revolute" else "m"
        raise BrazoError(
            f"robot '{name}': the trajectory starts with joint {arm.joint_names[i]} at "
            f"{motion.q[i]:.4f} {unit}, but the current reference of the joint is "
            f"{current.q[i]:.4f} {unit}; plan the trajectory from `reference.q`, or pass jump=True"
        )
    if not unchecked:
        _check_limits(name, arm, motion)
    return motion


def braking_motion(arm: Robot, current: Motion, dt: float) -> Motion:
    """Return the motion that brakes to rest as quickly as the limits allow."""
    if not (current.qd.any() or current.qdd.any()):
        return Rest(current.q)
    braking = GoTo(limits_of(arm), current.q, current.qd, current.qdd)
    rows = [current.row.copy()]
    while braking.moving and len(rows) * dt < MAX_BRAKING:
        sample = braking.update(dt)
        rows.append(np.concatenate([sample.q, sample.qd, sample.qdd]))
    return Sampled(np.array(rows), dt)


def _check_limits(name: str, arm: Robot, motion: Sampled) -> None:
    """Raise `BrazoError` if a motion exceeds the joint limits.

    A motion may start outside the limits, but must not move farther out.
    """
    q = motion.table[:, : arm.n]
    low = np.minimum(arm.limits[:, 0], motion.q) - TOLERANCE
    high = np.maximum(arm.limits[:, 1], motion.q) + TOLERANCE
    outside = (q < low) | (q > high)
    if not outside.any():
        return
    row = int(np.argmax(outside.any(axis=1)))
    i = int(np.argmax(outside[row]))
    worst = q[int(np.argmax(np.maximum(low[i] - q[:, i], q[:, i] - high[i]))), i]
    limit = arm.limits[i, int(q[row, i] > high[i])]
    revolute = arm.joint_kinds[i] == "revolute"
    limit_text, worst_text = (_measure(value, revolute) for value in (limit, worst))
    raise BrazoError(
        f"robot '{name}': the trajectory exceeds the limit of {arm.joint_names[i]}, {limit_text}, "
        f"at {row * motion.dt:.3f} s and reaches {worst_text}; plan a trajectory within the "
        "joint limits `arm.limits` (brazo.trajectory.check lists all violations), or pass "
        "unchecked=True to skip this check"
    )


def _measure(value: float, revolute: bool) -> str:
    return f"{np.degrees(value):.6g} deg" if revolute else f"{value:.6g} m"
