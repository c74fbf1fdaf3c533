"""Protocols of what the lab can show: a simulation, or the replay of a recording."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from brazo.control import Reference
from brazo.robot import Robot
from brazo.simulation.lock import StepLock
from brazo.simulation.player import Player
from brazo.world import Cell, World, WorldRobot


class ShownRobot(Protocol):
    """A robot of a simulation or replay; poses are in the world frame."""

    name: str
    arm: Robot
    world: WorldRobot

    @property
    def n(self) -> int:
        """Number of joints."""
        ...

    @property
    def base(self) -> np.ndarray:
        """Pose of the base (4, 4)."""
        ...

    @property
    def q(self) -> np.ndarray:
        """Joint positions (n,), rad and m; a copy."""
        ...

    @property
    def qd(self) -> np.ndarray:
        """Joint velocities (n,), rad/s and m/s; a copy."""
        ...

    @property
    def torque(self) -> np.ndarray:
        """Torques and forces of the drives (n,), N m and N."""
        ...

    @property
    def reference(self) -> Reference:
        """Reference of the joints: position, velocity and acceleration."""
        ...

    @property
    def moving(self) -> bool:
        """Whether a motion is active."""
        ...

    def tool(self) -> np.ndarray:
        """Pose of the tool (4, 4)."""
        ...


class Shown(Protocol):
    """A simulation or a replay; hold `lock` while reading its state."""

    lock: StepLock

    @property
    def player(self) -> Player:
        """The player that runs it in real time."""
        ...

    @property
    def cell(self) -> Cell:
        """The cell."""
        ...

    @property
    def world(self) -> World:
        """The world of the physics engine, in its current state."""
        ...

    @property
    def robots(self) -> Mapping[str, ShownRobot]:
        """The robots by name."""
        ...

    def robot(self, name: str) -> ShownRobot:
        """A robot by name."""
        ...

    @property
    def time(self) -> float:
        """Current time, s."""
        ...

    @property
    def dt(self) -> float:
        """Time step, s."""
        ...

    @property
    def moving(self) -> bool:
        """Whether a motion of any robot is active."""
        ...
