"""What a master's device is: something that says, many times a second, where the hand is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from brazo.kinematics.orientation import matrix_from_rotvec


@dataclass(frozen=True, slots=True, eq=False)
class Hand:
    """Where the hand is, counted from where it began, and what it presses."""

    moved: np.ndarray = field(default_factory=lambda: np.zeros(3))  # (3,) m
    turned: np.ndarray = field(default_factory=lambda: np.zeros(3))  # (3,) rotation vector
    run: bool = False  # holds the enabling switch
    engage: int = 0  # how often it has asked for motion to begin
    clutch: bool = False
    grip: float | None = None
    settings: tuple[tuple[str, Any], ...] = ()  # to ask of the follower, once
    done: bool = False  # leaves


class Device(Protocol):
    """A source of hands."""

    name: str

    def read(self, t: float, state: int) -> Hand:
        """The hand at t seconds; `state` is what the follower last told, 0 IDLE to 3 HOLD."""
        ...

    def close(self) -> None:
        """Let go of the hardware."""
        ...


@runtime_checkable
class Halting(Protocol):
    """A device that has something of its own to let go of when STOP is pressed."""

    def stop(self) -> bool:
        """Let go; whether there was anything.  Safe from any thread."""
        ...


@runtime_checkable
class Yielding(Protocol):
    """A device whose hand gives way where the arm it holds cannot go."""

    def stay(self, moved: np.ndarray, turned: np.ndarray) -> None:
        """Be there, counted from where the hand began."""
        ...


def how_to_go_on(device: Device) -> str:
    """What the operator has to do after a HOLD or a STOP, with the device's own keys."""
    return getattr(device, "anew", "release, then press and hold")


def pose_of(hand: Hand, start: np.ndarray) -> np.ndarray:
    """The pose (4, 4) of a handle that began at `start`."""
    T = start.copy()
    T[:3, 3] += hand.moved
    T[:3, :3] = matrix_from_rotvec(hand.turned) @ start[:3, :3]
    return T


def joint_units(robot: Any) -> list[str]:
    """The unit of each joint value."""
    return ["rad" if kind == "revolute" else "m" for kind in robot.joint_kinds]


class Rates:
    """A hand moved by speeds, for devices that know no places: keys and sticks."""

    def __init__(self) -> None:
        self.moved, self.turned = np.zeros(3), np.zeros(3)
        self._t: float | None = None

    def go(self, t: float, velocity: np.ndarray, turning: np.ndarray) -> None:
        """Move on to time t with these speeds, m/s and rad/s."""
        # After a pause of the loop the hand has not run away.
        dt = 0.0 if self._t is None else min(max(t - self._t, 0.0), 0.05)
        self._t = t
        self.moved = self.moved + dt * velocity
        self.turned = self.turned + dt * turning
