"""Add, move and remove robots in a running cell; everything else keeps its state."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.orientation import matrix_from_rpy, rpy_from_matrix
from brazo.lab.app.opening import floor_under, keep_faults, robot_name
from brazo.model.description import Array, frozen
from brazo.robot import Robot
from brazo.simulation import Simulation
from brazo.simulation.cell_arm import arm_of
from brazo.simulation.robot import IDEAL
from brazo.world import Cell
from brazo.world import state as states
from brazo.world.cell import CellRobot, default_start
from brazo.world.cell_file import MAX_ROBOTS
from brazo.world.robot_source import RobotSource, limits_of

GAP = 0.3  # m, clearance between a new robot and the others
FAR = 100.0  # m, max coordinate of a robot base


def with_robot(cell: Cell, source: RobotSource, base: Array, name: str = "") -> tuple[Cell, str]:
    """Add a robot with base pose `base` (4, 4) in the world.

    Returns the new cell and the name of the robot in it.
    """
    if len(cell.robots) >= MAX_ROBOTS:
        raise BrazoError(f"the cell has {MAX_ROBOTS} robots already, the maximum")
    if not np.isfinite(base).all() or np.abs(base[:3, 3]).max() > FAR:
        raise BrazoError(f"the base of a robot must be within {FAR:g} m of the origin of the cell")
    name = free_name(cell, name or source.model.name)
    start = default_start(source.model, limits_of(source.model))
    robot = CellRobot(name, source, base=frozen(base), start=start)
    return replace(cell, robots=(*cell.robots, robot)), name


def without_robot(cell: Cell, name: str) -> Cell:
    """Return the cell without one of its robots."""
    if name not in (robot.name for robot in cell.robots):
        raise BrazoError(f"no robot named '{name}' in this cell")
    if len(cell.robots) == 1:
        raise BrazoError(f"{name} is the only robot: a cell needs at least one")
    return replace(cell, robots=tuple(one for one in cell.robots if one.name != name))


def free_name(cell: Cell, wanted: str) -> str:
    """Return the name, with a number appended if it is already used in the cell."""
    groups = (cell.robots, cell.bodies, cell.fixtures, cell.chutes)
    return robot_name(wanted, [one.name for group in groups for one in group])


def free_place(cell: Cell, source: RobotSource) -> Array:
    """Return a free base pose (4, 4) beside the other robots (+y), at the mounting height."""
    start = default_start(source.model, limits_of(source.model))
    robot = arm_of(CellRobot("", source, start=start), cell.gravity)
    base = np.eye(4)
    if cell.floor is not None:
        base[2, 3] = cell.floor.height - floor_under(robot, start)
    if cell.robots:
        ends = [one.base[1, 3] + _reach(one.source, one.start, cell) for one in cell.robots]
        base[1, 3] = round(max(ends) + GAP + _reach(source, start, cell), 1)
    return base


def carried_over(sim: Simulation, cell: Cell) -> Simulation:
    """Build the simulation of an edited cell; robots and bodies in both cells keep their state.

    Controllers, gripper commands, loads, faults and the speed of the simulation are kept, too.
    """
    with sim.lock:
        laws = {
            name: IDEAL if robot.controller_name == IDEAL else robot.controller
            for name, robot in sim.robots.items()
            if name in cell.models
        }
        new = Simulation(cell, laws, mode=sim.world.mode, seed=sim.seed)
        old = sim.world
        states.carry_over(old.mj_model, old.mj_data, new.world.mj_model, new.world.mj_data)
        new.world.forward()
        for name in laws:
            before, now = sim.robots[name], new.robots[name]
            now.world.force_feedback = before.world.force_feedback
            if before.world.clamp is not None and now.world.clamp is not None:
                what, value = before.world.clamp.command
                (now.world.clamp.grip if what == "force" else now.world.clamp.open)(value)
        for robot in new.robots.values():
            robot.restart()
        for name in laws:
            load = sim.robots[name].load
            if load is not None:
                new.robots[name].carry(*load)
        new.player.speed = sim.player.speed
        keep_faults(sim, new)
    return new


def present_cell(sim: Simulation, standing: bool = False) -> Cell:
    """Return the current cell for saving.

    With `standing`, the current joint positions and body poses become its initial state.
    """
    with sim.lock:
        robots, bodies = [], list(sim.cell.bodies)
        for given in sim.cell.robots:
            robot = replace(given, force_feedback=sim.world.robots[given.name].force_feedback)
            if standing:
                q = np.clip(sim.robots[given.name].q, *limits_of(given.model).T)
                robot = replace(robot, start=frozen(q))
            robots.append(robot)
        if standing:
            bodies = [replace(one, pose=frozen(sim.world.pose(one.name))) for one in bodies]
        return replace(sim.cell, robots=tuple(robots), bodies=tuple(bodies))


def changes(first: Cell, now: Cell) -> list[str]:
    """List the edits of a cell since `first`, without edits of the robots' dimensions."""
    old = {one.name: one for one in first.robots}
    new = {one.name: one for one in now.robots}
    found = [f"{name} placed" for name in new if name not in old]
    found += [f"{name} removed" for name in old if name not in new]
    found += [
        f"{name} moved"
        for name in new
        if name in old and not np.array_equal(new[name].base, old[name].base)
    ]
    if not np.array_equal(first.gravity, now.gravity):
        found.append("gravity")
    return found + ["step"] * (first.step != now.step)


def in_the_way(sim: Simulation, name: str) -> str:
    """Return what a robot overlaps by more than 1 mm, and by how much; empty if nothing."""
    cell = sim.cell
    others = [*cell.robots, *cell.bodies, *cell.static]
    for other in others:
        if other.name != name:
            with sim.lock:
                found = sim.world.distance(name, other.name, limit=0.05)
            if found is not None and found.value < -1e-3:
                return f"{other.name} (by {-1000.0 * found.value:.0f} mm)"
    return ""


def moved(base: Array, part: int, value: float) -> Array:
    """Return a base pose with one of x, y, z (`part` 0–2, m) or roll, pitch, yaw (3–5, rad) set."""
    T = np.array(base)
    if part < 3:
        T[part, 3] = value
    else:
        rpy = np.array(rpy_from_matrix(T[:3, :3]))
        rpy[part - 3] = value
        T[:3, :3] = matrix_from_rpy(rpy)
    return T


def _reach(source: RobotSource, start: Array, cell: Cell) -> float:
    """Approximate horizontal extent of a robot from its base axis in its start pose (m)."""
    robot: Robot = arm_of(CellRobot("", source, start=start), cell.gravity)
    points = np.vstack([robot.frames(start)[:, :2, 3], robot.fk(start)[:2, 3]])
    return float(np.linalg.norm(points, axis=1).max())
