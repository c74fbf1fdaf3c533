"""Saved state of a simulation: the state of the world and of all controllers and motions.

Controllers, faults and motions are copied, so a state can be restored any number of times.  Tasks
and live sources of motions are not copied: they have to save and restore their internal state
themselves.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.control import Controller
from brazo.simulation.active_faults import ActiveFaults
from brazo.simulation.faults import Fault
from brazo.world import State

if TYPE_CHECKING:
    from brazo.simulation.robot import SimRobot


Array = np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class RobotState:
    """Saved controller, motion, load, faults and drives of one robot."""

    controller: Controller | None
    ideal: bool
    motion: Any
    load: tuple[str, float] | None
    faults: ActiveFaults
    drives: Array | None = None  # state of real drives
    command: Array | None = None  # (n,) commanded torques, if they are not those of the engine


@dataclass(frozen=True, slots=True, eq=False)
class SimState:
    """Saved state of a simulation at one time."""

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
    """Return a copy of a robot's controller, motion, load, faults and drive state."""
    control = robot.control
    return RobotState(
        copy.deepcopy(control.controller),
        control.ideal,
        copy.copy(robot.motion),
        control.load,
        copy.deepcopy(control.faults),
        None if control.drives is None else control.drives.state.copy(),
        None if control.drives is None else robot.world.torque.copy(),
    )


def restore_robot(robot: SimRobot, state: RobotState) -> None:
    """Restore the state returned by `save_robot`."""
    control = robot.control
    control.controller = copy.deepcopy(state.controller)
    control.ideal = state.ideal
    robot.motion = copy.copy(state.motion)
    control.load = state.load
    control.faults = copy.deepcopy(state.faults)
    control.rebind()
    if control.drives is not None and state.drives is not None:
        control.drives.state[:] = state.drives
        robot.world.torque[:] = state.command
