"""Protocols for what the lab can show: a simulation, or the replay of a recording."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from brazo.control import Reference
from brazo.robot import Robot
from brazo.simulation.player import Played, Player
from brazo.world import Cell, World, WorldRobot


class ShownRobot(Protocol):
    """A robot of a simulation or replay; poses are in the world frame."""

    name: str
    arm: Robot
    world: WorldRobot

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.world.n

    @property
    def base(self) -> np.ndarray:
        """Pose of the base (4, 4)."""
        return self.world.base

    @property
    def q(self) -> np.ndarray:
        """Joint positions (n,), rad and m; a copy."""
        return self.world.q.copy()

    @property
    def qd(self) -> np.ndarray:
        """Joint velocities (n,), rad/s and m/s; a copy."""
        return self.world.qd.copy()

    @property
    def torque(self) -> np.ndarray:
        """Drive torques and forces of the joints (n,), in N m and N."""
        return self.world.drive_torque.copy()

    @property
    def reference(self) -> Reference:
        """Reference position, velocity and acceleration of the joints."""
        ...

    @property
    def moving(self) -> bool:
        """Whether a motion is active."""
        return False

    def tool(self) -> np.ndarray:
        """Pose of the tool (4, 4)."""
        return self.world.tool()


class Shown(Played, Protocol):
    """A simulation or a replay; hold `lock` while reading its state."""

    @property
    def player(self) -> Player:
        """The player that runs the simulation or replay in real time."""
        ...

    @property
    def cell(self) -> Cell:
        """The cell that is simulated or replayed."""
        ...

    @property
    def world(self) -> World:
        """The world of the physics engine, in its current state."""
        ...

    @property
    def robots(self) -> Mapping[str, ShownRobot]:
        """All robots: name -> robot."""
        ...

    @property
    def moving(self) -> bool:
        """Whether a motion of any robot is active."""
        ...
