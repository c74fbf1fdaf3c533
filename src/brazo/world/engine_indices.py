"""`EngineIndices`: indices of a robot's joints, drives and bodies in the engine's arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.model.description import Array
from brazo.world.gripper import WorldGripper
from brazo.world.robot_elements import RobotElements

if TYPE_CHECKING:
    from brazo.world.world import World


class EngineIndices:
    """Indices of one robot's joints, drives and bodies in the arrays of `MjModel` and `MjData`."""

    def __init__(self, world: World, elements: RobotElements, gripper: WorldGripper | None) -> None:
        self._model, self._elements = world.mj_model, elements
        self.joint_q, self.joint_v = self._addresses(elements.joints)  # (n,) in qpos and in qvel
        self.drives = np.array([int(drive.id) for drive in elements.drives], int)  # (n,) actuators
        # All joints, including mimic joints and passive joints of loops.
        self.member_q, self.member_v = self._addresses([one.element for one in elements.members])
        bodies = [int(body.id) for body in elements.bodies]
        fingers = () if gripper is None else gripper.finger_ids
        self.bodies = np.array([*dict.fromkeys(bodies), *fingers], int)  # base first
        grasps = list(world.compiled.grasps)
        name = elements.robot.name
        self.gripper_row = grasps.index(name) if name in grasps else -1  # in `Observer.grips`

    def _addresses(self, joints: list[Any]) -> tuple[Array, Array]:
        found = [self._model.joint(joint.name) for joint in joints]
        q = np.array([int(joint.qposadr[0]) for joint in found], int)
        return q, np.array([int(joint.dofadr[0]) for joint in found], int)

    def members(self) -> tuple[Array, Array]:
        """Return the indices in `qvel` of all joints of the robot, and their armatures.

        Mimic joints and passive joints of loops are included.  Armatures are in kg m² for revolute
        and kg for prismatic joints.
        """
        return self.member_v, np.array(self._model.dof_armature[self.member_v])

    def shares(self) -> tuple[Array, Array]:
        """Return two arrays with which wrenches on the bodies are converted to joint torques.

        Entry (i, b) of the first array (members, bodies) is 1 if joint i of `members` moves body b,
        else 0.  Entry (i, k) of the second array (members, n) is the derivative of the position of
        joint i with respect to q[k].  For a robot with loops, these derivatives depend on the pose;
        all entries of the second array are then 0.
        """
        members = self._elements.members
        carried = np.zeros((len(members), len(self.bodies)))
        rates = np.zeros((len(members), len(self.joint_q)))
        for row, member in enumerate(members):
            carrier = int(self._model.dof_bodyid[self.member_v[row]])
            carried[row] = [self._carries(carrier, body) for body in self.bodies.tolist()]
            if member.coordinate is not None and not self._elements.loops:
                rates[row, member.coordinate] = member.multiplier
        return carried, rates

    def _carries(self, carrier: int, body: int) -> bool:
        """Return whether the body with the id `body` is `carrier` or one of its descendants."""
        while body > carrier:
            body = int(self._model.body_parentid[body])
        return body == carrier
