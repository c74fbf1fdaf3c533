"""Increments from master to follower."""

import numpy as np
import pytest

import brazo
from brazo.teleop import JointMap, PoseMap
from brazo.teleop.mapping.base import DIRECTIONS, IncrementMap, in_words
from brazo.trajectory import limits_of


def test_golden_mapping(golden):
    data = golden["robots"]["teleop_scara"]["mapping"]
    assert (np.array(data["S_master_to_slave"]) == DIRECTIONS).all()
    for entry in data["examples"]:
        mapped = IncrementMap(scale=entry["k"])(entry["dP_master"])
        assert np.abs(mapped - entry["dP_slave"]).max() <= 1e-15


def test_settings_are_reported_as_text():
    assert in_words(IncrementMap(scale=2.0).settings()) == (
        "mapping by pose: scale 2, master axes X to Y, Y to -Z, Z to -X"
    )
    turned = np.array([[0.8, -0.6, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
    assert in_words(IncrementMap(turned).settings()).endswith(
        "master axes X to (0.8, 0.6, 0), Y to (-0.6, 0.8, 0), Z to Z"
    )
    joints = JointMap(limits_of(brazo.load("delta")))
    assert in_words(joints.settings()) == "mapping by joints: incremental, gain 1"
    joints.set("gain", [1, 2, 0.5])
    joints.set("absolute", True)
    assert in_words(joints.settings()) == ("mapping by joints: absolute, gains 1, 2, 0.5")


def test_lengths_scale_and_directions_turn():
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(100, 3))
    for k in (0.5, 1.0, 2.0):
        mapped = IncrementMap(scale=k)(steps)
        assert np.linalg.norm(mapped, axis=1) == pytest.approx(np.linalg.norm(steps, axis=1) / k)
    assert IncrementMap()([1, 0, 0]).tolist() == [0, 1, 0]
    assert IncrementMap()([0, 1, 0]).tolist() == [0, 0, -1]
    assert IncrementMap()([0, 0, 1]).tolist() == [-1, 0, 0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"scale": 0.0}, "greater than 0"),
        ({"scale": 5e-324}, "expected 0.001 to 1000"),
        ({"scale": 1e308}, "expected 0.001 to 1000"),
        ({"directions": np.full((3, 3), 1e308)}, "must be a rotation matrix"),
        ({"scale": float("nan")}, "greater than 0"),
        ({"directions": np.diag([1, 1, -1])}, "must be a rotation"),
        ({"directions": np.eye(2)}, r"shape \(2, 2\)"),
    ],
)
def test_bad_maps_are_refused(options, said):
    with pytest.raises(brazo.BrazoError, match=said):
        IncrementMap(**options)


@pytest.mark.parametrize("value", [True, False, "1", b"1", None, "inf"])
def test_booleans_and_text_are_no_numbers(value):
    arm = brazo.load("teleop-scara")
    by_joints = JointMap(limits_of(arm))
    by_pose = PoseMap(arm, limits_of(arm))
    for mapping, name in (
        (by_joints, "gain"),
        (by_pose, "scale"),
        (by_pose, "turn_scale"),
        (by_pose, "tool_speed"),
        (by_pose, "directions"),
    ):
        with pytest.raises(brazo.BrazoError, match=name):
            mapping.set(name, [value] * 9 if name == "directions" else value)
