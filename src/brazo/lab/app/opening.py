"""Convert the source given to the lab (cell, robot, name or file) to a cell.

A single robot becomes a cell with a floor at the bottom of its base, or below all of its links if
it hangs from its base.  `rebuilt` makes the simulation of an edited cell.
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.files import existing, is_regular
from brazo.formats.document import read_document
from brazo.formats.library import robot_names
from brazo.formats.mistakes import mistakes
from brazo.formats.robot_yaml.robot_file import RobotFile
from brazo.lab.app.program_run import program_in
from brazo.lab.scene.figure import visible_parts
from brazo.recording.source import READABLE
from brazo.robot import Robot, load
from brazo.simulation import Simulation
from brazo.simulation.lone_robot import floor_height, lone_cell, source_of
from brazo.simulation.robot_control import IDEAL
from brazo.world import Cell, cell_names, load_cell
from brazo.world.cell import default_start
from brazo.world.cell_file import read_cell
from brazo.world.robot_source import RobotSource

CELL_FIELDS = ("robots", "bodies", "fixtures", "chute", "frames")
CELL, ROBOT = "cell:", "robot:"


def choices() -> dict[str, list[str]]:
    """Names of the shipped cells and robots."""
    return {"cells": cell_names(), "robots": robot_names()}


def is_recording(source: Any) -> bool:
    """Whether `source` is a path with the suffix of a recording; it need not exist."""
    return isinstance(source, str | Path) and str(source).lower().endswith(READABLE)


def as_cell(source: Any) -> Cell:
    """Cell given by a `Cell`, a `Robot`, a name or a path.

    A name that is both a cell's and a robot's refers to the cell; the prefixes in `robot:delta`
    and `cell:delta` select one.
    """
    if isinstance(source, Cell):
        return source
    if isinstance(source, Robot):
        return alone(source_of(source), source)
    if not isinstance(source, str | Path):
        raise BrazoError(
            f"the lab cannot show a {type(source).__name__}: give a cell ({', '.join(cell_names())}"
            f"), a robot (of brazo.load, or a name: {', '.join(robot_names())}), or the path of a "
            "cell or robot file"
        )
    name = str(source)
    if name.startswith(CELL):
        return load_cell(name.removeprefix(CELL))
    if name.startswith(ROBOT) or not (name in cell_names() or is_cell_file(Path(name))):
        if not (name.startswith(ROBOT) or Path(name).suffix or name in robot_names()):
            close = get_close_matches(name.lower()[:80], [*cell_names(), *robot_names()], n=1)
            hint = f"did you mean '{close[0]}'? " if close else ""
            raise BrazoError(
                f"no cell and no robot named '{name[:80]}'; {hint}cells: "
                f"{', '.join(cell_names())}; robots: {', '.join(robot_names())}; the path of a "
                "cell or robot file is accepted, too"
            )
        return lone_robot(name.removeprefix(ROBOT))
    return load_cell(source)


def is_cell_file(path: Path) -> bool:
    """Whether a path is a cell file rather than a robot file; raise for a program file."""
    found = existing(path)
    if found is None or found.suffix.lower() not in (".yaml", ".yml") or not is_regular(found):
        return False
    root = read_document(found)
    fields = root.mapping() if root.is_mapping else {}
    if "robots" in fields and fields["robots"].is_mapping:
        raise BrazoError(
            f"{path}: a program, not a robot or cell: load it in the Program panel of its cell, or "
            "start it with brazo run"
        )
    return any(key in CELL_FIELDS for key in fields)


def all_mistakes(path: Path, first: BrazoError) -> list[str]:
    """All errors in a robot or cell file that could not be opened.

    Falls back to the message of `first`, the error that was raised, if no others can be found.
    """
    try:
        if path.suffix.lower() not in (".yaml", ".yml"):
            return [str(first)]
        read = read_cell if is_cell_file(path) else lambda root: RobotFile(root).build()
        return mistakes(read_document(path), read) or [str(first)]
    except BrazoError:
        return [str(first)]


def lone_robot(name_or_path: str | Path) -> Cell:
    """Cell with a single robot, given by name or file."""
    return alone(RobotSource.load(name_or_path), load(name_or_path))


def alone(source: RobotSource, robot: Robot) -> Cell:
    """Cell with a single robot and a floor."""
    start = default_start(source.model, source.model.limits)
    return lone_cell(robot, source, floor_under(robot, start))


def floor_under(robot: Robot, q: np.ndarray) -> float:
    """Height (m) of the floor for a robot at `q` (n,), by the parts that the lab draws."""
    return floor_height(robot, q, visible_parts(robot))


def rebuilt(sim: Simulation, cell: Cell, mode: str) -> Simulation:
    """New simulation of an edited cell that continues from the current state of `sim`.

    The cell must have the same robots and bodies; its time step, gravity and integrator may
    differ.  Controllers, payloads, faults and speed are kept.  Motions, tasks and recordings are
    not: call `require_idle` first.
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
    """Gains of the controllers by robot; binding a controller to a new robot resets them."""
    return {
        name: {gain: controller.gains[gain].copy() for gain in controller.gains}
        for name, robot in sim.robots.items()
        if (controller := robot.controller) is not None
    }


def set_gains(sim: Simulation, gains: dict[str, dict[str, np.ndarray]]) -> None:
    """Set gains of the robots that `sim` has."""
    for name, values in gains.items():
        controller = sim.robots[name].controller if name in sim.robots else None
        if controller is not None:
            for gain, value in values.items():
                controller.gains[gain] = value


def require_idle(sim: Simulation) -> None:
    """Raise `BrazoError` if a recording, program, motion or task is active.

    Rebuilding the simulation would end it.  The message states what to stop first.
    """
    if sim.recording:
        raise BrazoError("a recording is running and would end: stop it first")
    program = program_in(sim)
    if program is not None and not program.done:
        raise BrazoError("a program is running and would end: stop it first")
    for name, robot in sim.robots.items():
        if robot.moving:
            raise BrazoError(f"{name} is moving: wait until it stops, or stop it first")
    for task in sim.tasks:
        # Finished tasks are removed in the next step, so a paused simulation may still list them.
        over = getattr(task, "done", False) or getattr(task, "over", False)
        if not (over or getattr(task, "background", False)):
            raise BrazoError(
                f"a task is running ({type(task).__name__}) and would end: "
                "wait until it is done, or stop it first"
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
