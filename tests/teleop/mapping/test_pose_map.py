"""Joint, pose, pose, joint: Delta to SCARA as in the paper, and arms that can turn their tools."""

import math

import numpy as np
import pytest

import brazo
from brazo.kinematics.orientation import matrix_from_rotvec, rotvec_from_matrix
from brazo.teleop.mapping.base import IncrementMap, MasterPoint
from brazo.teleop.mapping.pose_map import PoseMap
from brazo.teleop.mapping.walls import BoxWall
from brazo.trajectory import limits_of

DT = 0.002


@pytest.fixture(scope="module")
def delta():
    return brazo.load("delta")


@pytest.fixture(scope="module")
def scara():
    return brazo.load("teleop-scara")


@pytest.fixture(scope="module")
def puma():
    return brazo.load("puma560")


def pose(p, r=(0.0, 0.0, 0.0)):
    T = np.eye(4)
    T[:3, 3] = p
    T[:3, :3] = matrix_from_rotvec(np.asarray(r, float))
    return MasterPoint(T=T)


@pytest.mark.parametrize("k", [0.5, 1.0, 2.0])
def test_delta_master_drives_the_scara(delta, scara, k):
    """The follower's tool moves by S dp / k, found with both robots' own kinematics."""
    mapping = PoseMap(scara, limits_of(scara), delta, IncrementMap(scale=k))
    q_f = scara.poses["home"]
    q_m = np.zeros(3)
    start_m, start_f = delta.fk(q_m)[:3, 3].copy(), scara.fk(q_f)[:3, 3].copy()
    mapping.anchor(MasterPoint(q_m), q_f)
    S = np.array([[0, 0, -1], [1, 0, 0], [0, -1, 0]])
    for t in np.arange(0.0, 1.0, DT):
        q_m = 0.1 * np.array([math.sin(3 * t), math.sin(2 * t), 1 - math.cos(3 * t)])
        target = mapping.step(MasterPoint(q_m), DT)
        assert not target.jump and not target.warnings
        moved = scara.fk(target.q)[:3, 3] - start_f
        wanted = S @ (delta.fk(q_m)[:3, 3] - start_m) / k
        assert moved == pytest.approx(wanted, abs=1e-9)
    assert np.linalg.norm(moved) > 0.01


def test_delta_drives_a_delta(delta):
    mapping = PoseMap(delta, limits_of(delta), delta, IncrementMap(np.eye(3)))
    mapping.anchor(MasterPoint(np.zeros(3)), np.full(3, -0.5))
    before = delta.fk(np.full(3, -0.5))[:3, 3].copy()
    for t in np.arange(0.0, 0.3, DT):
        q = np.array([0.2, 0.1, -0.1]) * t
        target = mapping.step(MasterPoint(q), DT)
    moved = delta.fk(target.q)[:3, 3] - before
    assert moved == pytest.approx(delta.fk(q)[:3, 3] - delta.fk(np.zeros(3))[:3, 3], abs=1e-9)


def test_the_tool_turns_with_the_handle(puma):
    mapping = PoseMap(puma, limits_of(puma), increments=IncrementMap(), turn_scale=2.0)
    q0 = puma.poses["nominal"]
    R0 = puma.fk(q0)[:3, :3].copy()
    p0 = puma.fk(q0)[:3, 3].copy()
    mapping.anchor(pose([0, 0, 0]), q0)
    for k in range(1, 201):
        target = mapping.step(pose([0, 0, 0], [0.002 * k, 0.0, 0.0]), DT)
    T = puma.fk(target.q)
    # Turning the handle by 0.4 about its x turns the tool by 0.2 about the base's y.
    assert rotvec_from_matrix(T[:3, :3] @ R0.T) == pytest.approx([0.0, 0.2, 0.0], abs=1e-6)
    assert T[:3, 3] == pytest.approx(p0, abs=1e-9)
    mapping.set("orientation", False)
    still = mapping.step(pose([0, 0, 0], [0.45, 0.0, 0.0]), DT)
    assert still.q.tolist() == target.q.tolist()


def test_edits_while_running_cause_no_motion(puma):
    mapping = PoseMap(puma, limits_of(puma))
    mapping.anchor(pose([0.5, 0, 0]), puma.poses["nominal"])
    for k in range(50):
        before = mapping.step(pose([0.5, 0.0002 * k, 0]), DT)
    for name, value in (
        ("scale", 0.25),
        ("directions", [1, 0, 0, 0, 1, 0, 0, 0, 1]),
        ("turn_scale", 3.0),
        ("tool_speed", 0.1),
    ):
        mapping.set(name, value)
        assert mapping.step(pose([0.5, 0.0098, 0]), DT).q.tolist() == before.q.tolist()
    p = mapping.pose[:3, 3]
    mapping.step(pose([0.5, 0.00985, 0]), DT)
    assert mapping.pose[:3, 3] - p == pytest.approx([0, 0.0002, 0], abs=1e-9)
    for name, value in (
        ("scale", 0.0),
        ("scale", "big"),
        ("directions", [1, 0, 0, 0, 1, 0, 0, 0, -1]),
        ("orientation", 1),
        ("colour", 1),
    ):
        with pytest.raises(brazo.BrazoError):
            mapping.set(name, value)


def test_fast_motion_is_limited_and_impossible_motion_is_a_jump(puma):
    mapping = PoseMap(puma, limits_of(puma))
    mapping.anchor(pose([0, 0, 0]), puma.poses["nominal"])
    p = mapping.pose[:3, 3]
    target = mapping.step(pose([0.005, 0, 0]), DT)  # 2.5 m/s; the tool does 0.25
    assert np.linalg.norm(mapping.pose[:3, 3] - p) == pytest.approx(0.25 * DT)
    assert "lags" in target.warnings[0]
    jump = mapping.step(pose([0.055, 0, 0]), DT)
    assert jump.jump == "50 mm in 2 ms" and jump.q.tolist() == target.q.tolist()
    jump = mapping.step(pose([0.005, 0, 0], [0, 0, 1.0]), DT)
    assert jump.jump == "57° in 2 ms"


def test_workspace_limits_hold_and_warn_before_the_edge(puma):
    q0 = puma.poses["nominal"]
    p0 = puma.fk(q0)[:3, 3]
    mapping = PoseMap(puma, limits_of(puma), workspace=BoxWall(p0 - 0.1, p0 + 0.1))
    mapping.anchor(pose([0, 0, 0]), q0)
    warned = None
    for k in range(1, 1500):
        target = mapping.step(pose([0.0004 * k, 0, 0]), DT)
        y = float(puma.fk(target.q)[1, 3] - p0[1])
        assert y < 0.1
        if target.warnings and warned is None:
            warned = y
    assert warned == pytest.approx(0.05, abs=1e-3)
    assert target.warnings[0].endswith("to the upper y edge of the workspace")
    back = mapping.step(pose([0.0004 * 1499 - 0.0004, 0, 0]), DT)
    assert puma.fk(back.q)[1, 3] - p0[1] == pytest.approx(y - 0.0004, abs=1e-9)


def test_arm_waits_at_the_edge_of_its_reach_and_returns(scara):
    mapping = PoseMap(scara, limits_of(scara), increments=IncrementMap(np.eye(3)))
    q0 = scara.poses["home"]
    mapping.anchor(pose([0, 0, 0]), q0)
    outwards = scara.fk(q0)[:3, 3] * [1, 1, 0]
    outwards /= np.linalg.norm(outwards)
    said, largest = set(), 0.0
    last = q0
    for k in range(900):
        target = mapping.step(pose(0.0004 * k * outwards), DT)
        assert not target.jump
        largest = max(largest, float(np.abs(target.q - last).max() / DT))
        last = target.q
        said |= set(target.warnings)
    assert said & {"the tool is at the edge of its reach", "the arm is close to a singularity"}
    assert largest <= limits_of(scara).speed.max() * (1 + 1e-9)
    radius = np.linalg.norm(scara.fk(target.q)[:2, 3])
    for k in range(899, 500, -1):
        target = mapping.step(pose(0.0004 * k * outwards), DT)
    assert np.linalg.norm(scara.fk(target.q)[:2, 3]) < radius - 0.05


def test_missing_data_is_reported(puma, delta):
    mapping = PoseMap(puma, limits_of(puma), delta)
    assert mapping.obstacle(MasterPoint(np.zeros(6)), puma.poses["nominal"]) == (
        "the master sends no pose (expected a pose or 3 joint values)"
    )
    outside = puma.poses["nominal"].copy()
    outside[1] = 100.0
    assert mapping.obstacle(pose([0, 0, 0]), outside) == (
        "joint 2 (shoulder) is past its limit: allowed -45.00 to 225.00°"
    )
    with pytest.raises(brazo.BrazoError, match="limits are for 3 joints"):
        PoseMap(puma, limits_of(delta))
