"""Completion words of the program editor: verbs, fields, values and names in the cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brazo.control import controllers
from brazo.operate import Point
from brazo.program.frames import frame_names
from brazo.program.program import PLANNERS, WATCHES
from brazo.program.steps import ORIENTATIONS, PLANS
from brazo.program.validate import IDEAL
from brazo.simulation import Simulation
from brazo.trajectory.curve_fields import CURVES

_MOTION = ("speed", "time", "within", "timeout", "plan")
_TARGET = ("xyz", "rpy", "in", "by", "of", "to", "orientation")
FIELDS: dict[str, Sequence[str]] = {
    "move_joints": ("to", *_MOTION),
    "move_to": (*_TARGET, *_MOTION, "branch", "gripper_symmetric"),
    "line": (*_TARGET, *_MOTION, "tool_speed"),
    "path": (*CURVES, "rpy", "in", *_MOTION, "tool_speed", "orientation"),
    "grip": ("body", "force", "settle", "timeout"),
    "release": ("opening", "timeout"),
    "wait": ("time",),
    "wait_until": (
        "held", "free", "by", "touching", "signal", "at", "through", "body", "timeout",
    ),
    "set_signal": ("name", "on"),
    "sync": ("name", "timeout"),
    "set_controller": ("controller", "gains"),
    "note": (),
    "repeat": ("times", "do"),
    "for_each": ("as", "of", "do"),
}  # fmt: skip
TOP = (
    "name", "about", "cell", "speed", "clearance", "watch", "planner", "goals", "points", "robots",
)  # fmt: skip


def completion(sim: Simulation, points: Mapping[str, Sequence[Point]]) -> dict[str, Any]:
    """Completion words for the program text, as a dict with these keys:

    `top` lists the top-level fields.  `verbs` maps each step verb to its fields.  `values` maps
    fields and verbs to their possible values, as far as these are known.  `robots` lists the robot
    names.
    """
    bodies = [body.name for body in sim.cell.bodies]
    names = [point.name for some in points.values() for point in some]
    poses = [name for robot in sim.robots.values() for name in robot.arm.poses]
    targets = list(dict.fromkeys([*names, "start", *poses]))
    controller_names = [*controllers(), IDEAL]
    values = {
        "to": targets,
        "move_joints": targets,
        "move_to": names,
        "line": names,
        "in": frame_names(sim),
        "of": bodies,
        "body": bodies,
        "held": bodies,
        "free": bodies,
        "by": list(sim.robots),
        "on": [*bodies, *(one.name for one in sim.cell.fixtures), "off"],
        "through": [one.name for one in sim.cell.chutes],
        "plan": list(PLANS),
        "orientation": list(ORIENTATIONS),
        "gripper_symmetric": ["on", "off"],
        "controller": controller_names,
        "set_controller": controller_names,
        "watch": list(WATCHES),
        "planner": list(PLANNERS),
    }
    return {
        "top": list(TOP),
        "verbs": {verb: list(fields) for verb, fields in FIELDS.items()},
        "values": values,
        "robots": list(sim.robots),
    }
