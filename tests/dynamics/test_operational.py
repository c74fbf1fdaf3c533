"""Operational-space inertia against the acceleration that a force at the tool causes."""

import numpy as np
import pytest

import brazo


def acceleration(arm, q, wrench):
    """Of the tool, from rest and without gravity."""
    still, none = np.zeros(arm.n), np.zeros(3)
    qdd = arm.forward_dynamics(q, still, still, wrench=wrench, gravity=none)
    return arm.jacobian(q) @ qdd


@pytest.mark.parametrize("name", ["puma560", "panda"])
def test_a_force_accelerates_this_inertia(name):
    arm = brazo.load(name)
    q = arm.random_q(seed=5)
    inertia = arm.operational_inertia(q)
    for wrench in np.eye(6):
        assert np.allclose(inertia @ acceleration(arm, q, wrench), wrench, atol=1e-9)
    assert np.abs(inertia - inertia.T).max() < 1e-12 * np.abs(inertia).max()
    linear = arm.operational_inertia(q, "linear")
    mobility = np.array([acceleration(arm, q, w)[:3] for w in np.eye(6)[:3]])
    assert np.allclose(linear @ mobility, np.eye(3), atol=1e-10)


def test_a_singular_pose_has_a_finite_inertia():
    """The wrist of the Puma is singular at q5 = 0: one direction is left out, all others stay."""
    arm = brazo.load("puma560")
    q = arm.poses["nominal"].copy()
    q[4] = 0.0
    inertia = arm.operational_inertia(q)
    mobility = np.array([acceleration(arm, q, w) for w in np.eye(6)])
    assert np.isfinite(inertia).all() and np.linalg.matrix_rank(inertia, tol=1e-9) == 5
    assert np.allclose(mobility @ inertia @ mobility, mobility, atol=1e-9 * np.abs(mobility).max())


def test_batches_and_frames():
    arm = brazo.load("puma560")
    q = arm.random_q((2, 3), seed=6)
    batch = arm.operational_inertia(q, "linear")
    assert batch.shape == (2, 3, 3, 3)
    assert np.allclose(batch[1, 2], arm.operational_inertia(q[1, 2], "linear"), rtol=1e-12)
    R = arm.fk(q[0, 0])[:3, :3]
    turned = R @ arm.operational_inertia(q[0, 0], "linear", "tool") @ R.T
    assert np.allclose(turned, batch[0, 0], rtol=1e-9)
    with pytest.raises(brazo.BrazoError, match="all, linear, angular"):
        arm.operational_inertia(q, "both")
