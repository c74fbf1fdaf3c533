"""What the lab can show: a cell whose time passes, be it simulated or replayed from a recording."""

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
    """A robot of what is shown; poses are in the world."""

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
        """Joint velocities (n,); a copy."""
        ...

    @property
    def torque(self) -> np.ndarray:
        """Torques and forces of the drives (n,), N m and N."""
        ...

    @property
    def reference(self) -> Reference:
        """Where it is asked to be."""
        ...

    @property
    def moving(self) -> bool:
        """Whether a motion is under way."""
        ...

    def tool(self) -> np.ndarray:
        """Pose of the tool (4, 4)."""
        ...


class Shown(Protocol):
    """A simulation, or the replay of a recording; read it while `lock` is held."""

    lock: StepLock

    @property
    def player(self) -> Player:
        """Lets its time pass."""
        ...

    @property
    def cell(self) -> Cell:
        """The cell."""
        ...

    @property
    def world(self) -> World:
        """The engine's world, at the present time."""
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
        """The present time, s."""
        ...

    @property
    def dt(self) -> float:
        """Time of a step, s."""
        ...

    @property
    def moving(self) -> bool:
        """Whether a robot moves by itself."""
        ...
