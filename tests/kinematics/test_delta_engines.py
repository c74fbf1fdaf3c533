"""The Delta's closed form against two engines that support only open chains.

Each engine carries three arms with a rod on a universal joint and a platform on three slides; the
loops are closed here by Newton's method on the distances between rod ends and platform corners, to
rounding.  The engines' own kinematics and Jacobians do all the geometry.
"""

import math

import mujoco
import numpy as np
import pinocchio as pin  # pyright: ignore[reportMissingImports]
import pytest

import brazo


class MujocoDelta:
    def __init__(self, model) -> None:
        bodies = ""
        for i, phi in enumerate(model.azimuths):
            x, y = model.R * math.cos(phi), model.R * math.sin(phi)
            bodies += f"""
            <body pos="{x!r} {y!r} 0" axisangle="0 0 1 {phi!r}">
              <joint name="arm{i}" type="hinge" axis="0 -1 0"/><geom size=".01"/>
              <body pos="{model.L1!r} 0 0">
                <joint name="rodu{i}" type="hinge" axis="0 1 0"/>
                <joint name="rodv{i}" type="hinge" axis="0 0 1"/><geom size=".01"/>
                <site name="end{i}" pos="{model.L2!r} 0 0"/>
              </body>
            </body>"""
        corners = "".join(
            f'<site name="corner{i}" pos="{model.r * math.cos(p)!r} {model.r * math.sin(p)!r} 0"/>'
            for i, p in enumerate(model.azimuths)
        )
        slides = "".join(
            f'<joint name="slide{k}" type="slide" axis="{axis}"/>'
            for k, axis in enumerate(("1 0 0", "0 1 0", "0 0 1"))
        )
        xml = (
            f'<mujoco><compiler angle="radian"/><worldbody>{bodies}<body name="platform">{slides}'
            f'<geom size=".01"/>{corners}</body></worldbody></mujoco>'
        )
        self.m = mujoco.MjModel.from_xml_string(xml)
        self.d = mujoco.MjData(self.m)
        names = [f"arm{i}" for i in range(3)]
        free = [f"rod{a}{i}" for i in range(3) for a in "uv"] + [f"slide{k}" for k in range(3)]
        self.driven = [self.m.joint(name).qposadr[0] for name in names]
        self.free = [self.m.joint(name).qposadr[0] for name in free]

    def gaps(self, x):
        self.d.qpos[:] = x
        mujoco.mj_kinematics(self.m, self.d)
        mujoco.mj_comPos(self.m, self.d)
        gap, J = [], []
        for i in range(3):
            end, corner = self.m.site(f"end{i}").id, self.m.site(f"corner{i}").id
            gap.append(self.d.site_xpos[end] - self.d.site_xpos[corner])
            a, b = np.zeros((3, self.m.nv)), np.zeros((3, self.m.nv))
            mujoco.mj_jacSite(self.m, self.d, a, None, end)
            mujoco.mj_jacSite(self.m, self.d, b, None, corner)
            J.append(a - b)
        return np.concatenate(gap), np.vstack(J)


class PinocchioDelta:
    def __init__(self, model) -> None:
        self.m = pin.Model()
        self.ends, self.corners, driven, free = [], [], [], []
        for i, phi in enumerate(model.azimuths):
            place = pin.SE3(
                pin.utils.rotate("z", phi), model.R * np.array([math.cos(phi), math.sin(phi), 0])
            )
            arm = self.m.addJoint(0, pin.JointModelRevoluteUnaligned(0, -1, 0), place, f"arm{i}")
            elbow = pin.SE3(np.eye(3), np.array([model.L1, 0, 0]))
            u = self.m.addJoint(arm, pin.JointModelRY(), elbow, f"rodu{i}")
            v = self.m.addJoint(u, pin.JointModelRZ(), pin.SE3.Identity(), f"rodv{i}")
            driven.append(arm)
            free += [u, v]
            end = pin.SE3(np.eye(3), np.array([model.L2, 0, 0]))
            self.ends.append(
                self.m.addFrame(pin.Frame(f"end{i}", v, 0, end, pin.FrameType.OP_FRAME))
            )
        last = 0
        for joint in (pin.JointModelPX(), pin.JointModelPY(), pin.JointModelPZ()):
            last = self.m.addJoint(last, joint, pin.SE3.Identity(), f"slide{last}")
            free.append(last)
        for i, phi in enumerate(model.azimuths):
            corner = pin.SE3(np.eye(3), model.r * np.array([math.cos(phi), math.sin(phi), 0]))
            frame = pin.Frame(f"corner{i}", last, 0, corner, pin.FrameType.OP_FRAME)
            self.corners.append(self.m.addFrame(frame))
        self.d = self.m.createData()
        self.driven = [self.m.idx_qs[j] for j in driven]
        self.free = [self.m.idx_qs[j] for j in free]

    def gaps(self, x):
        pin.computeJointJacobians(self.m, self.d, x)
        pin.updateFramePlacements(self.m, self.d)
        gap, J = [], []
        aligned = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        for end, corner in zip(self.ends, self.corners, strict=True):
            gap.append(self.d.oMf[end].translation - self.d.oMf[corner].translation)
            a = pin.getFrameJacobian(self.m, self.d, end, aligned)[:3]
            b = pin.getFrameJacobian(self.m, self.d, corner, aligned)[:3]
            J.append(a - b)
        return np.concatenate(gap), np.vstack(J)


def closed(engine, theta, guess):
    """Close the loops: the platform's position and dP/dtheta."""
    x = np.zeros(12)
    x[engine.driven] = theta
    x[engine.free] = guess
    for _ in range(60):
        gap, J = engine.gaps(x)
        if np.abs(gap).max() < 2e-16:
            break
        x[engine.free] -= np.linalg.solve(J[:, engine.free], gap)
    gap, J = engine.gaps(x)
    assert np.abs(gap).max() < 1e-13
    rates = -np.linalg.solve(J[:, engine.free], J[:, engine.driven])
    return x[engine.free][6:], rates[6:]


@pytest.mark.parametrize("kind", [MujocoDelta, PinocchioDelta])
def test_delta_equals_an_engine_with_closed_loops(kind):
    arm = brazo.load("delta")
    engine = kind(arm.model)
    q = arm.random_q(1000, seed=21)
    T, J, frames = arm.fk(q), arm.jacobian(q), arm.frames(q)
    for i in range(len(q)):
        # Start from rods pointing roughly where they should.
        guess = []
        for k in range(3):
            rod = frames[i, 4 + 2 * k, :3, 2]
            arm_frame = frames[i, 1 + k, :3, :3]
            local = arm_frame.T @ rod + 0.02
            guess += [math.atan2(-local[2], local[0]), math.asin(np.clip(local[1], -1, 1))]
        P, rates = closed(engine, q[i], [*guess, *(T[i, :3, 3] + 0.02)])
        assert np.abs(P - T[i, :3, 3]).max() <= 1e-12
        assert np.abs(rates - J[i, :3]).max() <= 1e-12 * max(1.0, np.linalg.cond(J[i, :3]))
