"""A Delta whose tool frame is rotated: Jacobians in tool axes, and inverse kinematics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import brazo
from brazo.formats.mjcf.writer import write_mjcf
from brazo.kinematics.orientation import matrix_from_rpy

Q = np.array([0.1, -0.2, 0.3])
H = 1e-3


def differences(f):
    """Derivatives of f(q) by each joint at Q, in the last dimension; accurate to H⁴."""
    near, far = (
        [(f(Q + k * H * e) - f(Q - k * H * e)) / (2 * k * H) for e in np.eye(3)] for k in (1, 2)
    )
    return np.stack([(4 * a - b) / 3 for a, b in zip(near, far, strict=True)], axis=-1)


@pytest.fixture(scope="module", params=["yaml", "mjcf"])
def arm(request):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = matrix_from_rpy((np.pi, 0.2, -0.4)), [0.01, 0.02, -0.05]
    if request.param == "yaml":
        return brazo.load("delta").with_tool(T)
    return brazo.loads(write_mjcf(replace(brazo.load("delta").model, tool=T)))


def test_jacobian_in_tool_axes_is_the_derivative_of_the_pose(arm):
    R = arm.fk(Q)[:3, :3]
    velocity = differences(lambda q: arm.fk(q)[:3, 3])
    J = arm.jacobian(Q, frame="tool")
    assert J[:3] == pytest.approx(R.T @ velocity, abs=1e-11)
    assert not J[3:].any()
    assert arm.jacobian(np.stack([Q, Q]), frame="tool")[1] == pytest.approx(J, abs=1e-15)
    assert arm.jacobian(Q) == pytest.approx(np.vstack([velocity, np.zeros((3, 3))]), abs=1e-11)
    platform = arm.jacobian(Q, frame="tool", link="platform")
    assert platform == pytest.approx(arm.jacobian(Q), abs=1e-15)


def test_jacobian_rate_in_tool_axes_is_the_derivative_of_the_jacobian(arm):
    qd = np.array([0.3, -0.5, 0.2])
    expected = differences(lambda q: arm.jacobian(q, frame="tool")) @ qd
    assert arm.jacobian_dot(Q, qd, frame="tool") == pytest.approx(expected, abs=1e-11)


def test_inverse_kinematics_round_trip(arm):
    found = arm.ik(arm.fk(Q), q0=Q)
    assert found.success and found.q == pytest.approx(Q, abs=1e-12)
