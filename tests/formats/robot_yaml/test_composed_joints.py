"""Universal, ball and planar joints of robot files, against matrices made with scipy and MuJoCo."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import brazo
from brazo.errors import BrazoError

ROW = "d: 0.2, a: 0.1, alpha: A, offset: 20deg"
FILE = "name: a\nparameters: {{A: 30deg}}\njoints:\n  - {{name: x, {row}}}\n  - {{a: 0.3}}\n"


def transform(rotation: Rotation, xyz=(0.0, 0.0, 0.0)) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation.as_matrix(), xyz
    return T


def behind(q: float) -> np.ndarray:
    """Tx(a) Rx(alpha) of the joint and the link after it."""
    own = transform(Rotation.from_euler("x", 30, degrees=True), (0.1, 0, 0))
    turn = Rotation.from_euler("z", q)
    return own @ transform(turn, turn.apply((0.3, 0, 0)))


@pytest.mark.parametrize(
    ("kind", "axes", "names"),
    [("universal", "ZY", ("x/z", "x/y")), ("ball", "ZXY", ("x/z", "x/x", "x/y"))],
)
def test_rotations_about_axes_through_one_point(kind, axes, names):
    arm = brazo.loads(FILE.format(row=f"type: {kind}, {ROW}"))
    assert arm.joint_names == (*names, "joint " + str(len(names) + 1))
    plain = brazo.loads(FILE.format(row=ROW))
    assert np.abs(arm.fk(np.zeros(arm.n)) - plain.fk([0, 0])).max() < 1e-15
    for q in np.random.default_rng(2).uniform(-3, 3, (20, arm.n)):
        angles = q[:-1] + np.radians([20.0, *[0.0] * (len(axes) - 1)])
        T = transform(Rotation.from_euler(axes, angles), (0, 0, 0.2)) @ behind(q[-1])
        assert np.abs(arm.fk(q) - T).max() < 1e-14


def test_a_planar_first_joint_slides_in_the_plane_of_the_base():
    arm = brazo.loads(
        "name: a\nbase: {xyz: [0, 0, 1], rpy: [0.1, 0.2, 0.3]}\njoints:\n"
        "  - {name: p, type: planar, d: 0.2, a: 0.1, alpha: 30deg, offset: 0.4,\n"
        "     limits: [[-1, 1], [-2, 2], [-90deg, 90deg]]}\n"
    )
    assert arm.joint_names == ("p/y", "p/x", "p/theta")
    assert arm.limits[:, 1] == pytest.approx([1.0, 2.0, np.pi / 2])
    base = transform(Rotation.from_euler("xyz", [0.1, 0.2, 0.3]), (0, 0, 1))
    link = transform(Rotation.from_euler("x", 30, degrees=True), (0.1, 0, 0))
    for y, x, angle in np.random.default_rng(2).uniform(-3, 3, (20, 3)):
        moved = transform(Rotation.from_euler("z", angle + 0.4), (x, y, 0.2))
        assert np.abs(arm.fk([y, x, angle]) - base @ moved @ link).max() < 1e-14


def test_a_ball_pendulum_accelerates_as_in_mujoco():
    """With a ball joint of MuJoCo, whose velocity is an angular velocity in the body's axes."""
    arm = brazo.loads(
        "name: a\njoints:\n  - {name: b, type: ball, mass: 2, com: [0.1, 0.2, -0.3],\n"
        "     inertia: [0.02, 0.03, 0.04]}\n"
    )
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="b", mass=2.0, ipos=[0.1, 0.2, -0.3], explicitinertial=True)
    body.inertia = [0.02, 0.03, 0.04]
    body.add_joint(type=mujoco.mjtJoint.mjJNT_BALL)
    model = spec.compile()
    data = mujoco.MjData(model)
    for q in np.random.default_rng(4).uniform(-1, 1, (10, 3)):
        R = arm.fk(q)[:3, :3]
        quat = Rotation.from_matrix(R).as_quat(scalar_first=True)
        data.qpos[:], data.qvel[:] = quat, 0.0
        mujoco.mj_forward(model, data)
        # At rest the angular acceleration is J q̈.
        J = arm.jacobian(q)[3:]
        qdd = arm.forward_dynamics(q, np.zeros(3), np.zeros(3))
        np.testing.assert_allclose(J @ qdd, R @ data.qacc, rtol=1e-10, atol=1e-10)


def test_masses_belong_to_the_link_behind_and_the_file_is_written_as_rows():
    text = FILE.format(row=f"type: ball, {ROW}, mass: 1, inertia: [0.1, 0.1, 0.1]")
    arm = brazo.loads(text.replace("{a: 0.3}", "{a: 0.3, mass: 1, inertia: [0.1, 0.1, 0.1]}"))
    assert [inertia.mass for _, inertia in arm.model.inertias] == [0.0, 0.0, 1.0, 1.0]
    assert np.linalg.eigvalsh(arm.mass_matrix(np.zeros(4))).min() > 0.01
    again = brazo.loads(arm.to_yaml())
    q = [0.1, 0.2, 0.3, 0.4]
    assert "ball" not in arm.to_yaml() and np.array_equal(again.fk(q), arm.fk(q))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("joints: [{a: 1}, {type: planar}]", r"joints\[1\].type: a planar joint must be the first"),
        ("joints: [{type: ball, limits: [1, 2]}]", r"limits: a ball joint needs 3 pairs"),
        ("convention: modified\njoints: [{type: ball}]", "standard D-H convention"),
        ("joints: [{type: sphere}]", "choose revolute or prismatic or universal or ball or planar"),
        ("joints: [{type: ball, theta: 1}]", "theta"),
        ("joints: [{type: ball, colour: 1}]", "colour"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(text, said):
    with pytest.raises(BrazoError, match=said):
        brazo.loads(f"name: a\n{text}\n")
