"""The Delta robot: both assemblies, all elbows, Jacobian, edges of the reach, drawing frames."""

from __future__ import annotations

import numpy as np
import pytest

from brazo.kinematics.closed_form import delta
from brazo.kinematics.closed_form.delta_branches import DeltaBranches
from brazo.model.description import DeltaModel


@pytest.fixture(scope="module")
def shape(golden) -> DeltaModel:
    p = golden["robots"]["delta"]["params"]
    a, b, c = np.deg2rad(p["arm_azimuth_deg"]).tolist()
    return DeltaModel(name="delta", R=p["R"], r=p["r"], L1=p["L1"], L2=p["L2"], azimuths=(a, b, c))


def poses(P: np.ndarray) -> np.ndarray:
    """Platform centres (..., 3) as poses (..., 4, 4)."""
    T = np.zeros((*P.shape[:-1], 4, 4))
    T[...] = np.eye(4)
    T[..., :3, 3] = P
    return T


def rod_lengths(shape, theta: np.ndarray, P: np.ndarray) -> np.ndarray:
    """Distance elbow to platform joint of every arm, from the drawing of the mechanism."""
    lengths = []
    for i, azimuth in enumerate(shape.azimuths):
        c, s = np.cos(azimuth), np.sin(azimuth)
        out = shape.R + shape.L1 * np.cos(theta[..., i])
        elbow = np.stack([out * c, out * s, shape.L1 * np.sin(theta[..., i])], axis=-1)
        joint = P + shape.r * np.array([c, s, 0.0])
        lengths.append(np.linalg.norm(elbow - joint, axis=-1))
    return np.stack(lengths, axis=-1)


def test_reference_forward_kinematics_and_jacobians(golden, shape) -> None:
    for case in golden["robots"]["delta"]["fk"]:
        both, exists = delta.fk(shape, case["theta"])
        assert exists
        np.testing.assert_allclose(both, [case["P"], case["P_upper_assembly"]], atol=2e-14)
        J = delta.jacobian(shape, case["theta"])
        np.testing.assert_allclose(J, case["J_dP_dtheta"], atol=1e-14)
        assert np.linalg.cond(J) == pytest.approx(case["cond_J"], abs=1e-12)


def test_reference_inverse_kinematics(golden, shape) -> None:
    for case in golden["robots"]["delta"]["ik"]:
        theta, reaches = delta.ik(shape, case["P"])
        assert reaches.all()
        np.testing.assert_allclose(theta[:, 0], case["theta"], atol=1e-13)
        np.testing.assert_allclose(theta[:, 1], case["theta_elbow_in"], atol=1e-13)


def test_reference_edges_just_inside_and_just_outside(golden, shape) -> None:
    inward = {"far axis": (0, 0, 1), "near axis": (0, 0, -1), "lateral edge": (-1, -1, 0)}
    for case in golden["robots"]["delta"]["edges"]:
        P = np.array(case["P"], dtype=float)
        direction = next(np.array(d) for word, d in inward.items() if case["what"].startswith(word))
        theta, reaches = delta.ik(shape, P)
        assert reaches.all()
        assert theta[0] == pytest.approx(np.full(2, case["theta_arm1_at_edge"]), abs=1e-6)
        assert delta.ik(shape, P + 1e-9 * direction)[1].all() == case["reachable_just_inside"]
        assert delta.ik(shape, P - 1e-9 * direction)[1].all() == case["reachable_just_outside"]
        assert delta.why_unreachable(shape, P + 1e-9 * direction) is None
        assert "arm 1" in (delta.why_unreachable(shape, P - 1e-9 * direction) or "")


def test_equal_angles_raise_the_platform_up_to_the_fold(golden, shape) -> None:
    fold = golden["robots"]["delta"]["theta_limit_on_axis"]["fold_limit_rad"]
    angles = fold + np.array([-0.1, -0.05, 0.0, 0.05, 0.1])
    z = delta.fk(shape, np.repeat(angles[:, None], 3, axis=1))[0][:, 0, 2]
    assert z[0] < z[1] < z[2] > z[3] > z[4]
    slope = delta.jacobian(shape, np.full(3, fold))[2].sum()  # its derivative there is -0.14 m/rad²
    assert abs(slope) < 1.4e-13  # the fold to 1e-12 rad


def test_ten_thousand_poses_round_trip(shape) -> None:
    theta = np.random.default_rng(1).uniform(-1.5, 1.0, (10_000, 3))
    P, exists = delta.fk(shape, theta)
    assert exists.all()
    for assembly in (0, 1):
        np.testing.assert_allclose(rod_lengths(shape, theta, P[:, assembly]), shape.L2, atol=1e-14)
    assert (P[:, 0, 2] < P[:, 1, 2]).all()
    found = DeltaBranches(shape).solve(poses(P[:, 0]))
    branches = found.q
    reached = delta.fk(shape, branches)[0]
    # A choice of elbows may belong to the upper assembly; it is valid only in the lower one.
    lower = np.linalg.norm(reached[..., 0, :] - P[:, :1], axis=-1)
    upper = np.linalg.norm(reached[..., 1, :] - P[:, :1], axis=-1)
    np.testing.assert_array_equal(found.valid, lower < upper)
    away = np.abs(branches - theta[:, None]).max(axis=-1)
    assert away.min(axis=1).max() < 1e-10
    np.testing.assert_array_equal(np.argmin(away, axis=1), delta.branch_of(shape, theta))
    for slot in range(8):
        np.testing.assert_allclose(
            rod_lengths(shape, branches[:, slot], P[:, 0]), shape.L2, atol=1e-13
        )
    assert delta.BRANCH_NAMES[0] == "OUT OUT OUT" and delta.BRANCH_NAMES[3] == "OUT IN IN"
    assert (np.cos(branches[:, 0]) >= np.cos(branches[:, 7])).all()


def test_jacobian_against_central_differences(shape) -> None:
    theta = np.random.default_rng(2).uniform(-1.2, 0.8, (200, 3))
    h = 1e-5
    steps = h * np.eye(3)
    columns = [
        (delta.fk(shape, theta + step)[0][:, 0] - delta.fk(shape, theta - step)[0][:, 0]) / (2 * h)
        for step in steps
    ]
    np.testing.assert_allclose(delta.jacobian(shape, theta), np.stack(columns, axis=-1), atol=1e-9)


def test_unreachable_arms_are_named_with_the_distance(shape) -> None:
    edge = np.sqrt(0.7**2 - 0.5**2) - 0.16
    away = np.array([np.cos(np.pi / 6), np.sin(np.pi / 6), 0.0])
    P = (edge + 0.05) * away + [0.0, 0.0, -0.5]
    theta, reaches = delta.ik(shape, P)
    np.testing.assert_array_equal(reaches, [False, True, True])
    assert np.isnan(theta[0]).all() and np.isfinite(theta[1:]).all()
    missing = np.hypot(edge + 0.05 + 0.16, 0.5) - 0.7
    assert f"arm 1: its platform joint would be {missing + 0.7:.4g} m" in delta.why_unreachable(
        shape, P
    )
    assert f"{missing:.3g} m out of reach of arm and rod" in delta.why_unreachable(shape, P)
    close = delta.why_unreachable(shape, [0.0, 0.0, -0.2])
    assert close.count("too close for the rod of 0.5 m") == 3


def test_rods_too_short_have_no_pose() -> None:
    azimuths = (0.0, 2.0944, 4.18879)
    shape = DeltaModel(name="short", R=0.3, r=0.05, L1=0.2, L2=0.25, azimuths=azimuths)
    both, exists = delta.fk(shape, [[0.0, 0.0, 0.0], [2.5, 2.5, 2.5]])
    np.testing.assert_array_equal(exists, [False, True])
    assert np.isnan(both[0]).all() and np.isfinite(both[1]).all()


def test_drawing_frames_close_the_loops(shape) -> None:
    theta = np.random.default_rng(3).uniform(-1.2, 0.8, (20, 3))
    P = delta.fk(shape, theta)[0][:, 0]
    frames = delta.loop_frames(shape, theta, rod_spacing=0.08)
    assert frames.arms.shape == (20, 3, 4, 4) and frames.rods.shape == (20, 3, 2, 4, 4)
    for T in (frames.arms, frames.rods, frames.platform):
        R = T[..., :3, :3]
        np.testing.assert_allclose(np.swapaxes(R, -1, -2) @ R, np.eye(3) + 0 * R, atol=1e-14)
        np.testing.assert_allclose(np.linalg.det(R), 1.0, atol=1e-14)
    np.testing.assert_array_equal(
        frames.platform[:, :3, :3], np.eye(3) + 0 * frames.platform[:, :3, :3]
    )
    np.testing.assert_array_equal(frames.platform[:, :3, 3], P)
    elbows = frames.arms[..., :3, 3] + shape.L1 * frames.arms[..., :3, 0]
    np.testing.assert_allclose(frames.rods[..., :3, 3].mean(axis=2), elbows, atol=1e-15)
    apart = np.linalg.norm(frames.rods[:, :, 0, :3, 3] - frames.rods[:, :, 1, :3, 3], axis=-1)
    np.testing.assert_allclose(apart, 0.08, atol=1e-15)
    ends = (frames.rods[..., :3, 3] + shape.L2 * frames.rods[..., :3, 2]).mean(axis=2)
    azimuths = np.array(shape.azimuths)
    joints = shape.r * np.stack([np.cos(azimuths), np.sin(azimuths), np.zeros(3)], axis=-1)
    np.testing.assert_allclose(ends, P[:, None] + joints, atol=1e-14)
    # The drive axis is level and square to the arm.
    np.testing.assert_allclose(frames.arms[..., 2, 1], 0.0, atol=1e-16)


def test_batches_take_any_dimensions(shape) -> None:
    theta = np.random.default_rng(4).uniform(-1, 0.5, (2, 5, 3))
    P, exists = delta.fk(shape, theta)
    assert P.shape == (2, 5, 2, 3) and exists.shape == (2, 5)
    assert DeltaBranches(shape).solve(poses(P[..., 0, :])).q.shape == (2, 5, 8, 3)
    assert delta.jacobian(shape, theta).shape == (2, 5, 3, 3)
    np.testing.assert_array_equal(delta.fk(shape, theta[1, 2])[0], P[1, 2])
