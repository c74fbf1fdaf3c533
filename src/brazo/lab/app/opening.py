"""Open cells, robots and recordings by name or path, and rebuild edited simulations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.formats.document import read_document
from brazo.formats.mistakes import mistakes
from brazo.formats.robot_yaml.robot_file import RobotFile
from brazo.lab.app.program_run import program_in
from brazo.recording.source import READABLE
from brazo.simulation import Simulation
from brazo.simulation.given_cell import (
    CELL,
    ROBOT,
    as_cell,
    choices,
    floor_under,
    is_cell_file,
    lone_robot,
)
from brazo.simulation.robot_control import IDEAL
from brazo.world import Cell
from brazo.world.cell_file import read_cell

__all__ = [
    "CELL",
    "ROBOT",
    "all_mistakes",
    "as_cell",
    "choices",
    "floor_under",
    "gains_of",
    "is_cell_file",
    "is_recording",
    "keep_faults",
    "lone_robot",
    "rebuilt",
    "require_idle",
    "set_gains",
]


def is_recording(source: Any) -> bool:
    """Whether `source` is a path with the suffix of a recording; the file need not exist."""
    return isinstance(source, str | Path) and str(source).lower().endswith(READABLE)


def all_mistakes(path: Path, first: BrazoError) -> list[str]:
    """Messages of all errors in a robot or cell file that could not be opened.

    `first` is the error that was raised.  Only its message is returned if the other errors cannot
    be listed.
    """
    try:
        if path.suffix.lower() not in (".yaml", ".yml"):
            return [str(first)]
        read = read_cell if is_cell_file(path) else lambda root: RobotFile(root).build()
        return mistakes(read_document(path), read) or [str(first)]
    except BrazoError:
        return [str(first)]


def rebuilt(sim: Simulation, cell: Cell, mode: str) -> Simulation:
    """Return a simulation of the edited cell `cell` that continues from the current state of `sim`.

    `cell` must have the same robots and bodies as the cell of `sim`; its time step and gravity may
    differ.  `mode` is the mode of the new simulation, "contact" or "exact" (see `Simulation`).
    Controllers, gains, payloads, faults and playback speed are kept.  Motions, tasks and recordings
    are lost, so call `require_idle` first.
    """
    with sim.lock:
        controllers = {
            n: IDEAL if r.controller_name == IDEAL else r.controller for n, r in sim.robots.items()
        }
        gains = gains_of(sim)
        new = Simulation(cell, controllers, mode=mode, seed=sim.seed)  # type: ignore[arg-type]
        set_gains(new, gains)
        new.world.restore(sim.world.save())
        for name, robot in new.robots.items():
            robot.control.restart()
            load = sim.robots[name].control.load
            if load is not None:
                robot.carry(load[0], load[1])
        new.player.speed = sim.player.speed
        keep_faults(sim, new)
    return new


def gains_of(sim: Simulation) -> dict[str, dict[str, np.ndarray]]:
    """Copy the controller gains of all robots: robot -> gain name -> values.

    Binding a controller to a new robot resets the gains; `set_gains` restores these copies.
    """
    return {
        name: {gain: controller.gains[gain].copy() for gain in controller.gains}
        for name, robot in sim.robots.items()
        if (controller := robot.controller) is not None
    }


def set_gains(sim: Simulation, gains: dict[str, dict[str, np.ndarray]]) -> None:
    """Set the controller gains that `gains_of` returned.

    Robots that `sim` does not contain are ignored.
    """
    for name, values in gains.items():
        controller = sim.robots[name].controller if name in sim.robots else None
        if controller is not None:
            for gain, value in values.items():
                controller.gains[gain] = value


def require_idle(sim: Simulation) -> None:
    """Raise `BrazoError` if a recording, program, motion or task is active.

    Call this before rebuilding the simulation, which would end the activity.  The message states
    what to stop first.
    """
    if sim.recording:
        raise BrazoError("a recording is running: stop it first")
    program = program_in(sim)
    if program is not None and not program.done:
        raise BrazoError("a program is running: stop it first")
    for name, robot in sim.robots.items():
        if robot.moving:
            raise BrazoError(f"{name} is moving: wait until it stops, or stop it first")
    for task in sim.tasks:
        # Finished tasks are removed in the next step, so a paused simulation may still list them.
        over = getattr(task, "done", False) or getattr(task, "over", False)
        if not (over or getattr(task, "background", False)):
            what = getattr(task, "what", type(task).__name__)
            raise BrazoError(
                f"a task is running ({what}): wait until it is done, or press STOP first"
            )


def keep_faults(sim: Simulation, new: Simulation) -> None:
    """Copy the active and scheduled faults of `sim` to the robots of the same names in `new`."""
    try:
        for robot in sim.robots.values():
            for fault in robot.faults if robot.name in new.robots else ():
                new.inject(fault)
        for at, fault in sim.faults.scheduled:
            if fault.robot in new.robots:
                new.inject(fault, at)
    except BrazoError:
        new.player.close()
        raise
