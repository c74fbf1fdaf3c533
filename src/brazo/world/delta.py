"""Delta robot in the physical model: three arms, three rods and a translating platform.

MuJoCo models are trees, so the robot is cut at the platform and closed by constraints:

    base ─ arm k (hinge θ_k) ─ rod k (universal joint at the elbow)  ┄ connect ┄  platform
    base ─ platform (slides x, y, z: it stays level by construction)

One central rod represents the two rods of a parallelogram: their ends move alike, so a rod with the
mass of both, distributed evenly along a line, has exactly their energy.  The two rods are drawn,
and collide, on either side of it.  The constraints are as stiff as the step allows: their time
constant is 2 dt.

Bodies are placed in the assembled configuration, all θ = θ₀; `ref` makes the engine's coordinates
equal to the true joint angles and platform position.
"""

from __future__ import annotations

import math

import numpy as np

from brazo.errors import BrazoError
from brazo.formats.mjcf.delta import assembled
from brazo.formats.mjcf.engine import engine
from brazo.formats.mjcf.quaternion import quat_of
from brazo.model.description import Array, DeltaModel, Inertia, frozen
from brazo.model.transforms import rot_y, rot_z, translate
from brazo.world.assembly import Assembly, Drawn
from brazo.world.cell import CellRobot, ClampSettings
from brazo.world.clamp import add_clamp
from brazo.world.plan import (
    Member,
    RobotPlan,
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
    clamp: ClampSettings,
    step: float,
    *,
    coulomb_in_engine: bool,
) -> RobotPlan:
    """Add a Delta robot to the model."""
    model = robot.model
    assert isinstance(model, DeltaModel)
    require_dynamics(model)
    name, contact, surface = robot.name, assembly.contact, link_surface(assembly.contact)
    theta0, z0 = assembled(model)
    base = assembly.body(assembly.world, f"{name}/base", robot.base)
    platform = assembly.body(base, f"{name}/platform", translate(z=z0))
    assembly.inertia(platform, _platform(model))
    members = [
        Member(
            add_joint(
                platform, f"{name}/platform {axis}", "prismatic", way, _ORIGIN, contact=contact,
                ref=ref,
            ),
            None,
        )
        for axis, way, ref in zip("xyz", np.eye(3), (0.0, 0.0, z0), strict=True)
    ]  # fmt: skip
    bodies, joints, drives, rods = [base, platform], [], [], []
    plan = RobotPlan(robot, bodies, platform, joints, members, drives)
    # The rod points inward and down from the elbow: `lean` rotates z about y to this direction.
    inward = model.r - model.R - model.L1 * math.cos(theta0)
    lean = math.atan2(inward, z0 - model.L1 * math.sin(theta0))
    arms = []
    for k in range(3):
        side = rot_z(model.azimuths[k])
        # theta > 0 raises the elbow, which is a rotation about -y.
        shoulder = side @ translate(x=model.R) @ rot_y(-theta0)
        arm = assembly.body(base, f"{name}/arm {k + 1}", shoulder)
        assert model.arm_inertia is not None
        assembly.inertia(arm, model.arm_inertia)
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
        place = translate(x=model.L1) @ rot_y(theta0 + lean)
        rod = assembly.body(arm, f"{name}/rod {k + 1}", place)
        assembly.inertia(rod, _rod(model))
        for word, axis in (("swing", _Y), ("sway", _X)):
            hinge = add_joint(
                rod, f"{name}/rod {k + 1} {word}", "revolute", axis, _ORIGIN, contact=contact
            )
            members.append(Member(hinge, None))
        plan.loops.append(_connect(assembly, plan, rod, side, k, step))
        arms.append(arm)
        rods.append(rod)
        bodies += [arm, rod]
    _look(assembly, plan, model, arms, rods)
    assembly.solids(base, model.parts.get("base", ()), "robot", name, surface)
    assembly.solids(platform, model.parts.get("platform", ()), "robot", name, surface)
    for k in range(3):
        assembly.solids(arms[k], model.parts.get(f"arm {k + 1}", ()), "robot", name, surface)
    if model.gripper is not None:
        plan.clamp = add_clamp(assembly, plan, model.gripper, model.tool, (), clamp)
    return plan


def closed_pose(model: DeltaModel, theta: Array) -> Array:
    """Return platform xyz and the swing and sway of each rod (9,) at the arm angles (3,).

    The platform centre is at the distance L2 from the three elbows shifted inward by the platform
    radius r: it lies on the line through their circumcentre normal to their plane.  Of the two
    solutions the lower one is returned.
    """
    theta0, z0 = assembled(model)
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
        raise BrazoError(f"robot '{model.name}': the rods do not meet at {shown} degrees")
    away = normal * math.sqrt(height2 / (normal @ normal))
    P = first + to_centre - math.copysign(1.0, away[2]) * away
    inward = model.r - model.R - model.L1 * math.cos(theta0)
    lean = math.atan2(inward, z0 - model.L1 * math.sin(theta0))
    angles = []
    for side, centre, t in zip(sides, (first, second, third), theta, strict=True):
        # Direction of the rod in the frame that its joints rotate: about y first, then about x.
        turned = side @ rot_y(theta0 + lean - t)[:3, :3]
        x, y, z = turned.T @ (P - centre) / model.L2
        angles += [math.atan2(x, z), -math.asin(min(max(y, -1.0), 1.0))]
    return np.array([*P, *angles])


def _connect(assembly: Assembly, plan: RobotPlan, rod, side: Array, k: int, step: float):
    """Connect the end of a rod to the platform."""
    model, name = plan.robot.model, plan.robot.name
    assert isinstance(model, DeltaModel)
    end = rod.add_site(name=f"{name}/rod {k + 1} end", pos=[0, 0, model.L2])
    socket = side @ translate(x=model.r)
    held = plan.tip.add_site(
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


def _look(assembly: Assembly, plan: RobotPlan, model: DeltaModel, arms, rods) -> None:
    """Add the drawn bodies, in the order of the model's bodies, and the rods' geoms."""
    name = plan.robot.name
    surface = link_surface(assembly.contact)

    def draw(label: str, body, shift=None) -> None:
        parts = tuple(model.parts.get(label, ()))
        assembly.drawn.append(Drawn(f"{name}/{label}", "robot", parts, body, shift=shift))

    draw("base", plan.bodies[0])
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
    draw("platform", plan.tip)


def _rod(model: DeltaModel) -> Inertia:
    assert model.rod_mass is not None
    across = model.rod_mass * model.L2**2 / 12.0
    tensor = np.diag([across, across, 0.0])
    return Inertia(model.rod_mass, frozen([0.0, 0.0, model.L2 / 2.0]), frozen(tensor))


def _platform(model: DeltaModel) -> Inertia:
    """Return the inertia of the platform; it never rotates, so its tensor has no effect."""
    assert model.platform_mass is not None
    return Inertia(model.platform_mass, frozen(_ORIGIN), frozen(np.zeros((3, 3))))
