"""Interface of a master's input device, which reports the master position every cycle."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from brazo.kinematics.orientation import matrix_from_rotvec


@dataclass(frozen=True, slots=True, eq=False)
class HandState:
    """Master position relative to the start, and the state of the buttons."""

    moved: np.ndarray = field(default_factory=lambda: np.zeros(3))  # (3,) m
    turned: np.ndarray = field(default_factory=lambda: np.zeros(3))  # (3,) rotation vector
    run: bool = False  # enable switch held
    engage: int = 0  # number of requests to engage so far
    clutch: bool = False
    grip: float | None = None
    settings: tuple[tuple[str, Any], ...] = ()  # settings to request from the follower, once
    done: bool = False  # the operator leaves


class Device(Protocol):
    """Input device that yields a `HandState` per cycle."""

    name: str

    def read(self, t: float, state: int) -> HandState:
        """Return the input at time t (s).

        `state` is the last reported state of the follower, 0 IDLE to 3 HOLD.
        """
        ...

    def close(self) -> None:
        """Release the hardware."""
        ...


@runtime_checkable
class Halting(Protocol):
    """Device with its own inputs to release on STOP."""

    def stop(self) -> bool:
        """Release all inputs; return whether any was held.  Thread-safe."""
        ...


@runtime_checkable
class Yielding(Protocol):
    """Device whose position can be corrected when the arm cannot follow."""

    def stay(self, moved: np.ndarray, turned: np.ndarray) -> None:
        """Set the position (m) and the rotation vector (rad), both from the start."""
        ...


def resume_hint(device: Device) -> str:
    """Return the instruction to resume after HOLD or STOP, with the keys of the device."""
    return getattr(device, "resume_hint", "release, then press and hold")


def pose_of(hand: HandState, start: np.ndarray) -> np.ndarray:
    """Return the pose (4, 4) of a handle with the start pose `start`."""
    T = start.copy()
    T[:3, 3] += hand.moved
    T[:3, :3] = matrix_from_rotvec(hand.turned) @ start[:3, :3]
    return T


def joint_units(robot: Any) -> list[str]:
    """Return the unit of each joint value."""
    return ["rad" if kind == "revolute" else "m" for kind in robot.joint_kinds]


class RateIntegrator:
    """Integrator of velocities, for devices without position input: keys and sticks."""

    def __init__(self) -> None:
        self.moved, self.turned = np.zeros(3), np.zeros(3)
        self._t: float | None = None

    def go(self, t: float, velocity: np.ndarray, turning: np.ndarray) -> None:
        """Integrate to time t (s) with these velocities, in m/s and rad/s."""
        # The time step is limited, so that a pause of the loop does not cause a jump.
        dt = 0.0 if self._t is None else min(max(t - self._t, 0.0), 0.05)
        self._t = t
        self.moved = self.moved + dt * velocity
        self.turned = self.turned + dt * turning
