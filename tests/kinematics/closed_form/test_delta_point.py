"""One pose in plain numbers is the pose of the arrays."""

import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.kinematics.closed_form import delta
from brazo.kinematics.closed_form.delta_point import DeltaPoint
from brazo.model.description import DeltaModel


def test_scalar_and_array_versions_agree():
    arm = brazo.load("delta")
    q = arm.random_q(500, seed=3)
    assert np.abs(np.stack([arm.fk(row) for row in q]) - arm.fk(q)).max() < 1e-14
    single = np.stack([arm.jacobian(row) for row in q])
    assert np.abs(single - arm.jacobian(q)).max() < 1e-12 * np.abs(single).max()


def test_the_jacobian_is_the_difference_of_poses():
    point = DeltaPoint(brazo.load("delta").model)
    theta, h = [0.1, -0.4, 0.3], 1e-6
    P = point.place(theta)
    assert P is not None
    J = point.jacobian(theta, P)
    assert J is not None
    for i in range(3):
        up, down = list(theta), list(theta)
        up[i] += h
        down[i] -= h
        step = (np.array(point.place(up)) - np.array(point.place(down))) / (2.0 * h)
        assert np.array(J)[:, i] == pytest.approx(step, abs=1e-8)


def test_angles_without_a_pose_give_none_and_the_same_error():
    arm = brazo.load("delta").with_parameters(L2=0.25)
    q = np.array([1.5, -1.5, -1.5])
    assert not delta.fk(arm.model, q)[1]
    assert DeltaPoint(arm.model).place(q.tolist()) is None
    with pytest.raises(BrazoError, match="rods cannot meet"):
        arm.fk(q)
    # Drive arms of no length from one point: all centres are one.
    shape = DeltaModel(name="point", R=0.1, r=0.1, L1=0.0, L2=0.5, azimuths=(0.0, 2.0, 4.0))
    assert DeltaPoint(shape).place([0.0, 0.0, 0.0]) is None
