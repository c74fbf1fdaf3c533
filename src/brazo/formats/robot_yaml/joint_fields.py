"""Fields of one joint in a robot file: D-H row, limits, friction, drive, inertia."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field

import numpy as np

from brazo import units
from brazo.formats.document import Field
from brazo.formats.robot_yaml.composed_joints import COMPOSED
from brazo.model.description import Drive, Finding, Friction, Inertia, JointKind, frozen
from brazo.model.dh import DHRow, row_transform
from brazo.model.inertia import broken_rules, rotated, shape_tensor
from brazo.model.plausible import MAX_PLAIN

Names = Mapping[str, units.Quantity]
_DEGREES = math.degrees(1.0)


@dataclass
class ReadingContext:
    """Context for reading fields: the parameter values, and the list of warnings."""

    names: Names
    findings: list[Finding] = dataclass_field(default_factory=list)

    def note(self, field: Field, message: str, slip: bool = False) -> None:
        self.findings.append(Finding(message, field.path, field.line, field.name, slip))

    def note_turns(self, field: Field, what: str, example: int, limit: float) -> None:
        """Add a warning about an angle, or a list of angles, that exceeds `limit` (rad).

        The message describes the angle by `what`, and shows how to write `example` degrees.  If an
        angle above the limit has no unit, the warning is marked as a probable unit mistake.
        """
        items = field.items() if field.is_list else (field,)
        read = [item.quantity(self.names) for item in items]
        slip = any(x.dimension is None and abs(x.value) > limit for x in read)
        self.note(
            field, f"the angle is {what}; for degrees write the unit, e.g. {example}deg", slip
        )


def position_of(kind: JointKind) -> units.Dimension:
    """Return the dimension of the joint variable: angle (revolute) or length (prismatic)."""
    return units.ANGLE if kind == "revolute" else units.LENGTH


def outside(value: float, low: float, high: float, joint: str, kind: str, plain: bool) -> str:
    """Return the text of the warning that a joint value (rad or m) is outside its limits.

    `joint` and `kind` are the name and the kind of the joint.  `plain` is True if the value was
    written without a unit.
    """
    turns = kind == "revolute"
    scale, unit, bare = (_DEGREES, "deg", "rad") if turns else (1e3, "mm", "m")
    text = f"{value:g} {bare} ({scale * value:g} {unit})" if plain else f"{scale * value:g} {unit}"
    text += f" is outside the limits {scale * low:g} .. {scale * high:g} {unit} of joint '{joint}'"
    if plain and low <= value / scale <= high:
        text += f"; did you mean {value:g}{unit}?"
    return text


def slipped(value: float, low: float, high: float, kind: str) -> bool:
    """Return whether a joint value outside its limits was probably meant in degrees or mm.

    The value was written without a unit and read in rad or m.  The result is True if it exceeds a
    limit by more than the width of the range, and either is within the limits when read in degrees
    or mm, or is larger than `MAX_PLAIN`.
    """
    scale = _DEGREES if kind == "revolute" else 1e3
    far = max(low - value, value - high) > high - low
    return far and (low <= value / scale <= high or abs(value) > MAX_PLAIN)


def read_row(fields: dict[str, Field], context: ReadingContext) -> DHRow:
    names = context.names
    kind: JointKind = "revolute"
    if "type" in fields:
        # Composed joints are rows already (`composed_joints`); they are named for the message.
        kind = fields["type"].choice("revolute", "prismatic", *COMPOSED)  # type: ignore[assignment]
    variable = "theta" if kind == "revolute" else "d"
    if variable in fields:
        fields[variable].fail(
            f"{variable} is the variable of a {kind} joint; "
            "write 'offset' for a constant added to it"
        )

    def value(key: str, dimension: units.Dimension) -> float:
        return fields[key].number(dimension, names=names) if key in fields else 0.0

    for key in ("alpha", "theta", "offset"):
        angle = key != "offset" or kind == "revolute"
        if key in fields and angle and abs(value(key, units.ANGLE)) > 2.1 * math.pi:
            context.note_turns(fields[key], "more than a turn", 90, 2.1 * math.pi)
    return DHRow(
        kind=kind,
        theta=value("theta", units.ANGLE),
        d=value("d", units.LENGTH),
        a=value("a", units.LENGTH),
        alpha=value("alpha", units.ANGLE),
        offset=value("offset", position_of(kind)),
    )


def read_limits(field: Field, kind: JointKind, context: ReadingContext) -> tuple[float, float]:
    if field.is_null:
        return -math.inf, math.inf
    low, high = field.numbers(2, position_of(kind), names=context.names)
    if not low < high:
        field.fail(f"[{low:g}, {high:g}]: the lower limit must be below the upper limit")
    if kind == "revolute" and max(abs(low), abs(high)) > 8.0 * math.pi:
        context.note_turns(field, "more than four turns", 150, 8.0 * math.pi)
    return low, high


def read_friction(field: Field | None, context: ReadingContext) -> Friction:
    if field is None or field.is_null:
        return Friction()
    fields = field.mapping(("viscous", "coulomb", "smooth"))
    viscous = 0.0
    if "viscous" in fields:
        viscous = fields["viscous"].number(names=context.names, at_least=0.0)
    coulomb = (0.0, 0.0)
    if "coulomb" in fields:
        entry = fields["coulomb"]
        if entry.is_list:
            plus, minus = entry.numbers(2, units.TORQUE, units.FORCE, names=context.names)
            if min(plus, minus) < 0.0:
                entry.fail("both Coulomb values are magnitudes and must be at least 0")
            coulomb = (plus, minus)
        else:
            both = entry.number(units.TORQUE, units.FORCE, names=context.names, at_least=0.0)
            coulomb = (both, both)
    smooth = 0.0
    if "smooth" in fields:
        smooth = fields["smooth"].number(
            units.ANGULAR_SPEED, units.SPEED, names=context.names, at_least=0.0
        )
    return Friction(viscous, coulomb, smooth)


def read_drive(field: Field | None, kind: JointKind, context: ReadingContext) -> Drive:
    if field is None or field.is_null:
        return Drive()
    fields = field.mapping(("max_torque", "max_speed", "gear", "motor_inertia"))
    revolute = kind == "revolute"
    effort = units.TORQUE if revolute else units.FORCE
    # '180deg' is read as 180deg/s, because a drive's speed has no other meaning.
    speeds = (units.ANGULAR_SPEED, units.ANGLE) if revolute else (units.SPEED, units.LENGTH)
    given = {}
    if "max_torque" in fields:
        given["max_torque"] = fields["max_torque"].number(effort, names=context.names, above=0.0)
    if "max_speed" in fields:
        given["max_speed"] = fields["max_speed"].number(*speeds, names=context.names, above=0.0)
    if "gear" in fields:
        given["gear"] = fields["gear"].number(names=context.names)
        if given["gear"] == 0.0:
            fields["gear"].fail("the gear ratio must not be 0")
    if "motor_inertia" in fields:
        given["motor_inertia"] = fields["motor_inertia"].number(
            units.INERTIA, names=context.names, at_least=0.0
        )
    return Drive(**given)


def read_inertia(fields: dict[str, Field], block: Field, context: ReadingContext) -> Inertia | None:
    names = context.names
    if "mass" not in fields:
        for key in ("com", "inertia"):
            if key in fields:
                fields[key].fail("is given without a mass; add 'mass', or remove this field")
        return None
    mass = fields["mass"].number(units.MASS, names=names, at_least=0.0)
    com, rotation = np.zeros(3), np.eye(3)
    if "com" in fields:
        entry = fields["com"]
        if entry.is_mapping:
            row = entry.mapping(("theta", "d", "a", "alpha"))
            values = {
                key: child.number(
                    units.ANGLE if key in ("theta", "alpha") else units.LENGTH, names=names
                )
                for key, child in row.items()
            }
            T = row_transform(**values)
            com, rotation = T[:3, 3], T[:3, :3]
        else:
            com = np.array(entry.numbers(3, units.LENGTH, names=names))
    if "inertia" in fields:
        tensor = _tensor(fields["inertia"], mass, names)
    else:
        tensor = np.zeros((3, 3))
        context.note(
            block,
            "has mass but no inertia: read as a point mass; the mass matrix may be singular",
        )
    tensor = rotated(tensor, rotation)
    inertia = Inertia(mass, frozen(com), frozen(tensor))
    for rule in broken_rules(inertia) if "inertia" in fields else ():
        context.note(fields["inertia"], rule)
    return inertia


def _tensor(field: Field, mass: float, names: Names) -> np.ndarray:
    if field.is_mapping:
        fields = field.mapping(("box", "cylinder", "sphere", "axis"))
        shapes = [key for key in fields if key != "axis"]
        if len(shapes) != 1:
            field.fail("give exactly one of 'box', 'cylinder', 'sphere'")
        shape = shapes[0]
        if shape == "sphere":
            sizes = [fields[shape].number(units.LENGTH, names=names)]
        else:
            count = 3 if shape == "box" else 2
            sizes = fields[shape].numbers(count, units.LENGTH, names=names)
        if min(sizes) < 0.0:
            fields[shape].fail("sizes cannot be negative")
        axis = "z"
        if "axis" in fields:
            axis = fields["axis"].choice("x", "y", "z")
        return shape_tensor(shape, mass, sizes, axis)
    items = list(field.items(3))
    if len(items) != 3:
        field.fail("expected [Ixx, Iyy, Izz], a 3x3 matrix, or box/cylinder/sphere sizes")
    if not items[0].is_list:
        return np.diag(field.numbers(3, units.INERTIA, names=names))
    tensor = np.array([item.numbers(3, units.INERTIA, names=names) for item in items])
    if not np.allclose(tensor, tensor.T, rtol=1e-6, atol=1e-12):
        field.fail("the inertia matrix is not symmetric; element [i, j] must equal element [j, i]")
    return 0.5 * (tensor + tensor.T)
