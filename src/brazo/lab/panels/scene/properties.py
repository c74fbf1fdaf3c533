"""Editable properties of the cell's elements, such as size, mass and friction."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

from brazo.errors import BrazoError
from brazo.lab.app.quantities import Quantity
from brazo.model.shapes import Box, Capsule, Cylinder, Mesh, Sphere
from brazo.world import CellRobot, Chute, Fixture, FreeBody
from brazo.world.attachment import AttachedGripper, AttachedTool
from brazo.world.cell import RED, STEEL, BinShape, Color, FixtureShape, TableShape, sliding
from brazo.world.cell_edits import Element
from brazo.world.cell_fields import GREATEST_MASS, GREATEST_SIZE, LEAST_MASS, LEAST_SIZE

#: Displayed unit, and the factor from SI to it.
UNITS: dict[Quantity, tuple[str, float]] = {
    "mm": ("mm", 1000.0),
    "deg": ("°", 180.0 / math.pi),
    "kg": ("kg", 1.0),
    "N": ("N", 1.0),
    "number": ("", 1.0),
}


@dataclass(frozen=True, slots=True)
class Property:
    """Editable number of an element of the cell: label, display unit, range and accessors.

    `get`, `put`, `low` and `high` use SI units.
    """

    id: str
    label: str
    unit: Quantity
    get: Callable[[Any], float]
    put: Callable[[Any, float], Element]
    low: float = LEAST_SIZE
    high: float = GREATEST_SIZE
    digits: int = 1

    def shown(self, element: Element) -> float:
        """Return the value of this property of an element, in the displayed unit."""
        return UNITS[self.unit][1] * self.get(element)

    def set(self, element: Element, value: float) -> Element:
        """Return a copy of the element in which this property has the given value (SI).

        Raises `BrazoError` if the value is out of range.
        """
        if not self.low <= value <= self.high:
            unit, scale = UNITS[self.unit]
            low, high = (f"{scale * x:g} {unit}".strip() for x in (self.low, self.high))
            given = f"{scale * value:g} {unit}".strip()
            raise BrazoError(f"{self.label}: {given} is out of range, must be {low} to {high}")
        return self.put(element, value)


def properties_of(element: Element) -> list[Property]:
    """Return the editable properties of an element, except its pose."""
    if isinstance(element, CellRobot):
        return _of_attachment(element)
    if isinstance(element, Chute):
        return [*_CHUTE, _FRICTION]
    if isinstance(element, FreeBody):
        return [*_of_shape(element.shape), _MASS, _FRICTION]
    if isinstance(element, Fixture):
        return [*_of_shape(element.shape), _FRICTION]
    return []


def reshaped(element: FreeBody | Fixture, shape: FixtureShape) -> Element:
    """Return a copy of a body or fixture with another shape."""
    if isinstance(element, FreeBody):
        assert not isinstance(shape, TableShape)
        return replace(element, shape=shape)
    one = element
    return Fixture.of(one.name, shape, one.pose, one.friction, one.color, one.line)


def color_of(element: Element) -> Color | None:
    """Return the RGB color of an element (0 to 1); None if it cannot be colored."""
    if isinstance(element, FreeBody | Chute):
        return element.color
    return element.color if isinstance(element, Fixture) else None


def colored(element: Element, color: Color) -> Element:
    """Return a copy of an element with another RGB color (0 to 1)."""
    if isinstance(element, Fixture):
        parts = tuple(replace(part, color=color) for part in element.parts)
        return replace(element, parts=parts)
    return cast(Element, replace(cast(Any, element), color=color))


def can_be_free(element: Element) -> bool:
    """Whether an element can be switched between free body and fixture."""
    if isinstance(element, FreeBody):
        return True
    return isinstance(element, Fixture) and not isinstance(element.shape, TableShape | None)


def freed(element: Fixture, pose: Any, mass: float = 0.5) -> FreeBody:
    """Convert a fixture to a free body at a pose (4, 4); `mass` is in kg.

    Raises `BrazoError` if the fixture consists of several parts, such as a table.
    """
    shape = element.shape
    if shape is None or isinstance(shape, TableShape):
        raise BrazoError(f"'{element.name}' cannot be a free body: it consists of several parts")
    color = RED if element.color == STEEL else element.color
    return FreeBody(element.name, shape, mass, pose, element.friction, color)


def fixed_in_place(element: FreeBody, pose: Any) -> Fixture:
    """Convert a free body to a fixture at a pose (4, 4)."""
    return Fixture.of(element.name, element.shape, pose, element.friction, element.color)


# ---- fields of an element and of its parts -------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Part:
    """Accessors of a part of an element, such as its shape, whose fields can be edited.

    `of(element)` returns the part.  `put(element, part)` returns the element with a new part.
    """

    of: Callable[[Any], Any]
    put: Callable[[Any, Any], Element]

    def number(
        self,
        id: str,
        label: str,
        unit: Quantity,
        field: str,
        low: float = LEAST_SIZE,
        high: float = GREATEST_SIZE,
        digits: int = 1,
        item: int | None = None,
    ) -> Property:
        """Return the property that edits the number in a field of this part.

        If the field is a tuple, `item` is the index of the number in the tuple.
        """

        def get(element: Any) -> float:
            value = getattr(self.of(element), field)
            return value if item is None else value[item]

        def put(element: Any, value: float) -> Element:
            part, new = self.of(element), value
            if item is not None:
                old = getattr(part, field)
                new = (*old[:item], value, *old[item + 1 :])
            return self.put(element, replace(part, **{field: new}))

        return Property(id, label, unit, get, put, low, high, digits)


def _attach(robot: CellRobot, attachment: Any) -> CellRobot:
    return replace(robot, source=robot.source.attached(attachment))


_ELEMENT = _Part(lambda element: element, lambda _, new: new)
_SHAPE = _Part(lambda element: element.shape, reshaped)
_ATTACHMENT = _Part(lambda robot: robot.source.attachment, _attach)
_GRIPPER = _Part(
    lambda robot: robot.source.attachment.gripper,
    lambda robot, new: _attach(robot, replace(robot.source.attachment, gripper=new)),
)


# ---- solids --------------------------------------------------------------------------------


def _sized(i: int, label: str) -> Property:
    def put(element: Any, value: float) -> Element:
        shape = element.shape
        size = tuple(value if k == i else old for k, old in enumerate(shape.size))
        most = min(size) / 2  # of walls, as cell files require
        thick = [k for k in ("wall", "top", "leg") if getattr(shape, k, 0.0) > most]
        return reshaped(element, replace(shape, size=size, **dict.fromkeys(thick, most)))

    return Property(f"size-{i}", label, "mm", lambda e: e.shape.size[i], put)


def _of_shape(shape: Any) -> list[Property]:
    match shape:
        case Box():
            return [_sized(0, "Length (x)"), _sized(1, "Width (y)"), _sized(2, "Height (z)")]
        case TableShape():
            return [_sized(0, "Length (x)"), _sized(1, "Width (y)"), _sized(2, "Height")]
        case BinShape(size):
            wall = _SHAPE.number("wall", "Wall", "mm", "wall", high=min(size) / 3)
            return [_sized(0, "Length (x)"), _sized(1, "Width (y)"), _sized(2, "Height"), wall]
        case Cylinder() | Capsule():
            return [_RADIUS, _SHAPE.number("length", "Height (z)", "mm", "length")]
        case Sphere():
            return [_RADIUS]
        case Mesh():
            return [_SCALE]
    return []


_RADIUS = _SHAPE.number("radius", "Radius", "mm", "radius")
_SCALE = Property(
    "scale",
    "Scale",
    "number",
    lambda e: e.shape.scale[0],
    lambda e, value: reshaped(e, replace(e.shape, scale=(value, value, value))),
    1e-6,
    1e6,
    4,
)
_MASS = _ELEMENT.number("mass", "Mass", "kg", "mass", LEAST_MASS, GREATEST_MASS, 3)
_FRICTION = Property(
    "friction",
    "Friction",
    "number",
    lambda e: e.friction[0],
    lambda e, value: replace(e, friction=sliding(value)),
    0.0,
    100.0,
    2,
)
_CHUTE = [
    _ELEMENT.number("inner-width", "Inner width", "mm", "inner", item=0),
    _ELEMENT.number("inner-height", "Inner height", "mm", "inner", item=1),
    _ELEMENT.number("length", "Length", "mm", "length"),
    _ELEMENT.number("slope", "Slope", "deg", "angle", 0.0, math.pi / 2),
]


# ---- grippers and tools --------------------------------------------------------------------


def _of_attachment(robot: CellRobot) -> list[Property]:
    attachment = robot.source.attachment
    if isinstance(attachment, AttachedGripper):
        least = attachment.gripper.opening[0] + 1e-3
        return [
            _GRIPPER.number("opening", "Opening", "mm", "opening", least, 1.0, item=1),
            _GRIPPER.number("force", "Max force", "N", "max_force", 0.1, 10_000.0),
            _GRIPPER.number("finger-length", "Finger length", "mm", "finger", 5e-3, 1.0, item=2),
            _GRIPPER.number("finger-width", "Finger width", "mm", "finger", 1e-3, 1.0, item=0),
            _attached_mass("Gripper mass"),
        ]
    if isinstance(attachment, AttachedTool):
        return [
            _ATTACHMENT.number("tool-length", "Tool length", "mm", "length", 1e-3, 10.0),
            _ATTACHMENT.number("tool-radius", "Tool radius", "mm", "radius", 1e-3, 1.0),
            _attached_mass("Tool mass"),
        ]
    return []


def _attached_mass(label: str) -> Property:
    return _ATTACHMENT.number("attached-mass", label, "kg", "mass", 0.0, 1000.0, 3)
