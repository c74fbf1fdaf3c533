"""Readers for the fields of a cell file: bodies, fixtures, chutes, contact settings, etc."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from brazo import units
from brazo.formats.document import Field
from brazo.formats.robot_yaml.part_fields import read_color, read_mesh
from brazo.model.description import Array, Finding, Gripper, frozen
from brazo.model.shapes import Box, Capsule, Cylinder, Sphere
from brazo.model.transforms import pose
from brazo.world.attachment import AttachedGripper, AttachedTool
from brazo.world.cell import (
    RED,
    STEEL,
    BinShape,
    Chute,
    ContactSettings,
    Fixture,
    FixtureShape,
    Floor,
    Frame,
    FreeBody,
    Friction,
    GripperSettings,
    TableShape,
    sliding,
)

LEAST_SIZE, GREATEST_SIZE = 1e-4, 100.0  # m
LEAST_MASS, GREATEST_MASS = 1e-6, 1e6  # kg
FLOOR, WORLD = "floor", "world"  # names reserved for the engine and for reports
ROBOT_FRAMES = ("base", "tool")  # frames of every robot, which hide elements of the cell

_BODY_SHAPES = ("box", "cylinder", "capsule", "sphere", "bin", "mesh")
_FIXTURE_SHAPES = (*_BODY_SHAPES, "table")
_SOLID = ("name", "xyz", "rpy", "friction", "color", "scale", "wall")
_GRIPPERS = ("two-finger",)  # grippers that a cell file can name instead of giving their fields
_CONTACT = (
    "solref", "surface_solref", "solimp", "impratio", "noslip", "pad_friction", "pad_dimension",
    "link_friction", "warning",
)  # fmt: skip
_CHUTE = ("name", "inner", "length", "angle", "xyz", "yaw", "wall", "friction", "color")


class Names:
    """Names of all robots, bodies, fixtures, chutes and frames read so far, with their lines.

    It is used to reject a name that occurs twice in a cell file.
    """

    def __init__(self) -> None:
        self.lines: dict[str, int] = {FLOOR: 0, WORLD: 0}

    def take(self, block: Field, fields: dict[str, Field]) -> str:
        if "name" not in fields:
            block.missing("name")
        name = fields["name"].identifier()
        if "/" in name:
            fields["name"].fail(
                f"'{name}': a name must not contain '/', which separates a robot and its parts"
            )
        if name in self.lines:
            line = self.lines[name]
            fields["name"].fail(
                f"'{name}' is used twice (first on line {line})"
                if line
                else f"'{name}' is a reserved name; choose another"
            )
        self.lines[name] = fields["name"].line
        if name in ROBOT_FRAMES:
            _warn_of_robot_frame(fields["name"], name)
        return name


def _warn_of_robot_frame(field: Field, name: str) -> None:
    """Add a warning that each robot has a frame `name`, which hides the element of this name.

    This is not an error, because such names occur in older files and recordings.
    """
    message = f"as a frame, '{name}' is hidden by the {name} frame of each robot; rename it"
    field.doubts[field.name, name] = Finding(message, field.path, field.line, field.name)


# ---- solids --------------------------------------------------------------------------------


def read_body(block: Field, names: Names) -> FreeBody:
    fields = block.mapping((*_SOLID, "mass", *_BODY_SHAPES))
    name = names.take(block, fields)
    if "mass" not in fields:
        block.missing("mass", "a free body needs a mass, such as 0.4kg")
    shape = _shape(block, fields, _BODY_SHAPES)
    assert not isinstance(shape, TableShape)
    return FreeBody(
        name,
        shape,
        _between(fields["mass"], units.MASS, LEAST_MASS, GREATEST_MASS),
        read_pose(fields),
        _friction(fields.get("friction"), 0.5),
        read_color(fields["color"]) if "color" in fields else RED,
        block.line,
    )


def read_fixture(block: Field, names: Names) -> Fixture:
    fields = block.mapping((*_SOLID, "top", "leg", *_FIXTURE_SHAPES))
    name = names.take(block, fields)
    return Fixture.of(
        name,
        _shape(block, fields, _FIXTURE_SHAPES),
        read_pose(fields),
        _friction(fields.get("friction"), 0.5),
        read_color(fields["color"]) if "color" in fields else STEEL,
        block.line,
    )


def read_frame(block: Field, names: Names) -> Frame:
    fields = block.mapping(("name", "xyz", "rpy"))
    name = names.take(block, fields)
    return Frame(name, read_pose(fields), block.line)


def read_chute(block: Field, names: Names) -> Chute:
    fields = block.mapping(_CHUTE)
    given: dict[str, Any] = {"name": names.take(block, fields)}
    for key in ("inner", "length", "angle", "xyz"):
        if key not in fields:
            block.missing(key)
    inner = fields["inner"]
    if inner.is_list:
        width, height = inner.numbers(2, units.LENGTH)
    else:
        width = height = inner.number(units.LENGTH)
    if not LEAST_SIZE <= min(width, height) <= max(width, height) <= GREATEST_SIZE:
        inner.fail(f"sizes must be between {LEAST_SIZE:g} and {GREATEST_SIZE:g} m{_meant(inner)}")
    angle = fields["angle"].number(units.ANGLE)
    if not 0.0 <= angle <= math.pi / 2:
        fields["angle"].fail(
            f"{math.degrees(angle):g} degrees; must be 0 (horizontal) to 90 degrees (straight down)"
        )
    given |= {
        "inner": (width, height),
        "length": _between(fields["length"], units.LENGTH, LEAST_SIZE, GREATEST_SIZE),
        "angle": angle,
        "xyz": tuple(fields["xyz"].numbers(3, units.LENGTH)),
        "yaw": fields["yaw"].number(units.ANGLE) if "yaw" in fields else 0.0,
        "friction": _friction(fields.get("friction"), 0.2),
    }
    if "wall" in fields:
        given["wall"] = _between(fields["wall"], units.LENGTH, LEAST_SIZE, GREATEST_SIZE)
    if "color" in fields:
        given["color"] = read_color(fields["color"])
    return Chute(**given)


def _shape(block: Field, fields: dict[str, Field], allowed: tuple[str, ...]) -> FixtureShape:
    shapes = [key for key in allowed if key in fields]
    if len(shapes) != 1:
        block.fail(f"give exactly one shape: {', '.join(allowed)}")
    kind = shapes[0]
    field = fields[kind]
    for key, owner in (("scale", "mesh"), ("wall", "bin"), ("top", "table"), ("leg", "table")):
        if key in fields and kind != owner:
            fields[key].fail(f"only a {owner} has a {key}")
    if kind == "mesh":
        return read_mesh(field, fields.get("scale"), what="cell file")
    if kind == "sphere":
        return Sphere(_between(field, units.LENGTH, LEAST_SIZE, GREATEST_SIZE))
    sizes = field.numbers(2 if kind in ("cylinder", "capsule") else 3, units.LENGTH)
    if not LEAST_SIZE <= min(sizes) <= max(sizes) <= GREATEST_SIZE:
        field.fail(f"sizes must be between {LEAST_SIZE:g} and {GREATEST_SIZE:g} m{_meant(field)}")
    given = {
        key: _between(fields[key], units.LENGTH, LEAST_SIZE, min(sizes) / 2)
        for key in ("wall", "top", "leg")
        if key in fields
    }
    match kind:
        case "box":
            return Box((sizes[0], sizes[1], sizes[2]))
        case "bin":
            return BinShape((sizes[0], sizes[1], sizes[2]), **given)
        case "table":
            return TableShape((sizes[0], sizes[1], sizes[2]), **given)
        case "cylinder":
            return Cylinder(*sizes)
        case _:
            return Capsule(*sizes)


# ---- attachments ---------------------------------------------------------------------------


def read_attached_gripper(field: Field) -> AttachedGripper:
    """Read the gripper on a flange: the word `two-finger`, or the fields of the gripper."""
    if not field.is_mapping:
        field.choice(*_GRIPPERS)
        return AttachedGripper()
    fields = field.mapping(("opening", "max_force", "finger", "mass", "xyz", "rpy"))
    given: dict[str, Any] = {}
    if "opening" in fields:
        low, high = fields["opening"].numbers(2, units.LENGTH)
        if not 0.0 <= low < high <= 1.0:
            fields["opening"].fail(
                f"[{low:g}, {high:g}] m: expected [closed, open], 0 <= closed < open <= 1 m"
            )
        given["opening"] = (low, high)
    if "max_force" in fields:
        given["max_force"] = fields["max_force"].number(units.FORCE, above=0.0)
    if "finger" in fields:
        x, y, z = fields["finger"].numbers(3, units.LENGTH)
        if not LEAST_SIZE <= min(x, y, z) <= max(x, y, z) <= 1.0:
            fields["finger"].fail(f"sizes must be between {LEAST_SIZE:g} and 1 m")
        given["finger"] = (x, y, z)
    return AttachedGripper(Gripper(**given), **_mounted(fields))


def read_attached_tool(field: Field) -> AttachedTool:
    """Read the tool on a flange."""
    fields = field.mapping(("length", "radius", "mass", "xyz", "rpy"))
    given = {
        key: _between(fields[key], units.LENGTH, LEAST_SIZE, 10.0)
        for key in ("length", "radius")
        if key in fields
    }
    return AttachedTool(**given, **_mounted(fields))


def _mounted(fields: dict[str, Field]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "xyz" in fields or "rpy" in fields:
        found["mount"] = read_pose(fields)
    if "mass" in fields:
        found["mass"] = fields["mass"].number(units.MASS, at_least=0.0)
    return found


def _between(field: Field, dimension: units.Dimension, low: float, high: float) -> float:
    value = field.number(dimension)
    if not low <= value <= high:
        unit = "kg" if dimension == units.MASS else "m"
        field.fail(f"{value:g} {unit} is not between {low:g} and {high:g} {unit}{_meant(field)}")
    return value


def _meant(field: Field) -> str:
    """Return a hint for an error message: the unit that was probably intended; "" if unknown."""
    doubts = (d.message for d in field.doubts.values() if d.field.startswith(field.name))
    return "".join(f"; {message}" for message in list(doubts)[:1])


def read_pose(fields: dict[str, Field]) -> Array:
    xyz = fields["xyz"].numbers(3, units.LENGTH) if "xyz" in fields else (0.0, 0.0, 0.0)
    rpy = fields["rpy"].numbers(3, units.ANGLE) if "rpy" in fields else (0.0, 0.0, 0.0)
    return frozen(pose(xyz, rpy))


def _friction(field: Field | None, default: float) -> Friction:
    """Read friction: a sliding coefficient, or [sliding, torsional (m), rolling (m)].

    Return the three coefficients.  Without a field, the sliding coefficient is `default`.
    """
    if field is None:
        return sliding(default)
    if not field.is_list:
        return sliding(field.number(at_least=0.0))
    items = list(field.items())
    if len(items) != 3:
        field.fail("expected a coefficient, or [sliding, torsional (m), rolling (m)]")
    return (
        items[0].number(at_least=0.0),
        items[1].number(units.LENGTH, at_least=0.0),
        items[2].number(units.LENGTH, at_least=0.0),
    )


def read_floor(field: Field | None) -> Floor | None:
    if field is None:
        return Floor()
    if not field.is_mapping:
        return Floor() if field.choice("on", "none") == "on" else None
    fields = field.mapping(("height", "friction"))
    height = fields["height"].number(units.LENGTH) if "height" in fields else 0.0
    return Floor(height, _friction(fields.get("friction"), 0.5))


# ---- settings ------------------------------------------------------------------------------


def read_contact(field: Field | None) -> ContactSettings:
    if field is None or field.is_null:
        return ContactSettings()
    fields = field.mapping(_CONTACT)
    given: dict[str, Any] = {}
    for key in ("solref", "surface_solref"):
        if key in fields:
            items = list(fields[key].items(2))
            if len(items) != 2:
                fields[key].fail("expected [time constant (s), damping ratio]")
            given[key] = (items[0].number(units.TIME, above=0.0), items[1].number(above=0.0))
    if "solimp" in fields:
        d0, d1, width, middle, power = fields["solimp"].numbers(5, units.NUMBER, units.LENGTH)
        if not (0 < d0 < 1 and 0 < d1 < 1 and width > 0 and 0 < middle < 1 and power >= 1):
            fields["solimp"].fail(
                "expected [d0, d1, width, middle, power] with d0, d1 and middle between 0 and 1, "
                "a width above 0 and a power of at least 1"
            )
        given["solimp"] = (d0, d1, width, middle, power)
    if "impratio" in fields:
        given["impratio"] = fields["impratio"].number(at_least=1.0)
    if "noslip" in fields:
        given["noslip"] = _whole(fields["noslip"], range(51))
    if "pad_dimension" in fields:
        given["pad_dimension"] = _whole(fields["pad_dimension"], (3, 4, 6))
    for key in ("pad_friction", "link_friction"):
        if key in fields:
            given[key] = _friction(fields[key], 0.0)
    if "warning" in fields:
        given["warning"] = fields["warning"].number(units.LENGTH, at_least=0.0)
        if given["warning"] > 1.0:
            fields["warning"].fail(f"{given['warning']:g} m; must be at most 1 m")
    return ContactSettings(**given)


def read_gripper(field: Field | None) -> GripperSettings:
    if field is None or field.is_null:
        return GripperSettings()
    dimensions = {
        "finger_inertia": units.MASS,
        "closing_speed": units.SPEED,
        "hold_force": units.FORCE,
        "angle": units.ANGLE,
    }
    fields = field.mapping(dimensions)
    given = {key: child.number(dimensions[key], above=0.0) for key, child in fields.items()}
    if given.get("angle", 0.0) > math.pi / 4:
        fields["angle"].fail(
            "must be at most 45deg; it is the max angle between the direction of finger motion and "
            "the nearest surface normal of a held body"
        )
    return GripperSettings(**given)


def _whole(field: Field, allowed: range | tuple[int, ...]) -> int:
    value = field.number()
    if value not in allowed:
        if isinstance(allowed, range):
            field.fail(f"{value:g}: expected a whole number from 0 to {allowed[-1]}")
        field.fail(f"{value:g} is not one of {', '.join(map(str, allowed))}")
    return int(np.rint(value))
