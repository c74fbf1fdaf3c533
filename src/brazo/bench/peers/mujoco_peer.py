"""MuJoCo as a peer, without contacts and limits.

For each operation, the shortest sequence of MuJoCo functions is called.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brazo.bench.arms import States
from brazo.bench.peers import Peer, TimedCall, optional
from brazo.formats.mjcf.compile import mujoco_model
from brazo.robot import Robot


class MuJoCo(Peer):
    name = "MuJoCo"

    def __init__(self, arm: Robot) -> None:
        tree = arm.model.require_tree()
        self.mujoco: Any = optional("mujoco")
        self.model = bare_model(arm)
        self.data = self.mujoco.MjData(self.model)
        self.tip = tree.tip + (0 if tree.bodies[0].name == "world" else 1)
        self.tool = np.array(arm.model.tool)

    def single(self, arm: Robot, at: States) -> dict[str, TimedCall]:
        mj, m, d, tip = self.mujoco, self.model, self.data, self.tip
        q, qd, qdd, tau = (x[0].copy() for x in (at.q, at.qd, at.qdd, at.tau))
        point, J, M, force = arm.fk(q)[:3, 3], np.empty((6, m.nv)), np.empty((m.nv, m.nv)), q.copy()

        def place() -> None:
            d.qpos[:] = q
            mj.mj_kinematics(m, d)

        def pose() -> np.ndarray:
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = d.xmat[tip].reshape(3, 3), d.xpos[tip]
            return T @ self.tool

        def jacobian() -> None:
            place()
            mj.mj_comPos(m, d)
            mj.mj_jac(m, d, J[:3], J[3:], point, tip)

        def mass_matrix() -> None:
            place()
            mj.mj_comPos(m, d)
            mj.mj_crb(m, d)
            mj.mj_fullM(m, d, M)

        def inverse() -> None:
            d.qvel[:] = qd
            d.qacc[:] = qdd
            place()
            mj.mj_comPos(m, d)
            mj.mj_comVel(m, d)
            mj.mj_rne(m, d, 1, force)

        def forward() -> None:
            d.qpos[:] = q
            d.qvel[:] = qd
            d.qfrc_applied[:] = tau
            mj.mj_forward(m, d)

        return {
            "inverse_dynamics": _written(inverse, lambda: force),
            "fk": _written(place, pose),
            "jacobian": _written(jacobian, lambda: J),
            "mass_matrix": _written(mass_matrix, lambda: M),
            "forward_dynamics": _written(forward, lambda: d.qacc),
        }


def bare_model(arm: Robot) -> Any:
    """Return the MuJoCo model of an arm.

    It has no friction, damping, contacts or limits.  The integrator is Runge–Kutta (RK4) with steps
    of 1 ms.
    """
    mj: Any = optional("mujoco")
    model = mujoco_model(arm.model.require_tree())
    model.dof_damping[:] = 0.0
    model.dof_frictionloss[:] = 0.0
    for flag in ("CONSTRAINT", "CONTACT", "LIMIT", "SENSOR", "ISLAND"):
        model.opt.disableflags |= int(getattr(mj.mjtDisableBit, f"mjDSBL_{flag}", 0))
    model.opt.integrator = mj.mjtIntegrator.mjINT_RK4
    model.opt.timestep = 1e-3
    return model


def _written(call: Any, answer: Any) -> TimedCall:
    """Return a timed call for a function `call` that writes its result into an array.

    `answer` returns this array, without calling `call`.
    """

    def numbers() -> np.ndarray:
        call()
        return np.array(answer())

    return TimedCall(call, numbers)
