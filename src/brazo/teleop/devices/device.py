"""Interface of the input devices of a master, which give the handle position every cycle."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from brazo.kinematics.orientation import matrix_from_rotvec


@dataclass(frozen=True, slots=True, eq=False)
class HandState:
    """Input of the operator: handle position relative to the start, and state of the buttons."""

    moved: np.ndarray = field(default_factory=lambda: np.zeros(3))  # (3,) m
    turned: np.ndarray = field(default_factory=lambda: np.zeros(3))  # (3,) rotation vector
    run: bool = False  # enable switch held
    engage: int = 0  # number of requests to engage so far
    clutch: bool = False
    grip: float | None = None
    settings: tuple[tuple[str, Any], ...] = ()  # settings to request from the follower, once
    done: bool = False  # the operator leaves


class Device(Protocol):
    """Input device of a master; `read` is called once per cycle."""

    name: str

    def read(self, t: float, state: int) -> HandState:
        """Return the operator's input at time t (s).

        `state` is the last reported `SafetyState` of the follower, from 0 (IDLE) to 3 (HOLD).
        """
        ...

    def close(self) -> None:
        """Release the hardware."""
        ...


@runtime_checkable
class Halting(Protocol):
    """Device that can release all its inputs on STOP."""

    def stop(self) -> bool:
        """Release all inputs and return whether any was held; thread-safe."""
        ...


@runtime_checkable
class Yielding(Protocol):
    """Device whose handle position can be corrected when the master arm cannot follow it."""

    def stay(self, moved: np.ndarray, turned: np.ndarray) -> None:
        """Set the handle position (m) and rotation vector (rad), relative to the start pose."""
        ...


def resume_hint(device: Device) -> str:
    """Return the instruction to the operator for resuming after HOLD or STOP."""
    return getattr(device, "resume_hint", "release, then press and hold")


def pose_of(hand: HandState, start: np.ndarray) -> np.ndarray:
    """Return the handle pose (4, 4) for an input; `start` (4, 4) is the start pose."""
    T = start.copy()
    T[:3, 3] += hand.moved
    T[:3, :3] = matrix_from_rotvec(hand.turned) @ start[:3, :3]
    return T


def joint_units(robot: Any) -> list[str]:
    """Return the unit of each joint of a robot, `rad` or `m`."""
    return ["rad" if kind == "revolute" else "m" for kind in robot.joint_kinds]


class RateIntegrator:
    """Integrator of velocities to a handle position, for keys and joysticks."""

    def __init__(self) -> None:
        self.moved, self.turned = np.zeros(3), np.zeros(3)
        self._t: float | None = None

    def go(self, t: float, velocity: np.ndarray, turning: np.ndarray) -> None:
        """Integrate the velocities from the last call to time t (s).

        `velocity` (3,) is in m/s, and `turning` (3,) is the angular velocity in rad/s.
        """
        # The time step is limited, so that a pause of the loop does not cause a jump.
        dt = 0.0 if self._t is None else min(max(t - self._t, 0.0), 0.05)
        self._t = t
        self.moved = self.moved + dt * velocity
        self.turned = self.turned + dt * turning
