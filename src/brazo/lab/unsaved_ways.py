"""The points and curves of the trajectory manager that no file has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from brazo.lab.unsaved import Files, Work

if TYPE_CHECKING:
    from brazo.lab.jobs import Job
    from brazo.lab.ways import Way
    from brazo.simulation import Simulation
    from brazo.simulation.robot import SimRobot


def unsaved_ways(ways: Mapping[str, Way], sim: Simulation) -> list[Work]:
    """What would be lost with these trajectories, by robot."""
    found = []
    for name, way in ways.items():
        found += unsaved_points(name, way)
        if name in sim.robots and way.unsaved()[1]:
            found.append(_curve(sim.robots[name], way))
    return found


def unsaved_points(robot: str, way: Way) -> list[Work]:
    """The points of one trajectory, if they were edited since they were last saved."""
    if not way.unsaved()[0]:
        return []
    count = len(way.rows)
    title = f"{robot}: trajectory of {count} {'point' if count == 1 else 'points'}"
    return [Work(title, {f"{robot}-trajectory.yaml": way.points_file()}, robot)]


def _curve(robot: SimRobot, way: Way) -> Work:
    arm, q0 = robot.arm, robot.reference.q.copy()

    def files(job: Job) -> Files:
        job.tell(None, "planning the curve")
        return {f"{robot.name}-curve.yaml": way.curve_file(arm, q0)}

    return Work(f"{robot.name}: trajectory ({way.curve.kind})", files, robot.name)
