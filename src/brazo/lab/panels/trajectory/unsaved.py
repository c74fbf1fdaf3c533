"""Lists unsaved waypoints and curves of the trajectory panel, for the save dialog."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from brazo.lab.app.unsaved import Files, Work

if TYPE_CHECKING:
    from brazo.lab.app.jobs import Job
    from brazo.lab.panels.trajectory.draft import Draft
    from brazo.simulation import Simulation
    from brazo.simulation.robot import SimRobot


def unsaved_drafts(drafts: Mapping[str, Draft], sim: Simulation) -> list[Work]:
    """Return the unsaved waypoints and curves of `drafts` (robot name -> trajectory draft)."""
    found = []
    for name, draft in drafts.items():
        found += unsaved_points(name, draft)
        if name in sim.robots and draft.unsaved()[1]:
            found.append(_curve(sim.robots[name], draft))
    return found


def unsaved_points(robot: str, draft: Draft) -> list[Work]:
    """Return the waypoints of a draft as unsaved work; empty if they have no unsaved edits."""
    if not draft.unsaved()[0]:
        return []
    count = len(draft.rows)
    title = f"{robot}: trajectory of {count} {'point' if count == 1 else 'points'}"
    return [Work(title, {f"{robot}-trajectory.yaml": draft.points_file()}, robot)]


def _curve(robot: SimRobot, draft: Draft) -> Work:
    arm, q0 = robot.arm, robot.reference.q.copy()

    def files(job: Job) -> Files:
        job.tell(None, "planning the curve")
        return {f"{robot.name}-curve.yaml": draft.curve_file(arm, q0)}

    return Work(f"{robot.name}: trajectory ({draft.curve.kind})", files, robot.name)
