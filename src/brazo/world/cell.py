"""What a cell *is*, as plain typed data: robots, free bodies, fixtures, and how they touch.

A cell file (`brazo.world.cell_file`) is read into these; `brazo.world.World` makes them move.  SI
and radians; poses are 4x4 matrices in the world frame, z up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from brazo.model.description import (
    EARTH_GRAVITY,
    IDENTITY,
    Array,
    Finding,
    Model,
    Part,
    frozen,
)
from brazo.model.shapes import Box, Capsule, Cylinder, Sphere
from brazo.model.transforms import rot_y, rot_z, translate
from brazo.world.robot_source import RobotSource

Color = tuple[float, float, float]  # red, green, blue, 0..1
Friction = tuple[float, float, float]  # sliding (pure number), torsional (m), rolling (m)
Solid = Box | Cylinder | Capsule | Sphere
GraspRule = Literal["friction", "weld"]

STEEL: Color = (0.62, 0.65, 0.69)
RED: Color = (0.80, 0.16, 0.14)


def sliding(mu: float) -> Friction:
    """Friction with the given sliding coefficient and a little resistance to spinning."""
    return (mu, 0.005, 0.0001)


@dataclass(frozen=True, slots=True)
class ContactSettings:
    """How touching bodies push on each other.

    The defaults hold a bar by friction alone with a creep below 1 µm/s and keep the friction cone
    to 0.05°: an elliptic cone whose friction is ten times as stiff as its normal direction, and
    three passes that take the last slip away.  Bodies, fixtures and floor are a little softer than
    clamps and links: what slides on something hard hops, if only by fractions of a millimetre.
    """

    solref: tuple[float, float] = (0.004, 1.0)  # time constant (s), damping ratio
    surface_solref: tuple[float, float] = (0.010, 1.0)  # the same for bodies, fixtures, floor
    solimp: tuple[float, float, float, float, float] = (0.95, 0.99, 0.001, 0.5, 2.0)
    impratio: float = 10.0  # stiffness of friction over that of the normal direction
    noslip: int = 3  # passes that suppress slip
    pad_friction: Friction = (1.0, 0.005, 0.0001)
    pad_dimension: int = 4  # 3: sliding only; 4: spinning, too; 6: rolling, too
    link_friction: Friction = sliding(0.5)
    warning: float = 0.025  # m; parts of a robot are reported this long before they touch


@dataclass(frozen=True, slots=True)
class ClampSettings:
    """What a robot file does not say about a clamp's drive, and when a body counts as held."""

    finger_inertia: float = 1.0  # kg, of the drive, felt by each finger along its slide
    closing_speed: float = 0.2  # m/s, of the opening, under the greatest force
    hold_force: float = 2.0  # N on each pad
    angle: float = math.radians(10.0)  # between the fingers' direction and the body's face


@dataclass(frozen=True, slots=True)
class Floor:
    """A level plane without end."""

    height: float = 0.0
    friction: Friction = sliding(0.5)


@dataclass(frozen=True, slots=True, eq=False)
class CellRobot:
    """A robot standing in a cell."""

    name: str
    source: RobotSource
    base: Array = field(default_factory=lambda: IDENTITY)  # (4, 4)
    start: Array = field(default_factory=lambda: frozen([]))  # (n,)
    force_feedback: bool = True
    grasp: GraspRule = "friction"
    line: int | None = None  # of the cell file

    @property
    def model(self) -> Model:
        return self.source.model


@dataclass(frozen=True, slots=True, eq=False)
class FreeBody:
    """A homogeneous solid that moves by its own mechanics."""

    name: str
    shape: Solid
    mass: float
    pose: Array
    friction: Friction = sliding(0.5)
    color: Color = RED
    line: int | None = None  # of the cell file


@dataclass(frozen=True, slots=True, eq=False)
class Fixture:
    """Solids that never move; their parts are given in the frame `pose`."""

    name: str
    parts: tuple[Part, ...]
    pose: Array
    friction: Friction = sliding(0.5)


@dataclass(frozen=True, slots=True, eq=False)
class Chute:
    """A hollow inclined parallelepiped of four plates, open at both ends.

    Its frame sits in the middle of the upper mouth: x along the way down, z square to the bottom.
    """

    name: str
    inner: tuple[float, float]  # width (y) and height (z) of the clear section
    length: float
    angle: float  # of the way down below the horizontal
    xyz: tuple[float, float, float]  # middle of the upper mouth
    yaw: float  # direction of the way down, seen from above
    wall: float = 0.005
    friction: Friction = sliding(0.2)
    color: Color = STEEL

    @property
    def pose(self) -> Array:
        """The mouth's frame (4, 4)."""
        return frozen(translate(*self.xyz) @ rot_z(self.yaw) @ rot_y(self.angle))

    @property
    def fixture(self) -> Fixture:
        """The four plates."""
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


@dataclass(frozen=True, eq=False, kw_only=True)
class Cell:
    """Everything that shares one physical world."""

    name: str
    about: str = ""
    robots: tuple[CellRobot, ...] = ()
    bodies: tuple[FreeBody, ...] = ()
    fixtures: tuple[Fixture, ...] = ()
    chutes: tuple[Chute, ...] = ()
    floor: Floor | None = Floor()
    gravity: Array = field(default_factory=lambda: EARTH_GRAVITY)
    contact: ContactSettings = ContactSettings()
    clamp: ClampSettings = ClampSettings()
    step: float = 1e-3  # s
    path: Path | None = None
    findings: tuple[Finding, ...] = ()  # what is odd in the file

    @property
    def models(self) -> Mapping[str, Model]:
        """The robots' models by the names they have in the cell."""
        return {robot.name: robot.model for robot in self.robots}

    @property
    def static(self) -> tuple[Fixture, ...]:
        """Fixtures and chutes alike."""
        return (*self.fixtures, *(chute.fixture for chute in self.chutes))


def default_start(model: Model, limits: Array) -> Array:
    """The pose `home` of a robot, else its first pose, else what is nearest to zero."""
    if model.poses:
        return frozen(model.poses.get("home", next(iter(model.poses.values()))))
    return frozen(np.clip(np.zeros(len(limits)), limits[:, 0], limits[:, 1]))
