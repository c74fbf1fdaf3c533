"""Elements of a robot (bodies, joints, drives) in a MuJoCo model under construction.

The elements are objects of the `MjSpec`.  Their ids (attribute `id`) are valid after compilation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from brazo.errors import BrazoError
from brazo.formats.mjcf.engine import engine
from brazo.model.description import Array, Drive, Friction, Model
from brazo.world.assembly import Assembly, Surface, limited
from brazo.world.cell import CellRobot, ContactSettings

ROBOT_SURFACE, FIXTURE_SURFACE, PAD_SURFACE = 0, 1, 2  # priorities: the higher one applies


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A joint `element` of the `MjSpec`; its position is multiplier·q[coordinate] + offset.

    `coordinate` is None for passive joints; their positions follow from loop constraints.
    """

    element: Any
    coordinate: int | None
    multiplier: float = 1.0
    offset: float = 0.0
    friction: Friction = Friction()


@dataclass(slots=True, eq=False)
class GripperElements:
    """Elements of a gripper in the `MjSpec`: finger bodies, slide joints, pads, drive and welds."""

    fingers: tuple[Any, Any]
    slides: tuple[Any, Any]
    pads: tuple[Any, Any]  # geoms
    drive: Any
    welds: list[tuple[Any, str]] = field(default_factory=list)  # equality, name of the free body


@dataclass(slots=True, eq=False)
class RobotElements:
    """Elements of one robot in the `MjSpec`."""

    robot: CellRobot
    bodies: list[Any]  # all bodies, base first
    tip: Any  # the body that carries the tool
    joints: list[Any]  # in the order of q
    members: list[Member]  # all joints, including mimic joints and passive joints of loops
    drives: list[Any]  # in the order of q
    loops: list[Any] = field(default_factory=list)  # equalities that close the kinematic loops
    locks: list[Any] = field(default_factory=list)  # inactive equalities, in the order of q
    gripper: GripperElements | None = None


def add_joint(
    body: Any,
    name: str,
    kind: str,
    axis: Array,
    position: Array,
    *,
    contact: ContactSettings,
    limits: tuple[float, float] | None = None,
    drive: Drive | None = None,
    viscous: float = 0.0,
    coulomb: float = 0.0,
    ref: float = 0.0,
) -> Any:
    """Add a hinge or slide joint to a body and return it.

    Axis and position are in the frame of the body.
    """
    kinds = engine().mjtJoint
    joint = body.add_joint(
        name=name,
        type=kinds.mjJNT_HINGE if kind == "revolute" else kinds.mjJNT_SLIDE,
        axis=axis,
        pos=position,
        ref=ref,
    )
    joint.solref_limit, joint.solimp_limit = contact.solref, contact.solimp
    joint.solref_friction, joint.solimp_friction = contact.solref, contact.solimp
    limited(joint, limits or (-float("inf"), float("inf")))
    if drive is not None:
        joint.armature = drive.armature
    joint.damping = [viscous, 0.0, 0.0]
    joint.frictionloss = coulomb
    return joint


def add_motor(assembly: Assembly, joint: str, max_force: float) -> Any:
    """Add an actuator to the joint with this name; its command is limited to ±`max_force`.

    `max_force` is in N m for revolute and N for prismatic joints.
    """
    motor = assembly.spec.add_actuator(name=joint, target=joint)
    motor.trntype = engine().mjtTrn.mjTRN_JOINT
    motor.set_to_motor()
    if max_force < float("inf"):
        motor.ctrllimited = 1
        motor.ctrlrange = [-max_force, max_force]
    return motor


def link_surface(contact: ContactSettings) -> Surface:
    return Surface(contact.link_friction, ROBOT_SURFACE, 3, contact.warning)


def require_dynamics(model: Model) -> None:
    """Raise `BrazoError` if the inertia of a link is not known."""
    if missing := model.missing_inertia:
        raise BrazoError(
            f"robot '{model.name}' cannot be simulated: no inertia is known for "
            f"{', '.join(missing)}; give the masses in the robot file"
        )


def coulomb_loss(friction: Friction, in_engine: bool) -> float:
    """Return the MuJoCo parameter `frictionloss` of a joint.

    This is the mean of the dry friction torques (N m or N) of both directions.  It is 0 if dry
    friction is applied as torques instead (see `brazo.world.friction`).
    """
    if not in_engine or friction.smooth:
        return 0.0
    return sum(friction.coulomb) / 2.0
