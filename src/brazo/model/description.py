"""Description of a robot as plain typed data, from which every other layer derives its numbers.

A `TreeModel` is a base body and moving bodies, each connected to an earlier one by one joint:

    T_parent_body(q) = before · motion(axis, multiplier·q[coordinate] + offset) · after

with `motion` a rotation about `axis` (revolute) or a translation along it (prismatic).  Both D-H
conventions are special cases (`brazo.model.dh`), as are URDF and MJCF joints, so kinematics and
dynamics are implemented once.  A serial arm is a tree without branches.  A `DeltaModel` is the
three-armed parallel robot of Clavel with its four lengths.

SI units and radians throughout.  Arrays are read-only float64, mappings are read-only, also in a
pickled copy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from brazo.model.read_only import ReadOnlyDict, freeze_arrays, frozen
from brazo.model.shapes import Shape
from brazo.units import Expression

Array = np.ndarray
JointKind = Literal["revolute", "prismatic"]


IDENTITY = frozen(np.eye(4))
Z_AXIS = frozen([0.0, 0.0, 1.0])
EARTH_GRAVITY = frozen([0.0, 0.0, -9.81])


def _constant(array: Array) -> Any:
    """Return a dataclass field whose default is a shared read-only array."""
    return field(default_factory=lambda: array)


@dataclass(frozen=True, slots=True, eq=False)
class Inertia:
    """Mass (kg), centre of mass (m, body frame), tensor (kg m², about the centre, body axes)."""

    mass: float
    com: Array  # (3,)
    tensor: Array  # (3, 3)


@dataclass(frozen=True, slots=True)
class Friction:
    """Joint friction: viscous (N m s/rad or N s/m) and Coulomb (N m or N) for qd > 0 and qd < 0.

    A `smooth` speed (rad/s or m/s) above 0 smooths the Coulomb step at rest.
    """

    viscous: float = 0.0
    coulomb: tuple[float, float] = (0.0, 0.0)
    smooth: float = 0.0


@dataclass(frozen=True, slots=True)
class Drive:
    """Drive of a joint: limits at the joint side, gear ratio and motor inertia (kg m²)."""

    max_torque: float = math.inf
    max_speed: float = math.inf
    gear: float = 1.0
    motor_inertia: float = 0.0

    @property
    def armature(self) -> float:
        """Motor inertia reflected to the joint, G² Jm."""
        return self.gear**2 * self.motor_inertia


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """One moving joint; see the module for its transform."""

    name: str
    kind: JointKind
    coordinate: int  # index into q
    before: Array = _constant(IDENTITY)  # (4, 4) parent body -> joint frame
    axis: Array = _constant(Z_AXIS)  # (3,) unit vector in the joint frame
    after: Array = _constant(IDENTITY)  # (4, 4) moved joint frame -> body frame
    multiplier: float = 1.0  # other than 1 only for mimic joints
    offset: float = 0.0
    limits: tuple[float, float] = (-math.inf, math.inf)
    friction: Friction = Friction()
    drive: Drive = Drive()


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Visible solid, rigidly attached to its body; `pose` is the part frame in the body frame."""

    name: str
    shape: Shape
    pose: Array = _constant(IDENTITY)  # (4, 4)
    color: tuple[float, float, float] = (0.7, 0.7, 0.72)  # 0..1
    collides: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """A rigid body; body 0 is the base and has no joint."""

    name: str
    parent: int = -1  # index of an earlier body; -1 for the base
    joint: Joint | None = None
    inertia: Inertia | None = None  # None: unknown, never estimated
    parts: Sequence[Part] = ()  # generated on demand if no file gives them


@dataclass(frozen=True, slots=True, eq=False)
class Gripper:
    """Two-finger gripper: opening range (m), max force (N), finger size (m)."""

    opening: tuple[float, float] = (0.0, 0.08)
    max_force: float = 120.0
    finger: tuple[float, float, float] = (0.02, 0.01, 0.06)


@dataclass(frozen=True, slots=True)
class Finding:
    """Warning about a file that can still be loaded: location, and the violated rule."""

    message: str
    path: Path | None = None
    line: int | None = None
    field: str = ""
    slip: bool = False  # probably a missing unit, see `plausible`

    def __str__(self) -> str:
        from brazo.errors import at

        return at(self.path, self.line, self.field) + self.message


@dataclass(frozen=True, slots=True)
class TipChoice:
    """Link of an imported file that carries the tool, and the reason; "" if the user named it."""

    link: str
    reason: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Model:
    """Fields common to all kinds of robots."""

    name: str
    about: str = ""
    parameters: Mapping[str, float] = field(default_factory=dict)
    poses: Mapping[str, Array] = field(default_factory=dict)  # name -> (n,)
    gravity: Array = _constant(EARTH_GRAVITY)  # (3,) m/s², base frame
    gripper: Gripper | None = None
    findings: tuple[Finding, ...] = ()
    path: Path | None = None
    # Expressions of a robot file, by field: "parameters.L2", "joints[0].com.a".
    expressions: Mapping[str, Expression] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, Mapping):
                object.__setattr__(self, name, ReadOnlyDict(value))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        freeze_arrays(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        return self  # immutable

    @property
    def kind(self) -> str:
        """`"tree"` or `"delta"`."""
        raise NotImplementedError

    # Properties of every mechanism, so that callers need not distinguish the kinds.

    if TYPE_CHECKING:
        # Fields of a Delta, properties of a tree.  At run time a property here would become the
        # default of the Delta's field.
        @property
        def joint_names(self) -> tuple[str, ...]: ...
        @property
        def limits(self) -> Array: ...

    @property
    def n(self) -> int:
        """Number of joint coordinates."""
        raise NotImplementedError

    @property
    def joint_kinds(self) -> tuple[JointKind, ...]:
        """Kind of each entry of q."""
        raise NotImplementedError

    @property
    def solids(self) -> tuple[tuple[str, Sequence[Part]], ...]:
        """Name and visible parts of each body."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, kw_only=True)
class TreeModel(Model):
    """Base and moving bodies in a tree (a serial arm if no body branches)."""

    bodies: tuple[Body, ...]
    tip: int  # index of the body that carries the tool
    tool: Array = _constant(IDENTITY)  # (4, 4) tool in the tip body
    named_frames: Mapping[str, tuple[int, Array]] = field(default_factory=dict)
    convention: Literal["standard", "modified", "general"] = "general"
    tip_choice: TipChoice | None = None  # of imported files; a robot file has one end
    dh: tuple[Any, ...] = ()  # D-H rows (brazo.model.dh.DHRow) if the file gives them

    @property
    def kind(self) -> str:
        return "tree"

    @property
    def joints(self) -> tuple[Joint, ...]:
        """Joint of every moving body, in body order."""
        return tuple(body.joint for body in self.bodies if body.joint is not None)

    @property
    def coordinates(self) -> tuple[Joint, ...]:
        """Independent joints, in the order of q."""
        chosen: dict[int, Joint] = {}
        for joint in self.joints:
            # Prefer the joint whose value is q over one that mimics it.
            known = chosen.get(joint.coordinate)
            own = (joint.multiplier, joint.offset) == (1.0, 0.0)
            if known is None or (own and (known.multiplier, known.offset) != (1.0, 0.0)):
                chosen[joint.coordinate] = joint
        return tuple(chosen[i] for i in range(len(chosen)))

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, in the order of q."""
        return tuple(joint.name for joint in self.coordinates)

    @property
    def limits(self) -> Array:
        """Joint limits (n, 2); infinite if there are none."""
        return frozen([joint.limits for joint in self.coordinates], (self.n, 2))

    @property
    def joint_kinds(self) -> tuple[JointKind, ...]:
        return tuple(joint.kind for joint in self.coordinates)

    @property
    def solids(self) -> tuple[tuple[str, Sequence[Part]], ...]:
        return tuple((body.name, body.parts) for body in self.bodies)

    @property
    def n(self) -> int:
        return 1 + max((joint.coordinate for joint in self.joints), default=-1)

    @property
    def is_serial(self) -> bool:
        """Whether the bodies form one chain, with one coordinate per joint and the tip last."""
        return (
            all(body.parent == i - 1 for i, body in enumerate(self.bodies))
            and self.n == len(self.joints)
            and self.tip == len(self.bodies) - 1
        )

    @property
    def missing_inertia(self) -> tuple[str, ...]:
        """Names of the moving bodies without inertia."""
        return tuple(b.name for b in self.bodies[1:] if b.inertia is None)


@dataclass(frozen=True, eq=False, kw_only=True)
class DeltaModel(Model):
    """Delta robot: driven arms of length L1, parallelogram rods of length L2, level platform.

    The origin is at the centre of the fixed platform, z up, with the workspace below (z < 0).  At
    theta = 0 a drive arm is in the platform plane and points outward; theta > 0 raises the elbow.
    """

    R: float  # fixed platform: centre to drive axis
    r: float  # moving platform: centre to rod joints
    L1: float  # drive arm
    L2: float  # rods
    azimuths: tuple[float, float, float]
    joint_names: tuple[str, str, str] = ("arm 1", "arm 2", "arm 3")  # pyright: ignore[reportIncompatibleMethodOverride]
    limits: Array = field(default_factory=lambda: frozen([[-math.inf, math.inf]] * 3))  # (3, 2)  # pyright: ignore[reportIncompatibleMethodOverride]
    tool: Array = _constant(IDENTITY)
    arm_inertia: Inertia | None = None
    rod_mass: float | None = None  # one parallelogram, both rods
    platform_mass: float | None = None
    rod_spacing: float = 0.06  # between the two rods of a parallelogram
    friction: Friction = Friction()
    drive: Drive = Drive()
    parts: Mapping[str, Sequence[Part]] = field(default_factory=dict)  # by body name

    @property
    def kind(self) -> str:
        return "delta"

    @property
    def n(self) -> int:
        return 3

    @property
    def joint_kinds(self) -> tuple[JointKind, ...]:
        return ("revolute", "revolute", "revolute")

    @property
    def solids(self) -> tuple[tuple[str, Sequence[Part]], ...]:
        return tuple(self.parts.items())
