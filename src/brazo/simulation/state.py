"""A moment of a simulation: the world's state and that of every law and motion.

Laws and motions are copied, so a state can be restored any number of times.  Tasks are kept as they
are: a task that has a state of its own has to look after it.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from brazo.control import Controller
from brazo.simulation.ailments import Ailments
from brazo.simulation.faults import Fault
from brazo.world import State

if TYPE_CHECKING:
    from brazo.simulation.robot import SimRobot


@dataclass(frozen=True, slots=True, eq=False)
class RobotState:
    """What a robot of a simulation adds to the world's state."""

    controller: Controller | None
    positioned: bool
    motion: Any
    load: tuple[str, float] | None
    ailments: Ailments


@dataclass(frozen=True, slots=True, eq=False)
class SimState:
    """A moment of a simulation."""

    world: State
    robots: dict[str, RobotState]
    tasks: tuple[Any, ...]
    events: int  # how many there were
    scheduled: tuple[tuple[float, Fault], ...]  # faults to come
    injected: int  # how many there have been

    @property
    def time(self) -> float:
        """Seconds since the start."""
        return self.world.time


def save_robot(robot: SimRobot) -> RobotState:
    """A copy of what changes in a robot's control."""
    return RobotState(
        copy.deepcopy(robot._controller),
        robot._positioned,
        copy.copy(robot.motion),
        robot._load,
        copy.deepcopy(robot._ailments),
    )


def restore_robot(robot: SimRobot, state: RobotState) -> None:
    """Put a robot's control back into a saved state."""
    robot._controller = copy.deepcopy(state.controller)
    robot._positioned = state.positioned
    robot.motion = copy.copy(state.motion)
    robot._load = state.load
    robot._ailments = copy.deepcopy(state.ailments)
    robot._ailments.renew(robot.world)
    robot.fit_controller()
