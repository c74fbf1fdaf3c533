"""Bodies that were not at their start pose when a program started, e.g. after an earlier run.

A step that uses such a body often fails with a misleading message: a bar that already went through
the chute is out of reach, and inverse kinematics reports a distance.  The failure message of a step
therefore names the displaced body first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brazo.kinematics.orientation import angle_between
from brazo.program import steps as s
from brazo.program.frames import position_text
from brazo.simulation import Simulation

Array = np.ndarray
DISTANCE, ANGLE = 0.01, np.radians(5.0)  # m, rad: a body settles by less


@dataclass(frozen=True, slots=True, eq=False)
class Displaced:
    """Body that is not at its start pose."""

    body: str
    start: Array  # (4, 4), of the cell
    found: Array  # (4, 4), when the program started

    def __str__(self) -> str:
        turned = float(angle_between(self.start[:3, :3], self.found[:3, :3]))
        places = [position_text(T[:3, 3]) for T in (self.start, self.found)]
        if places[0] == places[1]:
            what = (
                f"{self.body} was rotated by {np.degrees(turned):.1f}° from its start orientation "
                "when the program started"
            )
        else:
            angle = f", rotated by {np.degrees(turned):.1f}°" if turned > ANGLE else ""
            what = (
                f"{self.body} was not at its start position {places[0]} when the program started, "
                f"but at {places[1]}{angle}"
            )
        return f"{what}: reset first (Reset and run in the lab, sim.reset() in Python)"


def displaced_bodies(sim: Simulation) -> dict[str, Displaced]:
    """Return the free bodies of the cell that are not at their start pose, by name.

    A body is included if its pose differs by more than `DISTANCE` (m) or `ANGLE` (rad).
    """
    found = {}
    for body in sim.cell.bodies:
        now = sim.world.pose(body.name)
        if _apart(body.pose, now):
            found[body.name] = Displaced(body.name, np.array(body.pose), np.array(now))
    return found


def cause_of_failure(
    step: s.Step, displaced: dict[str, Displaced], sim: Simulation
) -> Displaced | None:
    """Return the displaced body that probably caused the failure of a step, or None.

    It is the first one that the step uses and that has not moved since the program started.
    """
    for name in bodies_of(step):
        one = displaced.get(name)
        if one is not None and not _apart(one.found, sim.world.pose(name)):
            return one
    return None


def bodies_of(step: s.Step) -> tuple[str, ...]:
    """Return the names in a step that may refer to bodies."""
    match step:
        case s.MoveTo() | s.Line():
            names = (step.target.frame, step.target.of)
        case s.FollowPath():
            names = (step.frame,)
        case s.Grip():
            names = (step.body,)
        case s.WaitUntil(condition=s.Held(body) | s.Through(body)):
            names = (body,)
        case s.WaitUntil(condition=s.Touching(first, second)):
            names = (first, second)
        case _:
            names = ()
    return tuple(name for name in names if name is not None)


def _apart(T0: Array, T1: Array) -> bool:
    far = float(np.linalg.norm(T0[:3, 3] - T1[:3, 3])) > DISTANCE
    return far or float(angle_between(T0[:3, :3], T1[:3, :3])) > ANGLE
