"""Cell description as typed data: robots, free bodies, fixtures and contact settings.

`brazo.world.cell_file` reads a cell file into these classes; `brazo.world.World` simulates them.
Units are SI and radians; poses are 4x4 matrices in the world frame, z up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from brazo.deprecation import renamed_fields
from brazo.model.actuators import DriveKind, with_drives
from brazo.model.description import (
    EARTH_GRAVITY,
    IDENTITY,
    Array,
    Finding,
    Model,
    Part,
    frozen,
)
from brazo.model.shapes import Box, Capsule, Cylinder, Mesh, Sphere
from brazo.model.transforms import rot_y, rot_z, translate
from brazo.world.robot_source import RobotSource
from brazo.world.tcp import Tcp, with_tcp

Color = tuple[float, float, float]  # red, green, blue, 0..1
Friction = tuple[float, float, float]  # sliding (dimensionless), torsional (m), rolling (m)
Solid = Box | Cylinder | Capsule | Sphere
GraspRule = Literal["friction", "weld"]

STEEL: Color = (0.62, 0.65, 0.69)
RED: Color = (0.80, 0.16, 0.14)
LEAST_STEP, GREATEST_STEP = 1e-5, 1e-2  # s, limits of the step size
STEP_RANGE = f"{1e3 * LEAST_STEP:g} ms to {1e3 * GREATEST_STEP:g} ms"  # for messages


def sliding(mu: float) -> Friction:
    """Return (sliding, torsional, rolling) friction coefficients: `mu` and two small constants."""
    return (mu, 0.005, 0.0001)


@dataclass(frozen=True, slots=True)
class ContactSettings:
    """Parameters of MuJoCo's contact model.

    With the defaults, a bar that a gripper holds by friction slips by less than 1 µm/s, and the
    angle of the friction cone is accurate to 0.05°.  The cone is elliptic, friction is ten times as
    stiff as the normal direction, and three no-slip iterations reduce the slip.  Bodies, fixtures
    and floor are slightly softer than grippers and links, because a body that slides on a stiff
    surface bounces by fractions of a millimetre.
    """

    solref: tuple[float, float] = (0.004, 1.0)  # time constant (s), damping ratio
    surface_solref: tuple[float, float] = (0.010, 1.0)  # the same for bodies, fixtures and floor
    solimp: tuple[float, float, float, float, float] = (0.95, 0.99, 0.001, 0.5, 2.0)
    impratio: float = 10.0  # stiffness of friction relative to the normal direction
    noslip: int = 3  # no-slip solver iterations
    pad_friction: Friction = (1.0, 0.005, 0.0001)
    pad_dimension: int = 4  # 3: sliding only; 4: also torsional; 6: also rolling
    link_friction: Friction = sliding(0.5)
    warning: float = 0.025  # m; contacts of robot parts are reported from this distance on


@dataclass(frozen=True, slots=True)
class GripperSettings:
    """Gripper parameters that robot files do not contain, and the criteria for a grasp."""

    finger_inertia: float = 1.0  # kg, of the drive, acting on each finger along its slide
    closing_speed: float = 0.2  # m/s, rate of the opening under max force
    hold_force: float = 2.0  # N on each pad
    angle: float = math.radians(10.0)  # max, from the finger direction to a surface normal


@dataclass(frozen=True, slots=True)
class Floor:
    """An infinite horizontal plane."""

    height: float = 0.0  # m
    friction: Friction = sliding(0.5)


@renamed_fields(force_feedback="contact_response")
@dataclass(frozen=True, slots=True, eq=False)
class CellRobot:
    """A robot of a cell: its description, base pose, start joint values and settings."""

    name: str
    source: RobotSource
    base: Array = field(default_factory=lambda: IDENTITY)  # (4, 4)
    start: Array = field(default_factory=lambda: frozen([]))  # (n,); default: `default_start`
    contact_response: bool = True  # if off, the robot passes through other bodies
    grasp: GraspRule = "friction"
    line: int | None = None  # in the cell file
    tcps: tuple[Tcp, ...] = ()  # tool centre points besides the robot's own
    tcp: str = ""  # name of the selected one; empty for the robot's own
    drives: DriveKind | None = None  # None: as in the robot file

    def __post_init__(self) -> None:
        if not len(self.start):
            model = self.source.model
            object.__setattr__(self, "start", default_start(model, model.limits))

    @property
    def model(self) -> Model:
        """The model of the robot, with the selected tool centre point and drives."""
        model = self.source.model
        for one in self.tcps:
            if one.name == self.tcp:
                model = with_tcp(model, one.pose)
        return model if self.drives is None else with_drives(model, self.drives)


@dataclass(frozen=True, slots=True)
class TableShape:
    """A table top on four legs; the origin is the centre of the upper surface, z up."""

    size: tuple[float, float, float]  # m, length (x), width (y) and height
    top: float = 0.03  # m, thickness of the top
    leg: float = 0.05  # m, side of a leg

    def parts(self, color: Color) -> tuple[Part, ...]:
        """Return the parts of the table: top and legs."""
        x, y, z = self.size
        t, leg = min(self.top, z / 2), min(self.leg, x / 2, y / 2)
        found = [Part("top", Box((x, y, t)), frozen(translate(z=-t / 2)), color)]
        for i, (a, b) in enumerate(((1, 1), (-1, 1), (-1, -1), (1, -1))):
            at = translate(a * (x - leg) / 2, b * (y - leg) / 2, -(t + z) / 2)
            found.append(Part(f"leg {i + 1}", Box((leg, leg, z - t)), frozen(at), color))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class BinShape:
    """A box open at the top; the origin is the centre of its inner floor, z up."""

    size: tuple[float, float, float]  # m, outer length (x), width (y) and height
    wall: float = 0.005  # m

    def parts(self, color: Color) -> tuple[Part, ...]:
        """Return the parts of the bin: bottom and walls."""
        x, y, z = self.size
        t = min(self.wall, x / 3, y / 3, z / 2)
        sizes = (
            ("bottom", (x, y, t), (0.0, 0.0, -t / 2)),
            ("front", (t, y, z - t), ((x - t) / 2, 0.0, (z - t) / 2)),
            ("back", (t, y, z - t), (-(x - t) / 2, 0.0, (z - t) / 2)),
            ("left", (x - 2 * t, t, z - t), (0.0, (y - t) / 2, (z - t) / 2)),
            ("right", (x - 2 * t, t, z - t), (0.0, -(y - t) / 2, (z - t) / 2)),
        )
        return tuple(
            Part(name, Box(size), frozen(translate(*at)), color) for name, size, at in sizes
        )


BodyShape = Solid | Mesh | BinShape
FixtureShape = Solid | Mesh | BinShape | TableShape


def parts_of(name: str, shape: FixtureShape, color: Color) -> tuple[Part, ...]:
    """Return the parts of a body or fixture with this name, shape and color."""
    if isinstance(shape, BinShape | TableShape):
        return shape.parts(color)
    return (Part(name, shape, color=color),)


@dataclass(frozen=True, slots=True, eq=False)
class FreeBody:
    """A homogeneous rigid body that moves freely."""

    name: str
    shape: BodyShape
    mass: float
    pose: Array
    friction: Friction = sliding(0.5)
    color: Color = RED
    line: int | None = None  # in the cell file


@dataclass(frozen=True, slots=True, eq=False)
class Fixture:
    """An immovable object of one or more parts; the poses of parts are relative to `pose`."""

    name: str
    parts: tuple[Part, ...]
    pose: Array
    friction: Friction = sliding(0.5)
    shape: FixtureShape | None = None  # the shape that the parts make up, if it is a single one
    line: int | None = None  # in the cell file

    @classmethod
    def of(
        cls,
        name: str,
        shape: FixtureShape,
        pose: Array = IDENTITY,
        friction: Friction = sliding(0.5),  # noqa: B008
        color: Color = STEEL,
        line: int | None = None,
    ) -> Fixture:
        """Return a fixture of one shape."""
        return cls(name, parts_of(name, shape, color), pose, friction, shape, line)

    @property
    def color(self) -> Color:
        """Color of the first part."""
        return self.parts[0].color


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A named coordinate frame fixed in the world, in which programs can give targets."""

    name: str
    pose: Array
    line: int | None = None  # in the cell file


@dataclass(frozen=True, slots=True, eq=False)
class Chute:
    """An inclined rectangular channel of four plates, open at both ends.

    The origin of its frame is the centre of the upper opening.  The x axis points down the slope,
    and the z axis is normal to the bottom plate.
    """

    name: str
    inner: tuple[float, float]  # m, width (y) and height (z) of the clear cross-section
    length: float
    angle: float  # rad, of the slope below the horizontal
    xyz: tuple[float, float, float]  # m, centre of the upper opening
    yaw: float  # rad, downhill direction as seen from above
    wall: float = 0.005
    friction: Friction = sliding(0.2)
    color: Color = STEEL

    @property
    def pose(self) -> Array:
        """Pose (4, 4) of the frame of the upper opening."""
        return frozen(translate(*self.xyz) @ rot_z(self.yaw) @ rot_y(self.angle))

    @property
    def fixture(self) -> Fixture:
        """The four plates as one fixture."""
        width, height = self.inner
        t, half = self.wall, self.length / 2
        flat = Box((self.length, width + 2 * t, t))
        side = Box((self.length, t, height))
        places = (
            ("bottom", flat, (half, 0.0, -(height + t) / 2)),
            ("top", flat, (half, 0.0, (height + t) / 2)),
            ("left", side, (half, (width + t) / 2, 0.0)),
            ("right", side, (half, -(width + t) / 2, 0.0)),
        )
        parts = tuple(
            Part(name, shape, frozen(translate(*at)), self.color) for name, shape, at in places
        )
        return Fixture(self.name, parts, self.pose, self.friction)


@renamed_fields(clamp="gripper")
@dataclass(frozen=True, eq=False, kw_only=True)
class Cell:
    """A robot cell: robots, free bodies, fixtures, and settings of the physical model."""

    name: str
    about: str = ""
    robots: tuple[CellRobot, ...] = ()
    bodies: tuple[FreeBody, ...] = ()
    fixtures: tuple[Fixture, ...] = ()
    chutes: tuple[Chute, ...] = ()
    frames: tuple[Frame, ...] = ()
    floor: Floor | None = Floor()
    gravity: Array = field(default_factory=lambda: EARTH_GRAVITY)
    contact: ContactSettings = ContactSettings()
    gripper: GripperSettings = GripperSettings()
    step: float = 1e-3  # s
    path: Path | None = None
    findings: tuple[Finding, ...] = ()  # warnings about the file

    @property
    def models(self) -> Mapping[str, Model]:
        """Models of the robots, by the name of the robot in the cell."""
        return {robot.name: robot.model for robot in self.robots}

    @property
    def static(self) -> tuple[Fixture, ...]:
        """All fixtures, including the plates of chutes."""
        return (*self.fixtures, *(chute.fixture for chute in self.chutes))


def default_start(model: Model, limits: Array) -> Array:
    """Return the default start joint values (n,) of a robot.

    This is the pose `home` of the model.  Without `home`, it is the first pose of the model.
    Without poses, it is zero clipped to the joint limits `limits` (n, 2).
    """
    if model.poses:
        return frozen(model.poses.get("home", next(iter(model.poses.values()))))
    return frozen(np.clip(np.zeros(len(limits)), limits[:, 0], limits[:, 1]))
