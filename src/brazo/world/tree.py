"""Serial or branching robot in the physical model, each body in the frame of the model.

With after = [R t], body i is placed in its parent at  before · after  (q = 0), and its joint at −Rᵀ
t  with the axis  Rᵀ a.  The positions and orientations that the engine computes are then the frames
of the model, and masses, centres of mass and tensors are used unchanged.  A mimic joint is coupled
to its master by an equality.
"""

from __future__ import annotations

import numpy as np

from brazo.errors import BrazoError
from brazo.formats.mjcf.engine import engine
from brazo.model.description import Inertia, TreeModel, frozen
from brazo.world.assembly import Assembly, Drawn
from brazo.world.cell import CellRobot, ClampSettings
from brazo.world.clamp import add_clamp, without_fingers
from brazo.world.plan import (
    Member,
    RobotPlan,
    add_joint,
    add_motor,
    coulomb_loss,
    link_surface,
)

# A robot without known masses is *guided*: it takes the positions it is given, unaffected by
# forces.  Its bodies have no mass, and its joints have more inertia than any contact could move.
NO_MASS = Inertia(0.0, frozen(np.zeros(3)), frozen(np.zeros((3, 3))))
UNMOVED = 1e7  # kg m², kg


def add_tree(
    assembly: Assembly, robot: CellRobot, clamp: ClampSettings, *, coulomb_in_engine: bool
) -> RobotPlan:
    """Add a tree robot to the model."""
    model = robot.model
    assert isinstance(model, TreeModel)
    guided = bool(model.missing_inertia)
    bodies, members, joint_of = [], [], {}
    surface = link_surface(assembly.contact)
    for i, body in enumerate(model.bodies):
        name = f"{robot.name}/{body.name}"
        parts = without_fingers(model, i)
        if body.joint is None:
            element = assembly.body(assembly.world, name, robot.base)
        else:
            joint = body.joint
            T = joint.before @ joint.after
            element = assembly.body(bodies[body.parent], name, T)
            R, t = joint.after[:3, :3], joint.after[:3, 3]
            joint_of[i] = add_joint(
                element,
                f"{robot.name}/{joint.name}",
                joint.kind,
                R.T @ joint.axis,
                -R.T @ t,
                contact=assembly.contact,
                limits=joint.limits,
                drive=joint.drive,
                viscous=joint.friction.viscous,
                coulomb=coulomb_loss(joint.friction, coulomb_in_engine),
            )
            members.append(
                Member(
                    joint_of[i], joint.coordinate, joint.multiplier, joint.offset, joint.friction
                )
            )
            if guided:
                joint_of[i].armature = UNMOVED
            assembly.inertia(element, NO_MASS if guided or body.inertia is None else body.inertia)
        bodies.append(element)
        assembly.solids(element, parts, "robot", robot.name, surface)
        assembly.drawn.append(Drawn(name, "robot", parts, element))
    masters = _masters(model)
    for i, element in joint_of.items():
        joint = model.bodies[i].joint
        assert joint is not None
        master = masters[joint.coordinate]
        if master != i:
            tie = assembly.spec.add_equality(
                name1=element.name,
                name2=joint_of[master].name,
                type=engine().mjtEq.mjEQ_JOINT,
                objtype=engine().mjtObj.mjOBJ_JOINT,
            )
            tie.data = np.array([joint.offset, joint.multiplier, *[0.0] * (len(tie.data) - 2)])
            assembly.tie(tie)
    joints = [joint_of[masters[k]] for k in range(model.n)]
    drives = [
        add_motor(assembly, element.name, joint.drive.max_torque)
        for element, joint in zip(joints, model.coordinates, strict=True)
    ]
    plan = RobotPlan(robot, bodies, bodies[model.tip], joints, members, drives)
    if model.gripper is not None:
        parts = tuple(model.bodies[model.tip].parts)
        plan.clamp = add_clamp(assembly, plan, model.gripper, model.tool, parts, clamp)
    return plan


def _masters(model: TreeModel) -> dict[int, int]:
    """Return for each coordinate the body whose joint value equals that coordinate."""
    masters: dict[int, int] = {}
    for i, body in enumerate(model.bodies):
        joint = body.joint
        if joint is not None and (joint.multiplier, joint.offset) == (1.0, 0.0):
            masters.setdefault(joint.coordinate, i)
    for k in range(model.n):
        if k not in masters:
            names = [j.name for j in model.joints if j.coordinate == k]
            raise BrazoError(
                f"robot '{model.name}': no joint has the value of coordinate {k + 1} itself "
                f"({', '.join(names)}); give one of them multiplier 1 and offset 0"
            )
    return masters
