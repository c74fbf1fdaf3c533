"""Delta robot in the MuJoCo model: three arms, three rods and a translating platform.

MuJoCo models are trees.  The kinematic loops are cut at the platform and closed by constraints:

    base ─ arm k (hinge θ_k) ─ rod k (universal joint at the elbow)  ┄ connect ┄  platform
    base ─ platform (slides x, y, z: it stays level by construction)

Each parallelogram has two rods that move in parallel.  The model has one central rod with the mass
of both, which has exactly the same energy.  Drawing and collision geometry use the two rods on
either side of the central rod.  The constraints are as stiff as the time step dt allows: their time
constant is 2 dt.

The model is built in the configuration with all θ = θ₀.  The joint parameter `ref` makes the
engine's coordinates equal to the true joint angles and platform position.
"""

from __future__ import annotations

import math

import numpy as np

from brazo.errors import BrazoError
from brazo.formats.mjcf.delta import DeltaLayout
from brazo.formats.mjcf.engine import engine
from brazo.formats.mjcf.quaternion import quat_of
from brazo.model.description import Array, DeltaModel, Model, frozen
from brazo.model.transforms import rot_y, rot_z, translate
from brazo.world.assembly import Assembly, Drawn
from brazo.world.cell import CellRobot, GripperSettings
from brazo.world.gripper import add_gripper
from brazo.world.robot_elements import (
    Member,
    RobotElements,
    add_joint,
    add_motor,
    coulomb_loss,
    link_surface,
    require_dynamics,
)

_ORIGIN = np.zeros(3)
_X, _Y, _Z = np.eye(3)
_RODS = (("a", 1.0), ("b", -1.0))


def add_delta(
    assembly: Assembly,
    robot: CellRobot,
    gripper: GripperSettings,
    step: float,
    *,
    coulomb_in_engine: bool,
) -> RobotElements:
    """Add a Delta robot to a MuJoCo model under construction."""
    model = _delta(robot.model)
    require_dynamics(model)
    arm_inertia, rod_inertia, platform_inertia = (I for _, I in model.inertias if I)
    name, contact, surface = robot.name, assembly.contact, link_surface(assembly.contact)
    layout = DeltaLayout(model)
    theta0, z0 = layout.theta0, layout.z0
    base = assembly.body(assembly.world, f"{name}/base", robot.base)
    platform = assembly.body(base, f"{name}/platform", translate(z=z0))
    assembly.inertia(platform, platform_inertia)
    members = [
        Member(
            add_joint(
                platform, f"{name}/platform {axis}", "prismatic", direction, _ORIGIN,
                contact=contact, ref=ref,
            ),
            None,
        )
        for axis, direction, ref in zip("xyz", np.eye(3), (0.0, 0.0, z0), strict=True)
    ]  # fmt: skip
    bodies, joints, drives, rods = [base, platform], [], [], []
    elements = RobotElements(robot, bodies, platform, joints, members, drives)
    arms = []
    for k in range(3):
        arm = assembly.body(base, f"{name}/arm {k + 1}", layout.arm(k))
        assembly.inertia(arm, arm_inertia)
        hinge = add_joint(
            arm,
            f"{name}/{model.joint_names[k]}",
            "revolute",
            -_Y,
            _ORIGIN,
            contact=contact,
            limits=(float(model.limits[k, 0]), float(model.limits[k, 1])),
            drive=model.drive,
            viscous=model.friction.viscous,
            coulomb=coulomb_loss(model.friction, coulomb_in_engine),
            ref=theta0,
        )
        joints.append(hinge)
        members.append(Member(hinge, k, friction=model.friction))
        drives.append(add_motor(assembly, hinge.name, model.drive.max_torque))
        rod = assembly.body(arm, f"{name}/rod {k + 1}", layout.rod())
        assembly.inertia(rod, rod_inertia)
        for word, axis in (("swing", _Y), ("sway", _X)):
            hinge = add_joint(
                rod, f"{name}/rod {k + 1} {word}", "revolute", axis, _ORIGIN, contact=contact
            )
            members.append(Member(hinge, None))
        elements.loops.append(_connect(assembly, elements, rod, layout.socket(k), k, step))
        arms.append(arm)
        rods.append(rod)
        bodies += [arm, rod]
    _look(assembly, elements, model, arms, rods)
    assembly.solids(base, model.parts.get("base", ()), "robot", name, surface)
    assembly.solids(platform, model.parts.get("platform", ()), "robot", name, surface)
    for k in range(3):
        assembly.solids(arms[k], model.parts.get(f"arm {k + 1}", ()), "robot", name, surface)
    if model.gripper is not None:
        elements.gripper = add_gripper(assembly, elements, model.gripper, model.tool, (), gripper)
    return elements


def closed_pose(model: Model, theta: Array) -> Array:
    """Return the positions of the passive joints (9,) at the arm angles `theta` (3,), rad.

    These are x, y and z of the platform (m) and, for each rod, the two angles (rad) of its
    universal joint.  Each elbow is shifted inwards by the platform radius r.  The platform centre
    then has the distance L2 from all three shifted elbows, so it lies on the normal of their plane
    through their circumcentre.  Of the two solutions, the lower one is returned.  Raises
    `BrazoError` if there is none.
    """
    model = _delta(model)
    layout = DeltaLayout(model)
    sides = [rot_z(azimuth)[:3, :3] for azimuth in model.azimuths]
    reach = model.R - model.r + model.L1 * np.cos(theta)
    first, second, third = (
        side @ (x, 0.0, model.L1 * math.sin(t))
        for side, x, t in zip(sides, reach, theta, strict=True)
    )
    a, b = second - first, third - first
    normal = np.cross(a, b)
    to_centre = (a @ a * np.cross(b, normal) + b @ b * np.cross(normal, a)) / (2 * normal @ normal)
    height2 = model.L2**2 - to_centre @ to_centre
    if not height2 >= 0.0:
        shown = ", ".join(f"{math.degrees(t):.1f}" for t in theta)
        raise BrazoError(
            f"robot '{model.name}': the rods do not meet at arm angles of {shown} degrees; "
            "choose other angles"
        )
    away = normal * math.sqrt(height2 / (normal @ normal))
    P = first + to_centre - math.copysign(1.0, away[2]) * away
    angles = []
    for side, centre, t in zip(sides, (first, second, third), theta, strict=True):
        # Direction of the rod in the frame that its joints rotate: about y first, then about x.
        turned = side @ rot_y(layout.theta0 + layout.lean - t)[:3, :3]
        x, y, z = turned.T @ (P - centre) / model.L2
        angles += [math.atan2(x, z), -math.asin(min(max(y, -1.0), 1.0))]
    return np.array([*P, *angles])


def _connect(assembly: Assembly, elements: RobotElements, rod, socket: Array, k: int, step: float):
    """Add the constraint that connects the end of rod `k` to the platform; return it.

    `socket` (4, 4) is the pose of the connection in the platform frame, and `step` is the time
    step (s).
    """
    model, name = _delta(elements.robot.model), elements.robot.name
    end = rod.add_site(name=f"{name}/rod {k + 1} end", pos=[0, 0, model.L2])
    held = elements.tip.add_site(
        name=f"{name}/socket {k + 1}", pos=socket[:3, 3], quat=quat_of(socket[:3, :3])
    )
    equality = assembly.spec.add_equality(
        name=f"{name}/loop {k + 1}",
        name1=end.name,
        name2=held.name,
        type=engine().mjtEq.mjEQ_CONNECT,
        objtype=engine().mjtObj.mjOBJ_SITE,
    )
    return assembly.tie(equality, 2.0 * step)


def _look(assembly: Assembly, elements: RobotElements, model: DeltaModel, arms, rods) -> None:
    """Add all bodies to draw, in the order of the robot's model, and the rods' collision geoms."""
    name = elements.robot.name
    surface = link_surface(assembly.contact)

    def draw(label: str, body, shift=None) -> None:
        parts = tuple(model.parts.get(label, ()))
        assembly.drawn.append(Drawn(f"{name}/{label}", "robot", parts, body, shift=shift))

    draw("base", elements.bodies[0])
    for k, arm in enumerate(arms, 1):
        draw(f"arm {k}", arm)
    half = model.rod_spacing / 2
    for k, rod in enumerate(rods, 1):
        for which, sign in _RODS:
            label = f"rod {k}{which}"
            draw(label, rod, (arms[k - 1], sign * half))
            beside = translate(y=sign * half)
            parts = [
                type(part)(f"{label} {part.name}", part.shape, frozen(beside @ part.pose))
                for part in model.parts.get(label, ())
                if part.collides
            ]
            assembly.solids(rod, parts, "robot", name, surface)
    draw("platform", elements.tip)


def _delta(model: Model) -> DeltaModel:
    """Return `model` unchanged; the assertion narrows its type for the type checker."""
    assert isinstance(model, DeltaModel)
    return model
