"""Two other engines, built straight from a `TreeModel`, to hold brazo's numbers against.

`pinocchio(model)` and `mujoco(model)` give the same questions to each:

    frames(q)       (bodies, 4, 4), base first       tool(q)        (4, 4)
    jacobian(q)     (6, n), linear then angular, at the tool point in base axes
    mass_matrix(q)  (n, n), armature included        inverse_dynamics(q, qd, qdd)  (n,), no friction

Neither uses brazo's kinematics.  Joints that mimic are joints of their own to both engines:
q_joints = S q + o, hence J = J_joints S, M = Sᵀ M_joints S, tau = Sᵀ tau_joints.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from brazo.formats.mjcf.compile import mujoco_model
from brazo.model.description import TreeModel


class _Oracle:
    """The coupling of mimics, which both engines need."""

    def __init__(self, model: TreeModel, columns: list[int]) -> None:
        self.model = model
        self.S = np.zeros((len(columns), model.n))
        self.offsets = np.zeros(len(columns))
        for joint, column in zip(model.joints, columns, strict=True):
            self.S[column, joint.coordinate] = joint.multiplier
            self.offsets[column] = joint.offset

    def frames(self, q: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def tool(self, q: np.ndarray) -> np.ndarray:
        return self.frames(q)[self.model.tip] @ self.model.tool


class Pinocchio(_Oracle):
    def __init__(self, model: TreeModel) -> None:
        pin: Any = import_module("pinocchio")
        self.pin = pin
        self.robot = pin.Model()
        self.robot.gravity.linear = np.array(model.gravity)
        self.ids = [0]
        after = [np.eye(4)]
        for body in model.bodies[1:]:
            joint = body.joint
            assert joint is not None
            make = {
                "revolute": pin.JointModelRevoluteUnaligned,
                "prismatic": pin.JointModelPrismaticUnaligned,
            }[joint.kind]
            place = self._se3(after[body.parent] @ joint.before)
            index = self.robot.addJoint(self.ids[body.parent], make(*joint.axis), place, joint.name)
            if body.inertia is not None:
                inertia = pin.Inertia(body.inertia.mass, body.inertia.com, body.inertia.tensor)
                self.robot.appendBodyToJoint(index, inertia, self._se3(joint.after))
            self.ids.append(index)
            after.append(np.array(joint.after))
        self.after = after
        columns = [self.robot.joints[i].idx_v for i in self.ids[1:]]
        super().__init__(model, columns)
        armature = np.zeros(self.robot.nv)
        for joint, column in zip(model.joints, columns, strict=True):
            armature[column] = joint.drive.armature
        self.robot.armature = armature
        self.data = self.robot.createData()

    def frames(self, q: np.ndarray) -> np.ndarray:
        self.pin.forwardKinematics(self.robot, self.data, self.S @ q + self.offsets)
        moved = [self.data.oMi[i].homogeneous for i in self.ids]
        return np.array([T @ after for T, after in zip(moved, self.after, strict=True)])

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        model, pin = self.model, self.pin
        joints = self.S @ q + self.offsets
        pin.computeJointJacobians(self.robot, self.data, joints)
        if model.tip == 0:
            return np.zeros((6, model.n))
        frame = pin.LOCAL_WORLD_ALIGNED
        J = pin.getJointJacobian(self.robot, self.data, self.ids[model.tip], frame)
        arm = self.tool(q)[:3, 3] - self.data.oMi[self.ids[model.tip]].translation
        return np.vstack([J[:3] - np.cross(arm, J[3:], axisb=0, axisc=0), J[3:]]) @ self.S

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        M = self.pin.crba(self.robot, self.data, self.S @ q + self.offsets)
        M = np.triu(M) + np.triu(M, 1).T
        return self.S.T @ M @ self.S

    def inverse_dynamics(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        joints = self.S @ q + self.offsets
        tau = self.pin.rnea(self.robot, self.data, joints, self.S @ qd, self.S @ qdd)
        return self.S.T @ tau

    def _se3(self, T: np.ndarray) -> Any:
        return self.pin.SE3(np.array(T[:3, :3]), np.array(T[:3, 3]))


class MuJoCo(_Oracle):
    def __init__(self, model: TreeModel) -> None:
        mj: Any = import_module("mujoco")
        self.mj = mj
        self.robot = mujoco_model(model, kinematic=True)
        # Friction is excluded, and equality constraints would act on mimic joints.
        self.robot.dof_damping[:] = 0.0
        self.robot.dof_frictionloss[:] = 0.0
        self.robot.opt.disableflags |= int(mj.mjtDisableBit.mjDSBL_CONSTRAINT)
        self.data = mj.MjData(self.robot)
        self.first = 0 if model.bodies[0].name == "world" else 1
        super().__init__(model, [self.robot.joint(joint.name).dofadr[0] for joint in model.joints])

    def frames(self, q: np.ndarray) -> np.ndarray:
        self._place(q)
        T = np.tile(np.eye(4), (len(self.model.bodies), 1, 1))
        T[:, :3, :3] = self.data.xmat[self.first :].reshape(-1, 3, 3)
        T[:, :3, 3] = self.data.xpos[self.first :]
        return T

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        point = self.tool(q)[:3, 3]
        self.mj.mj_comPos(self.robot, self.data)
        J = np.zeros((6, self.robot.nv))
        tip = self.model.tip + self.first
        self.mj.mj_jac(self.robot, self.data, J[:3], J[3:], point, tip)
        return J @ self.S

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        self._place(q)
        self.mj.mj_comPos(self.robot, self.data)
        self.mj.mj_crb(self.robot, self.data)
        M = np.zeros((self.robot.nv, self.robot.nv))
        self.mj.mj_fullM(self.robot, self.data, M)
        return self.S.T @ M @ self.S

    def inverse_dynamics(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        self.data.qpos[:] = self.S @ q + self.offsets
        self.data.qvel[:] = self.S @ qd
        self.data.qacc[:] = self.S @ qdd
        self.mj.mj_inverse(self.robot, self.data)
        return self.S.T @ self.data.qfrc_inverse

    def _place(self, q: np.ndarray) -> None:
        self.data.qpos[:] = self.S @ q + self.offsets
        self.mj.mj_kinematics(self.robot, self.data)


@lru_cache(maxsize=32)
def pinocchio(model: TreeModel) -> Pinocchio:
    return Pinocchio(model)


@lru_cache(maxsize=32)
def mujoco(model: TreeModel) -> MuJoCo:
    return MuJoCo(model)


def pin_frames(model: TreeModel, q: np.ndarray) -> np.ndarray:
    return pinocchio(model).frames(q)


def pin_jacobian(model: TreeModel, q: np.ndarray) -> np.ndarray:
    return pinocchio(model).jacobian(q)


def mj_frames(model: TreeModel, q: np.ndarray) -> np.ndarray:
    return mujoco(model).frames(q)


def mj_jacobian(model: TreeModel, q: np.ndarray) -> np.ndarray:
    return mujoco(model).jacobian(q)
