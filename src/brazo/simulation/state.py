"""State of a simulation: the world's state and that of all controllers and motions.

Controllers and motions are copied, so a state can be restored any number of times.  Tasks are kept
by reference: a task with internal state has to save and restore it itself.
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
    """State of a robot in a simulation, in addition to the world's state."""

    controller: Controller | None
    positioned: bool
    motion: Any
    load: tuple[str, float] | None
    ailments: Ailments


@dataclass(frozen=True, slots=True, eq=False)
class SimState:
    """The state of a simulation at one time."""

    world: State
    robots: dict[str, RobotState]
    tasks: tuple[Any, ...]
    events: int  # number of events so far
    scheduled: tuple[tuple[float, Fault], ...]  # pending faults and their times (s)
    injected: int  # number of faults injected so far

    @property
    def time(self) -> float:
        """Simulated time since the start (s)."""
        return self.world.time


def save_robot(robot: SimRobot) -> RobotState:
    """Return a copy of the state of a robot's control."""
    return RobotState(
        copy.deepcopy(robot._controller),
        robot._positioned,
        copy.copy(robot.motion),
        robot._load,
        copy.deepcopy(robot._ailments),
    )


def restore_robot(robot: SimRobot, state: RobotState) -> None:
    """Restore the state of a robot's control."""
    robot._controller = copy.deepcopy(state.controller)
    robot._positioned = state.positioned
    robot.motion = copy.copy(state.motion)
    robot._load = state.load
    robot._ailments = copy.deepcopy(state.ailments)
    robot._ailments.renew(robot.world)
    robot.fit_controller()
