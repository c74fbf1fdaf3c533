"""Serial or tree-structured robot in the MuJoCo model.

The frames of bodies and joints are those of the robot's model, as in `brazo.formats.mjcf.layout`,
so masses, centres of mass and inertia tensors are used unchanged.  An equality constraint couples a
mimic joint to the joint that it follows.
"""

from __future__ import annotations

import numpy as np

from brazo.formats.mjcf.engine import engine
from brazo.formats.mjcf.layout import axis_and_place
from brazo.model.description import Inertia, frozen
from brazo.world.assembly import Assembly, Drawn
from brazo.world.cell import CellRobot, GripperSettings
from brazo.world.gripper import add_gripper, without_fingers
from brazo.world.robot_elements import (
    Member,
    RobotElements,
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
    assembly: Assembly, robot: CellRobot, gripper: GripperSettings, *, coulomb_in_engine: bool
) -> RobotElements:
    """Add a serial or tree-structured robot to a model under construction."""
    model = robot.model.require_tree()
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
            joint_of[id(joint)] = added = add_joint(
                element,
                f"{robot.name}/{joint.name}",
                joint.kind,
                *axis_and_place(joint, joint.after),
                contact=assembly.contact,
                limits=joint.limits,
                drive=joint.drive,
                viscous=joint.friction.viscous,
                coulomb=coulomb_loss(joint.friction, coulomb_in_engine),
            )
            members.append(
                Member(added, joint.coordinate, joint.multiplier, joint.offset, joint.friction)
            )
            if guided:
                added.armature = UNMOVED
            assembly.inertia(element, NO_MASS if guided or body.inertia is None else body.inertia)
        bodies.append(element)
        assembly.solids(element, parts, "robot", robot.name, surface)
        assembly.drawn.append(Drawn(name, "robot", parts, element))
    masters = model.masters
    for joint in model.joints:
        master = masters[joint.coordinate]
        if master is not joint:
            tie = assembly.spec.add_equality(
                name1=joint_of[id(joint)].name,
                name2=joint_of[id(master)].name,
                type=engine().mjtEq.mjEQ_JOINT,
                objtype=engine().mjtObj.mjOBJ_JOINT,
            )
            tie.data = np.array([joint.offset, joint.multiplier, *[0.0] * (len(tie.data) - 2)])
            assembly.tie(tie)
    joints = [joint_of[id(master)] for master in masters]
    drives = [
        add_motor(assembly, element.name, joint.drive.max_torque)
        for element, joint in zip(joints, masters, strict=True)
    ]
    elements = RobotElements(robot, bodies, bodies[model.tip], joints, members, drives)
    if model.gripper is not None:
        parts = tuple(model.bodies[model.tip].parts)
        elements.gripper = add_gripper(
            assembly, elements, model.gripper, robot.source.model.tool, parts, gripper
        )
    return elements
