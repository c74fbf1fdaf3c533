"""Conversions of rotations: against scipy, the reference table and their own round trips."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from brazo.errors import BrazoError
from brazo.kinematics import orientation as o

RNG = np.random.default_rng(20)
RANDOM = Rotation.random(2000, rng=RNG)
# All rotations by quarter turns, where every convention has its singularities.
QUARTERS = np.array(
    [
        Rotation.from_euler("zyz", angles, degrees=True).as_matrix()
        for angles in itertools.product((0, 90, 180, 270), repeat=3)
    ]
).round()
NAMES = ("oat", "rpy", "zyz", "wxyz", "rotvec")


def both_ways(name: str):
    return getattr(o, f"matrix_from_{name}"), getattr(o, f"{name}_from_matrix")


@pytest.mark.parametrize("name", NAMES)
def test_round_trip_gives_back_the_matrix(name: str) -> None:
    there, back = both_ways(name)
    for R in (RANDOM.as_matrix(), QUARTERS):
        np.testing.assert_allclose(there(back(R)), R, atol=4e-15, rtol=0)


@pytest.mark.parametrize("name", NAMES)
def test_round_trip_close_to_singularities(name: str) -> None:
    there, back = both_ways(name)
    small = 10.0 ** RNG.uniform(-17, -3, (len(QUARTERS), 50, 3))
    R = QUARTERS[:, None] @ Rotation.from_rotvec(small.reshape(-1, 3)).as_matrix().reshape(
        -1, 50, 3, 3
    )
    np.testing.assert_allclose(there(back(R)), R, atol=3e-14, rtol=0)


@pytest.mark.parametrize(
    ("name", "oracle"),
    [
        ("rpy", lambda R: R.as_euler("xyz")),
        ("zyz", lambda R: R.as_euler("ZYZ")),
        ("rotvec", lambda R: R.as_rotvec()),
        ("wxyz", lambda R: R.as_quat(canonical=True, scalar_first=True)),
    ],
)
def test_values_agree_with_scipy(name: str, oracle) -> None:
    there, back = both_ways(name)
    values = oracle(RANDOM)
    np.testing.assert_allclose(back(RANDOM.as_matrix()), values, atol=2e-12, rtol=0)
    np.testing.assert_allclose(there(values), RANDOM.as_matrix(), atol=4e-15, rtol=0)


def test_oat_reference_values(golden) -> None:
    for entry in golden["other"]["oat"]:
        oat = np.deg2rad(entry["OAT_deg"])
        np.testing.assert_allclose(o.matrix_from_oat(oat), entry["R"], atol=1e-13)
        np.testing.assert_allclose(o.oat_from_matrix(np.array(entry["R"])), oat, atol=1e-13)
        zyz = np.deg2rad(entry["zyz_deg"])
        np.testing.assert_allclose(o.matrix_from_zyz(zyz), entry["R"], atol=1e-13)


def test_oat_of_puma_poses(golden) -> None:
    for entry in golden["robots"]["puma560_fgl"]["fk"]:
        R = np.array(entry["T"])[:3, :3]
        np.testing.assert_allclose(o.matrix_from_oat(entry["OAT_rad"]), R, atol=1e-13)
        oat = o.oat_from_matrix(R)
        np.testing.assert_allclose(o.matrix_from_oat(oat), R, atol=1e-13)
        if entry["oat_is_singular"]:
            assert oat[0] == 0.0
        else:
            turn = (oat - entry["OAT_rad"] + np.pi) % (2 * np.pi) - np.pi
            np.testing.assert_allclose(turn, 0, atol=1e-13)


def test_oat_at_rest_points_along_minus_y_and_ninety_degrees_of_altitude_points_down() -> None:
    np.testing.assert_allclose(o.matrix_from_oat([0, 0, 0])[:, 2], [0, -1, 0], atol=1e-15)
    np.testing.assert_allclose(o.matrix_from_oat([0, np.pi / 2, 0])[:, 2], [0, 0, -1], atol=1e-15)


def test_rotvec_keeps_relative_accuracy_of_tiny_turns() -> None:
    for size in (1e-3, 1e-8, 1e-12, 1e-100, 0.0):
        rotvec = size * np.array([0.6, -0.64, 0.48])
        back = o.rotvec_from_matrix(o.matrix_from_rotvec(rotvec))
        np.testing.assert_allclose(back, rotvec, rtol=1e-12 if size > 1e-9 else 1e-9)


def test_rotvec_near_half_a_turn() -> None:
    axis = np.array([0.48, -0.6, 0.64])
    for gap in (1e-3, 1e-8, 1e-14, 0.0):
        R = Rotation.from_rotvec((np.pi - gap) * axis).as_matrix()
        back = o.rotvec_from_matrix(R)
        assert abs(np.linalg.norm(back) - (np.pi - gap)) < 2e-15 + 4e-15
        same = min(np.abs(back / np.linalg.norm(back) - s * axis).max() for s in (1, -1))
        assert same < 1e-14


def test_angle_between_is_accurate_at_both_ends() -> None:
    axis = np.array([0.36, 0.48, -0.8])
    Ra = RANDOM[:50].as_matrix()
    for angle in (0.0, 1e-12, 1e-6, 1.0, np.pi - 1e-6, np.pi - 1e-12, np.pi):
        Rb = Ra @ Rotation.from_rotvec(angle * axis).as_matrix()
        np.testing.assert_allclose(o.angle_between(Ra, Rb), angle, atol=4e-15, rtol=0)


def test_nearest_rotation_repairs_a_rounded_matrix_and_never_mirrors() -> None:
    R = RANDOM[:200].as_matrix()
    np.testing.assert_allclose(o.nearest_rotation(R.round(4)), R, atol=2e-4)
    eyes = np.broadcast_to(np.eye(3), R.shape)
    repaired = o.nearest_rotation(RNG.normal(size=(200, 3, 3)))
    np.testing.assert_allclose(repaired @ np.swapaxes(repaired, 1, 2), eyes, atol=1e-14)
    np.testing.assert_allclose(np.linalg.det(repaired), 1.0, atol=1e-14)


def test_leading_dimensions_broadcast() -> None:
    R = RANDOM[:24].as_matrix().reshape(2, 3, 4, 3, 3)
    for name in NAMES:
        there, back = both_ways(name)
        assert back(R).shape[:3] == (2, 3, 4)
        np.testing.assert_allclose(there(back(R)), R, atol=4e-15)


def test_quaternion_of_no_length_is_refused() -> None:
    with pytest.raises(BrazoError, match="length 0"):
        o.matrix_from_wxyz([0.0, 0.0, 0.0, 0.0])
