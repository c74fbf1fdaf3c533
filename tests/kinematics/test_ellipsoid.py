"""Velocity and force ellipsoids against sampled joint speeds and torques."""

import numpy as np
import pytest

import brazo


def unit_vectors(count: int, n: int) -> np.ndarray:
    x = np.random.default_rng(0).standard_normal((count, n))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def inside(e, vectors: np.ndarray) -> np.ndarray:
    """|x| in the metric of the ellipsoid: 1 on its surface."""
    return np.linalg.norm((vectors @ e.axes) / e.radii, axis=-1)


def test_velocities_of_unit_speeds_fill_the_ellipsoid():
    arm = brazo.load("puma560")
    q = arm.random_q(seed=1)
    speeds = np.array([1.0, 2.0, 0.5, 3.0, 1.5, 1.0])
    e = arm.velocity_ellipsoid(q, scale=speeds)
    tool = (unit_vectors(4000, 6) * speeds) @ arm.jacobian(q)[:3].T
    reached = inside(e, tool)
    assert reached.max() < 1 + 1e-12 and reached.max() > 0.97
    assert np.allclose(e.axes.T @ e.axes, np.eye(3), atol=1e-14)
    assert (np.diff(e.radii) <= 0).all()
    assert np.array_equal(e.centre, arm.fk(q)[:3, 3])


def test_a_force_on_the_surface_takes_unit_torques():
    arm = brazo.load("puma560")
    q = arm.random_q((2, 3), seed=2)
    e = arm.force_ellipsoid(q)
    assert e.radii.shape == (2, 3, 3)
    for axis in range(3):
        force = e.axes[..., axis] * e.radii[..., axis, None]
        tau = np.einsum("...ij,...i->...j", arm.jacobian(q)[..., :3, :], force)
        assert np.allclose(np.linalg.norm(tau, axis=-1), 1.0, rtol=1e-12)
    assert (np.diff(e.radii) <= 0).all()


def test_velocity_and_force_are_dual_and_singular_poses_are_flat():
    arm = brazo.load("puma560")
    q = arm.random_q(seed=3)
    v, f = arm.velocity_ellipsoid(q), arm.force_ellipsoid(q)
    assert np.allclose(v.radii * f.radii[::-1], 1.0)
    stretched = brazo.load("teleop-scara")
    flat = stretched.velocity_ellipsoid([0.2, 0.1, 0.4, 0.0, 0.3])
    stiff = stretched.force_ellipsoid([0.2, 0.1, 0.4, 0.0, 0.3])
    assert flat.radii[-1] < 1e-12 and np.isinf(stiff.radii[0])
    assert flat.points().shape == (25, 49, 3)
    with pytest.raises(brazo.BrazoError, match="infinite radius"):
        stiff.points()


def test_points_lie_on_the_surface():
    arm = brazo.load("puma560")
    q = arm.random_q(seed=4)
    e = arm.velocity_ellipsoid(q, "angular")
    around = (e.points(scale=0.1, count=8) - e.centre) / 0.1
    assert np.allclose(inside(e, around), 1.0, atol=1e-12)


def test_bad_input_is_named():
    arm = brazo.load("puma560")
    with pytest.raises(brazo.BrazoError, match="linear, angular"):
        arm.velocity_ellipsoid(np.zeros(6), "all")
    with pytest.raises(brazo.BrazoError, match=r"scale: expected a number.* \(6,\)"):
        arm.force_ellipsoid(np.zeros(6), scale=[1, 2])
