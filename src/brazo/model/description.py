"""Description of a robot as plain typed data, from which all other layers are derived.

A `TreeModel` consists of a base body and moving bodies. Each moving body is connected to an earlier
body by one joint:

    T_parent_body(q) = before · motion(axis, multiplier·q[coordinate] + offset) · after

`before` and `after` are constant. `motion` is a rotation about `axis` (revolute) or a translation
along it (prismatic). Both D-H conventions are special cases (`brazo.model.dh`), as are URDF and
MJCF joints, so kinematics and dynamics are implemented once. A serial arm is a tree without
branches. A `DeltaModel` is the three-armed parallel robot of Clavel. Four lengths and the azimuths
of the arms define its geometry.

All values are in SI units and radians. Arrays are read-only float64 and mappings are read-only,
also in a pickled copy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from brazo.errors import BrazoError, at
from brazo.model.actuators import Actuator
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
    """Inertia of a body: mass (kg), centre of mass (m), and inertia tensor (kg m²).

    The tensor is about the centre of mass. Centre of mass and tensor are expressed in the body
    frame.
    """

    mass: float
    com: Array  # (3,)
    tensor: Array  # (3, 3)


@dataclass(frozen=True, slots=True)
class Friction:
    """Joint friction: viscous (N m s/rad or N s/m) and Coulomb (N m or N).

    The two Coulomb values are magnitudes, for qd > 0 and qd < 0. Coulomb friction changes its sign
    at qd = 0. If `smooth` (rad/s or m/s) is above 0, qd/√(qd² + smooth²) replaces the sign of qd.
    """

    viscous: float = 0.0
    coulomb: tuple[float, float] = (0.0, 0.0)
    smooth: float = 0.0


@dataclass(frozen=True, slots=True)
class Drive:
    """Drive of a joint: torque and speed limits at the joint, gear ratio, motor inertia (kg m²).

    The limits are in N m and rad/s, or in N and m/s for a prismatic joint.
    """

    max_torque: float = math.inf
    max_speed: float = math.inf
    gear: float = 1.0
    motor_inertia: float = 0.0
    actuator: Actuator | None = None  # of the file; in use if `real` is set
    real: tuple[float, float] | None = None  # gear and motor inertia of the ideal drive it replaces

    @property
    def armature(self) -> float:
        """Motor inertia reflected to the joint: gear² · motor inertia (kg m² or kg)."""
        return self.gear**2 * self.motor_inertia


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """One moving joint of a `TreeModel`.

    The joint connects a body to its parent. The pose of the body in the parent is before ·
    motion(axis, multiplier·q[coordinate] + offset) · after.
    """

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
    """Visible solid, rigidly attached to a body; `pose` is its pose in the body frame."""

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
    """Two-finger gripper.

    `opening` is the distance between the fingers (m) when closed and when open. `max_force` is in
    N. `finger` is the size of a finger in x, y and z (m).
    """

    opening: tuple[float, float] = (0.0, 0.08)
    max_force: float = 120.0
    finger: tuple[float, float, float] = (0.02, 0.01, 0.06)


@dataclass(frozen=True, slots=True)
class Finding:
    """Warning about a file that can still be loaded: the message and its location in the file."""

    message: str
    path: Path | None = None
    line: int | None = None
    field: str = ""
    slip: bool = False  # probably a missing unit, see `plausible`

    def __str__(self) -> str:
        return at(self.path, self.line, self.field) + self.message


@dataclass(frozen=True, slots=True)
class TipChoice:
    """The link of an imported file that carries the tool.

    `reason` is why the link was selected, or "" if the user specified the link.
    """

    link: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Length:
    """A named length (m) of a mechanism that has no D-H table."""

    name: str
    value: float
    about: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Model:
    """Interface of all mechanisms: common fields, and properties that each kind implements.

    Other layers use this interface. Only dispatch functions, such as `kinematics_of`, `dynamics_of`
    and the builders of physics models, distinguish the kinds of mechanism.
    """

    name: str
    about: str = ""
    parameters: Mapping[str, float] = field(default_factory=dict)
    poses: Mapping[str, Array] = field(default_factory=dict)  # name -> (n,)
    gravity: Array = _constant(EARTH_GRAVITY)  # (3,) m/s², base frame
    gripper: Gripper | None = None
    tool: Array = _constant(IDENTITY)  # (4, 4) tool in the body that carries it
    findings: tuple[Finding, ...] = ()
    path: Path | None = None
    dh: tuple[Any, ...] = ()  # D-H rows (brazo.model.dh.DHRow) if the file gives them
    tip_choice: TipChoice | None = None  # of imported files; a robot file has one end
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
        """Kind of mechanism: `"tree"` or `"delta"`."""
        raise NotImplementedError

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
        """Joint kind (revolute or prismatic) of each coordinate."""
        raise NotImplementedError

    @property
    def drives(self) -> tuple[Drive, ...]:
        """Drive of each coordinate."""
        raise NotImplementedError

    @property
    def frictions(self) -> tuple[Friction, ...]:
        """Friction of the independent joint of each coordinate; mimic joints are not included."""
        raise NotImplementedError

    @property
    def friction_terms(self) -> tuple[tuple[int, float, Friction], ...]:
        """(coordinate index, multiplier, friction) of every joint, including mimic joints."""
        raise NotImplementedError

    @property
    def closed_loops(self) -> bool:
        """True if bodies form closed kinematic loops, as in a parallel robot."""
        return False

    @property
    def structure(self) -> str:
        """Short description of the joints, such as `R-R-R-P-R`."""
        raise NotImplementedError

    @property
    def lengths(self) -> tuple[Length, ...]:
        """Named lengths that define the geometry of a mechanism without a D-H table."""
        return ()

    @property
    def reach(self) -> float:
        """Upper bound (m) of the distance from the origin of the base frame to the tool.

        The bound is infinite if a prismatic joint between base and tool has no limits.
        """
        raise NotImplementedError

    @property
    def solids(self) -> tuple[tuple[str, Sequence[Part]], ...]:
        """Name and visible parts of each body."""
        raise NotImplementedError

    @property
    def body_joints(self) -> tuple[int | None, ...]:
        """Index in q of the joint that connects each body to its parent; the base is first.

        The index is None for the base. It is also None for the rods and the platform of a Delta,
        which have no driven joint.
        """
        raise NotImplementedError

    @property
    def inertias(self) -> tuple[tuple[str, Inertia | None], ...]:
        """Name and inertia of each moving body; the inertia is None if the file has none."""
        raise NotImplementedError

    @property
    def missing_inertia(self) -> tuple[str, ...]:
        """Names of the moving bodies whose inertia is unknown."""
        return tuple(name for name, inertia in self.inertias if inertia is None)

    def details(self) -> dict[str, Any]:
        """Return geometry and masses as plain data in SI units.

        The keys depend on the kind of mechanism.
        """
        raise NotImplementedError

    def massless(self, coordinate: int) -> list[str]:
        """Return the names of bodies with zero mass and inertia whose joint has this coordinate."""
        return []

    def loaded(self, load: Inertia) -> Model:
        """Return the model with a payload added to the body that carries the tool.

        `load` is the inertia of the payload in the tool frame. A Delta uses only the mass. An error
        is raised if the inertia of the body is unknown.
        """
        raise NotImplementedError

    def without_solids(self) -> Model:
        """Return a copy without visible parts, to send it to another process faster."""
        raise NotImplementedError

    def with_each_drive(self, change: Callable[[Drive], Drive]) -> Model:
        """Return the model with every drive replaced by `change(drive)`."""
        raise NotImplementedError

    @property
    def real_drives(self) -> bool:
        """True if at least one joint uses the actuator of the file instead of an ideal drive."""
        return any(drive.real is not None for drive in self.drives)

    def require_tree(self, reason: str = "this needs a serial or tree robot") -> TreeModel:
        """Return this model if it is a tree; otherwise raise an error that contains `reason`."""
        raise BrazoError(f"robot '{self.name}' is a {self.kind} with closed loops: {reason}")

    def _without_masses(self) -> BrazoError:
        return BrazoError(
            f"robot '{self.name}': a payload has no effect, because the inertia of the link that "
            "carries the tool is unknown; give it in the robot's file"
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class TreeModel(Model):
    """Robot with a base and moving bodies in a tree; a serial arm if the tree does not branch."""

    bodies: tuple[Body, ...]
    tip: int  # index of the body that carries the tool
    # Name -> index of the body, and pose (4, 4) of the frame in the body.
    named_frames: Mapping[str, tuple[int, Array]] = field(default_factory=dict)
    convention: Literal["standard", "modified", "general"] = "general"

    @property
    def kind(self) -> str:
        return "tree"

    @property
    def joints(self) -> tuple[Joint, ...]:
        """Joint of every moving body, in body order."""
        return tuple(body.joint for body in self.bodies if body.joint is not None)

    @property
    def coordinates(self) -> tuple[Joint, ...]:
        """One joint per coordinate, in the order of q.

        Of several joints with the same coordinate, the one with multiplier 1 and offset 0 is
        included; the others mimic it. If there is none, the first of these joints is included.
        """
        chosen: dict[int, Joint] = {}
        for joint in self.joints:
            # Prefer the joint whose value is q over one that mimics it.
            known = chosen.get(joint.coordinate)
            own = (joint.multiplier, joint.offset) == (1.0, 0.0)
            if known is None or (own and (known.multiplier, known.offset) != (1.0, 0.0)):
                chosen[joint.coordinate] = joint
        return tuple(chosen[i] for i in range(len(chosen)))

    @property
    def masters(self) -> tuple[Joint, ...]:
        """For each coordinate, the joint whose value is the coordinate itself.

        Such a joint has multiplier 1 and offset 0. An error is raised if a coordinate has none.
        URDF and MuJoCo require such a joint, because a mimic joint refers to another joint.
        """
        for joint in self.coordinates:
            if (joint.multiplier, joint.offset) != (1.0, 0.0):
                raise BrazoError(
                    f"robot '{self.name}': joint '{joint.name}' has multiplier "
                    f"{joint.multiplier:g} and offset {joint.offset:g}; one of the joints with the "
                    "same coordinate must have multiplier 1 and offset 0"
                )
        return self.coordinates

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, in the order of q."""
        return tuple(joint.name for joint in self.coordinates)

    @property
    def limits(self) -> Array:
        """Joint limits (n, 2) in rad or m; ±infinity if a joint has no limits."""
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
        """True if the bodies form one chain that ends at the tool, without mimic joints."""
        return (
            all(body.parent == i - 1 for i, body in enumerate(self.bodies))
            and self.n == len(self.joints)
            and self.tip == len(self.bodies) - 1
        )

    @property
    def drives(self) -> tuple[Drive, ...]:
        return tuple(joint.drive for joint in self.coordinates)

    @property
    def frictions(self) -> tuple[Friction, ...]:
        return tuple(joint.friction for joint in self.coordinates)

    @property
    def friction_terms(self) -> tuple[tuple[int, float, Friction], ...]:
        return tuple((joint.coordinate, joint.multiplier, joint.friction) for joint in self.joints)

    @property
    def structure(self) -> str:
        letters = "-".join("R" if kind == "revolute" else "P" for kind in self.joint_kinds)
        return letters if self.n <= 8 else f"{self.n} joints"

    @property
    def reach(self) -> float:
        total, i = float(np.linalg.norm(self.tool[:3, 3])), self.tip
        while (joint := self.bodies[i].joint) is not None:
            total += sum(float(np.linalg.norm(T[:3, 3])) for T in (joint.before, joint.after))
            if joint.kind == "prismatic":
                # The limits of a mimic joint are not those of its coordinate.
                ends = self.limits[joint.coordinate] if joint.multiplier else (0.0,)
                total += max(abs(joint.multiplier * float(q) + joint.offset) for q in ends)
            i = self.bodies[i].parent
        return total

    @property
    def body_joints(self) -> tuple[int | None, ...]:
        return tuple(None if b.joint is None else b.joint.coordinate for b in self.bodies)

    @property
    def inertias(self) -> tuple[tuple[str, Inertia | None], ...]:
        return tuple((body.name, body.inertia) for body in self.bodies[1:])

    def details(self) -> dict[str, Any]:
        keys = ("constant_theta", "constant_d", "a", "alpha", "kind")
        return {
            "convention": self.convention,
            "dh": [
                {key.removeprefix("constant_"): getattr(row, key) for key in keys}
                for row in self.dh
            ],
            "inertia": [
                None if I is None else {"mass": I.mass, "com": I.com, "tensor": I.tensor}
                for _, I in self.inertias
            ],
        }

    def massless(self, coordinate: int) -> list[str]:
        return [
            body.name
            for body in self.bodies[1:]
            if body.joint is not None
            and body.joint.coordinate == coordinate
            and body.inertia is not None
            and not body.inertia.mass
            and not body.inertia.tensor.any()
        ]

    def loaded(self, load: Inertia) -> TreeModel:
        from brazo.model.inertia import merge, transformed

        tip = self.bodies[self.tip]
        if tip.inertia is None:
            raise self._without_masses()
        bodies = list(self.bodies)
        held = merge(tip.inertia, transformed(load, self.tool))
        bodies[self.tip] = replace(tip, inertia=held)
        return replace(self, bodies=tuple(bodies))

    def without_solids(self) -> TreeModel:
        return replace(self, bodies=tuple(replace(body, parts=()) for body in self.bodies))

    def with_each_drive(self, change: Callable[[Drive], Drive]) -> TreeModel:
        bodies = []
        for body in self.bodies:
            if body.joint is not None:
                body = replace(body, joint=replace(body.joint, drive=change(body.joint.drive)))
            bodies.append(body)
        return replace(self, bodies=tuple(bodies))

    def require_tree(self, reason: str = "") -> TreeModel:
        return self


@dataclass(frozen=True, eq=False, kw_only=True)
class DeltaModel(Model):
    """Delta robot: driven arms of length L1, parallelogram rods of length L2, level platform.

    The origin is at the centre of the fixed base plate, z is up, and the workspace is below (z <
    0). At q = 0 a driven arm points outward in the plane of the base plate. A positive q raises the
    elbow of the arm.
    """

    R: float  # fixed platform: centre to drive axis
    r: float  # moving platform: centre to rod joints
    L1: float  # drive arm
    L2: float  # rods
    azimuths: tuple[float, float, float]
    joint_names: tuple[str, str, str] = ("arm 1", "arm 2", "arm 3")  # pyright: ignore[reportIncompatibleMethodOverride]
    limits: Array = field(default_factory=lambda: frozen([[-math.inf, math.inf]] * 3))  # (3, 2)  # pyright: ignore[reportIncompatibleMethodOverride]
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
    def drives(self) -> tuple[Drive, ...]:
        return (self.drive,) * 3

    @property
    def frictions(self) -> tuple[Friction, ...]:
        return (self.friction,) * 3

    @property
    def friction_terms(self) -> tuple[tuple[int, float, Friction], ...]:
        return tuple((i, 1.0, self.friction) for i in range(3))

    @property
    def closed_loops(self) -> bool:
        return True

    @property
    def structure(self) -> str:
        return "Delta (3 arms)"

    @property
    def lengths(self) -> tuple[Length, ...]:
        return (
            Length("R", self.R, "base, centre to drive axis"),
            Length("r", self.r, "platform, centre to rods"),
            Length("L1", self.L1, "drive arm"),
            Length("L2", self.L2, "rods"),
        )

    @property
    def reach(self) -> float:
        return self.R + self.L1 + self.L2 + self.r + float(np.linalg.norm(self.tool[:3, 3]))

    @property
    def solids(self) -> tuple[tuple[str, Sequence[Part]], ...]:
        return tuple(self.parts.items())

    @property
    def body_joints(self) -> tuple[int | None, ...]:
        return (None, 0, 1, 2, *([None] * 7))  # base, arms, six rods, platform

    @property
    def inertias(self) -> tuple[tuple[str, Inertia | None], ...]:
        """Name and inertia of one driven arm, of the two rods of one arm, and of the platform.

        The two rods of an arm are modelled together as one thin rod along z, and the platform as a
        point mass. An inertia is None if the file has none.
        """
        across = (self.rod_mass or 0.0) * self.L2**2 / 12.0
        rod = Inertia(
            self.rod_mass or 0.0,
            frozen([0.0, 0.0, self.L2 / 2.0]),
            frozen(np.diag([across, across, 0.0])),
        )
        point = Inertia(self.platform_mass or 0.0, frozen(np.zeros(3)), frozen(np.zeros((3, 3))))
        return (
            ("arm", self.arm_inertia),
            ("rod_mass", None if self.rod_mass is None else rod),
            ("platform_mass", None if self.platform_mass is None else point),
        )

    def details(self) -> dict[str, Any]:
        keys = ("R", "r", "L1", "L2", "azimuths", "rod_mass", "platform_mass")
        arm_mass = None if self.arm_inertia is None else self.arm_inertia.mass
        return {key: getattr(self, key) for key in keys} | {"arm_mass": arm_mass}

    def loaded(self, load: Inertia) -> DeltaModel:
        if self.platform_mass is None:
            raise self._without_masses()
        return replace(self, platform_mass=self.platform_mass + load.mass)

    def without_solids(self) -> DeltaModel:
        return replace(self, parts={})

    def with_each_drive(self, change: Callable[[Drive], Drive]) -> DeltaModel:
        return replace(self, drive=change(self.drive))
