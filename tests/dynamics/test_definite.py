"""Robots whose mass matrix is singular or indefinite: warned of by name, refused by name."""

import math

import numpy as np
import pytest

import brazo
from brazo.control import PDGravity, track
from brazo.simulation import Simulation
from brazo.world import Diverged

POINT_MASS_ON_AXIS = """
name: balanced
joints:
  - {name: shoulder, a: 0.5, mass: 1, com: [0, 0, 0]}
  - {name: elbow, a: 0.5, mass: 1, com: [-0.5, 0, 0]}
"""

NEGATIVE = """
name: impossible
joints:
  - {name: shoulder, a: 0.5, mass: 1, com: [-0.25, 0, 0], inertia: [0.01, 0.01, 0.01]}
  - {name: elbow, a: 0.5, mass: 0.1, com: [-0.5, 0, 0], inertia: [0.01, 0.01, -0.02]}
"""

# All mass at the tip: det M = (m l1 l2 sin q2)², singular where the arm is straight.
STRAIGHT = """
name: light
joints:
  - {name: shoulder, a: 0.5, mass: 0, com: [0, 0, 0], inertia: [0, 0, 0]}
  - {name: elbow, a: 0.4, mass: 2, com: [0, 0, 0]}
"""

LINK = """<link name="{name}"><inertial><mass value="{mass}"/>
<inertia ixx="{I}" iyy="{I}" izz="{I}" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
<origin xyz="0.1 0 0"/><axis xyz="0 {y} {z}"/>{more}
<limit lower="-1" upper="1" effort="10" velocity="5"/></joint>"""


def robot(tmp_path, text: str, name: str = "robot.yaml"):
    path = tmp_path / name
    path.write_text(text)
    return brazo.load(path)


def hand(tmp_path, arms: int):
    """An arm of `arms` links with two massless fingers, the second of which mimics the first."""
    text = [LINK.format(name="base", mass=1, I=0.01)]
    last = "base"
    for i in range(arms):
        text.append(LINK.format(name=f"link{i}", mass=1, I=0.01))
        text.append(
            JOINT.format(
                name=f"j{i}", kind="revolute", parent=last, child=f"link{i}", y=i % 2, z=1 - i % 2,
                more="",
            )
        )  # fmt: skip
        last = f"link{i}"
    for finger, more in (("left", ""), ("right", '<mimic joint="left joint" multiplier="-1"/>')):
        text.append(LINK.format(name=f"{finger} finger", mass=0, I=0))
        text.append(
            JOINT.format(
                name=f"{finger} joint", kind="prismatic", parent=last, child=f"{finger} finger",
                y=1, z=0, more=more,
            )
        )  # fmt: skip
    path = tmp_path / "hand.urdf"
    path.write_text(f"<robot name='hand'>{''.join(text)}</robot>")
    return brazo.load(path, tip="left finger")


def refused(call, *names: str) -> str:
    with pytest.raises(brazo.BrazoError) as error:
        call()
    message = str(error.value)
    for name in names:
        assert name in message
    assert "mass matrix" in message
    return message


@pytest.mark.parametrize(
    ("text", "what"),
    [(POINT_MASS_ON_AXIS, "moves no inertia"), (NEGATIVE, "a negative inertia (-0.02 kg m²)")],
)
def test_a_joint_without_positive_inertia_is_named_by_every_call(tmp_path, text, what):
    arm = robot(tmp_path, text)
    assert any("'elbow'" in str(f) and what in str(f) for f in arm.findings)
    z = np.zeros(2)
    calls = {
        "single": lambda: arm.forward_dynamics(z, z, z),
        "batch": lambda: arm.forward_dynamics(np.zeros((50, 2)), z, z),
        "wrench": lambda: arm.forward_dynamics(z, z, z, wrench=np.ones(6)),
        "rk4": lambda: arm.simulate(t_end=0.01),
        "dopri5": lambda: arm.simulate(t_end=0.01, method="dopri5"),
        "torque": lambda: arm.simulate(lambda t, q, qd: z, t_end=0.01),
        "track": lambda: track(arm, PDGravity(kp=1.0, kd=1.0), lambda t: (z, z, z), t_end=0.01),
        "native": lambda: track(
            arm, PDGravity(kp=1.0, kd=1.0), lambda t: (z, z, z), t_end=0.01, native=True
        ),
    }
    for call in calls.values():
        refused(call, "joint 'elbow'", what)
    # What needs no inverse of M still answers.
    assert np.isfinite(arm.inverse_dynamics(z, z, z)).all()


def test_the_world_names_the_joint(tmp_path):
    robot(tmp_path, POINT_MASS_ON_AXIS)
    cell = tmp_path / "cell.yaml"
    cell.write_text("name: c\nrobots:\n  - {name: a, robot: robot.yaml}\n")
    sim = Simulation(cell, {"a": None}, mode="exact")
    with pytest.raises(Diverged, match=r"joint 'a/elbow'.*mass matrix is singular"):
        sim.world.step(2)
    assert any("joint 'elbow' moves no inertia" in str(f) for f in sim.findings)


def test_a_configuration_where_the_mass_matrix_is_singular(tmp_path):
    arm = robot(tmp_path, STRAIGHT)
    z, q = np.zeros(2), np.array([0.3, 1.2])
    m, l1, l2 = 2.0, 0.5, 0.4
    M = arm.mass_matrix(q)
    assert np.linalg.det(M) == pytest.approx((m * l1 * l2 * math.sin(q[1])) ** 2, rel=1e-12)
    tau = np.array([0.4, -0.2])
    qdd = arm.forward_dynamics(q, z, tau)
    assert np.allclose(M @ qdd + arm.gravity(q), tau, atol=1e-12)
    # Straight, at several angles of the shoulder: rounding must not hide it.
    for shoulder in (0.0, 0.3, 1.0, -2.0):
        straight = np.array([shoulder, 0.0])
        refused(lambda at=straight: arm.forward_dynamics(at, z, tau), "'shoulder'", " at q = [")
    batch = np.tile(q, (100, 1))
    batch[70, 1] = 0.0
    refused(lambda: arm.forward_dynamics(batch, z, tau), "'shoulder'", "q = [0.3, 0]")
    refused(lambda: arm.forward_dynamics(batch, z, tau, threads=2), "'shoulder'", "q = [0.3, 0]")
    refused(lambda: arm.dynamics.rk4_step(batch[70], z, tau, np.array([1e-3])), "'shoulder'")
    assert any("at q = [0, 0]" in str(f) for f in arm.findings)


@pytest.mark.parametrize("arms", [3, 14])
def test_massless_fingers_are_named(tmp_path, arms):
    arm = hand(tmp_path, arms)
    names = ("joint 'left joint'", "massless: left finger, right finger")
    assert any(all(name in str(f) for name in names) for f in arm.findings)
    z = np.zeros(arm.n)
    refused(lambda: arm.forward_dynamics(z, z, z), *names)
    refused(lambda: arm.simulate(t_end=0.01), *names)
    assert np.isfinite(arm.mass_matrix(z)).all()


def test_a_motor_gives_a_massless_link_inertia(tmp_path):
    text = STRAIGHT.replace(
        "{name: shoulder,", "{name: shoulder, drive: {gear: 10, motor_inertia: 1e-4},"
    )
    arm = robot(tmp_path, text)
    assert not any("mass matrix is not" in str(f) for f in arm.findings)
    z = np.zeros(2)
    assert np.isfinite(arm.forward_dynamics(z, z, np.ones(2))).all()


def test_arm_angles_without_a_pose_of_the_delta_are_refused():
    delta = brazo.load("delta")
    z = np.zeros(3)
    rng = np.random.default_rng(0)
    bad = next(
        q for q in rng.uniform(-np.pi, np.pi, (1000, 3))
        if not np.isfinite(np.array(delta.dynamics.mass_matrix_over(list(q)))).all()
    )  # fmt: skip
    for call in (delta.forward_dynamics, delta.inverse_dynamics):
        with pytest.raises(brazo.BrazoError, match="rods cannot meet"):
            call(bad, z, z)
    for call in (delta.mass_matrix, delta.gravity):
        with pytest.raises(brazo.BrazoError, match="rods cannot meet"):
            call(bad)
