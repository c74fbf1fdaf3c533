"""Factors of a cell study: how one run differs from the given cell and program.

A body is a movable object of the cell.  Some factors are the standard deviations of normal
distributions, from which the errors of each run are drawn:

    position_error, angle_error            pose of each body: x and y (m), rotation about z (rad);
                                           the robots measure this pose exactly
    measured_position_error,               measured pose of each body: x and y, rotation about z
    measured_angle_error
    base_position_error, base_angle_error  calibration of each robot's base: x, y and z, rotation
                                           about z

The values of the other factors are used directly:

    mass_error      fraction by which the masses of the bodies differ from those that controllers
                    assume
    pad_friction, body_friction            sliding coefficients
    grip_force      force of every grip (N)
    BODY.x .y .z .yaw                      offset of the pose of one body (m, rad)
    BODY.mass, BODY.friction               mass (kg) and sliding coefficient of one body
    ROBOT.x .y .z .yaw                     error of the calibration of one robot's base (m, rad)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from brazo import units
from brazo.errors import BrazoError
from brazo.model.description import frozen
from brazo.model.transforms import rot_z, translate
from brazo.program.frames import FrameErrors
from brazo.world import Cell
from brazo.world.cell import FreeBody, Friction

#: Factors of the whole cell: dimension, and the limit that values must exceed or reach.
CELL_FACTORS: dict[str, tuple[units.Dimension, float]] = {
    "position_error": (units.LENGTH, 0.0),
    "angle_error": (units.ANGLE, 0.0),
    "measured_position_error": (units.LENGTH, 0.0),
    "measured_angle_error": (units.ANGLE, 0.0),
    "base_position_error": (units.LENGTH, 0.0),
    "base_angle_error": (units.ANGLE, 0.0),
    "mass_error": (units.NUMBER, -1.0),
    "pad_friction": (units.NUMBER, 0.0),
    "body_friction": (units.NUMBER, 0.0),
    "grip_force": (units.FORCE, 0.0),
}
_STRICT = ("mass_error", "pad_friction", "body_friction", "grip_force")  # must exceed the limit
_BASE = {"x": units.LENGTH, "y": units.LENGTH, "z": units.LENGTH, "yaw": units.ANGLE}
_BODY = {**_BASE, "mass": units.MASS, "friction": units.NUMBER}


def factor_dimension(cell: Cell, name: str) -> units.Dimension:
    """Return the physical dimension of a factor; raise BrazoError if the factor is unknown."""
    if name in CELL_FACTORS:
        return CELL_FACTORS[name][0]
    owner, _, quantity = name.rpartition(".")
    bodies = [body.name for body in cell.bodies]
    robots = [robot.name for robot in cell.robots]
    for names, known in ((bodies, _BODY), (robots, _BASE)):
        if owner in names:
            if quantity in known:
                return known[quantity]
            raise BrazoError(
                f"factor '{name}': '{owner}' has no quantity '{quantity}'; quantities: "
                f"{', '.join(known)}"
            )
    raise BrazoError(
        f"unknown factor '{name}'; factors: {', '.join(CELL_FACTORS)}, or NAME.QUANTITY, where "
        f"NAME is one of {', '.join([*bodies, *robots])}"
    )


def factor_unit(cell: Cell, name: str) -> str:
    """Return the SI unit of a factor."""
    return _UNITS[factor_dimension(cell, name)]


_UNITS = {units.LENGTH: "m", units.ANGLE: "rad", units.MASS: "kg", units.FORCE: "N"}
_UNITS[units.NUMBER] = ""


def check_values(name: str, values: np.ndarray) -> None:
    """Raise BrazoError if a value of a factor is out of range."""
    least, strict = -math.inf, False
    if name in CELL_FACTORS:
        least, strict = CELL_FACTORS[name][1], name in _STRICT
    elif name.endswith((".mass", ".friction")):
        least, strict = 0.0, True
    low = float(np.min(values))
    if low < least or (strict and low == least):
        rule = "greater than" if strict else "at least"
        raise BrazoError(f"factor '{name}' has the value {low:g}; it must be {rule} {least:g}")


@dataclass(frozen=True, slots=True, eq=False)
class CellRun:
    """Cell of one run, and the options with which its program is started."""

    cell: Cell
    frame_errors: FrameErrors
    grip_force: float | None


def vary_cell(cell: Cell, values: Mapping[str, float], seed: int) -> CellRun:
    """Return the cell and the program options of the run with the given factor values and seed."""

    def of(name: str) -> float:
        return values.get(name, 0.0)

    placed, measured, bases = (np.random.default_rng([seed, k]) for k in range(3))
    bodies: list[FreeBody] = []
    seen = {}
    for body in cell.bodies:
        x, y, turn = placed.standard_normal(3).tolist()
        offset = _pose(
            of("position_error") * x + of(f"{body.name}.x"),
            of("position_error") * y + of(f"{body.name}.y"),
            of(f"{body.name}.z"),
            of("angle_error") * turn + of(f"{body.name}.yaw"),
        )
        T = body.pose.copy()
        T[:3, :3] = offset[:3, :3] @ T[:3, :3]
        T[:3, 3] += offset[:3, 3]
        mass = values.get(f"{body.name}.mass", body.mass * (1.0 + of("mass_error")))
        mu = values.get("body_friction", body.friction[0])
        friction = _slide(body.friction, values.get(f"{body.name}.friction", mu))
        bodies.append(replace(body, pose=frozen(T), mass=mass, friction=friction))
        x, y, turn = measured.standard_normal(3).tolist()
        far, angle = of("measured_position_error"), of("measured_angle_error")
        if far or angle:
            seen[body.name] = _pose(far * x, far * y, 0.0, angle * turn)
    shifted = {}
    for robot in cell.robots:
        x, y, z, turn = bases.standard_normal(4).tolist()
        far, angle = of("base_position_error"), of("base_angle_error")
        error = [far * x, far * y, far * z, angle * turn]
        error = [e + of(f"{robot.name}.{k}") for e, k in zip(error, _BASE, strict=True)]
        if any(error):
            shifted[robot.name] = _pose(*error)
    contact = cell.contact
    if "pad_friction" in values:
        friction = _slide(contact.pad_friction, values["pad_friction"])
        contact = replace(contact, pad_friction=friction)
    return CellRun(
        replace(cell, bodies=tuple(bodies), contact=contact),
        FrameErrors(seen, shifted),
        values.get("grip_force"),
    )


def _pose(x: float, y: float, z: float, turn: float) -> np.ndarray:
    return translate(x, y, z) @ rot_z(turn)


def _slide(friction: Friction, mu: float) -> Friction:
    return (mu, *friction[1:])
