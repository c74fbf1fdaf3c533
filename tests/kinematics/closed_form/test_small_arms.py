"""Arms with two or three joints, and the Stanford arm: every branch, and the names of branches."""

from __future__ import annotations

import numpy as np
import pytest

from brazo.kinematics.closed_form import recognise
from brazo.kinematics.closed_form.planar_arm import PlanarArm
from brazo.kinematics.closed_form.point_arm import PointArm
from brazo.kinematics.closed_form.spherical_wrist import SphericalWrist
from brazo.model.dh import DHRow
from brazo.model.transforms import rot_x, rot_y, rot_z, translate
from tests.kinematics.closed_form.arms import Arm, H, check_round_trip

TILTED = translate(0.3, -0.2, 0.5) @ rot_x(np.pi / 6) @ rot_y(0.2)
TOOL = translate(0.04, -0.02, 0.15) @ rot_y(0.7) @ rot_z(0.3)


def arm_of(kinds: str, *rows: tuple[float, float, float], **more) -> Arm:
    """From (d, a, alpha) of the revolute joints, (theta, a, alpha) of the prismatic ones."""
    table = [
        DHRow("revolute", d=x, a=a, alpha=alpha)
        if kind == "R"
        else DHRow("prismatic", theta=x, a=a, alpha=alpha)
        for kind, (x, a, alpha) in zip(kinds, rows, strict=True)
    ]
    return Arm(table, base=TILTED, **more)


def configurations(arm: Arm, count: int, seed: int) -> np.ndarray:
    q = np.random.default_rng(seed).uniform(-np.pi, np.pi, (count, len(arm.rows)))
    sliding = [row.kind == "prismatic" for row in arm.rows]
    # Away from 0, where the slide of an arm whose axes all meet is singular.
    return np.where(sliding, 0.3 * q + 0.05 * np.sign(q), q)


PLANE = {
    "2R": arm_of("RR", (0.0, 0.5, 0.0), (0.1, 0.3, 0.0)),
    "2R, second axis opposite": arm_of("RR", (0.0, 0.5, np.pi), (0.1, 0.3, 0.0), tool=TOOL),
    "3R": arm_of("RRR", (0.0, 0.5, 0.0), (0.1, 0.3, 0.0), (0.0, 0.2, 0.0)),
    "3R with a tool": arm_of("RRR", (0.0, 0.5, 0.0), (0.1, 0.3, np.pi), (0.0, 0.2, 0.0), tool=TOOL),
}


@pytest.mark.parametrize("name", PLANE)
def test_plane_arms(name: str) -> None:
    arm = PLANE[name]
    assert isinstance(arm.solver, PlanarArm)
    q = configurations(arm, 2000, 1)
    check_round_trip(arm, q, full_pose=len(arm.rows) == 3)
    T = arm.fk(q[0])
    assert arm.solver.why_unreachable(T) is None
    T[:3, 3] += 0.01 * TILTED[:3, 2]
    assert "0.01 m away from the plane" in arm.solver.why_unreachable(T)
    T = TILTED.copy()
    T[:3, 3] += arm.fk(q[0])[:3, 3] - T[:3, 3] + 9.0 * TILTED[:3, 0]
    assert "m from axis 1; the arm reaches" in arm.solver.why_unreachable(T)


SPATIAL = {
    "elbow arm": arm_of("RRR", (0.4, 0.0, H), (0.0, 0.5, 0.0), (0.0, 0.4, 0.0)),
    "elbow arm with offsets": arm_of("RRR", (0.4, 0.1, H), (0.1, 0.5, 0.0), (0.05, 0.4, 0.3)),
    "axes 1, 2 meet": arm_of("RRR", (0.4, 0.0, 0.9), (0.1, 0.5, 0.7), (0.1, 0.4, 0.2)),
    "general": arm_of("RRR", (0.4, 0.2, 0.9), (0.1, 0.5, 0.7), (0.1, 0.4, 0.2)),
    "R-R-P": arm_of("RRP", (0.4, 0.0, -H), (0.15, 0.0, H), (0.0, 0.0, 0.0)),
    "R-R-P, negative offset": arm_of("RRP", (0.4, 0.0, -H), (-0.15, 0.0, H), (0.3, 0.1, 0.0)),
    "R-R-P, skewed slide": arm_of("RRP", (0.4, 0.0, 0.8), (0.15, 0.2, 0.5), (0.3, 0.1, 0.2)),
    "R-R-P, parallel axes": arm_of("RRP", (0.4, 0.4, 0.0), (0.1, 0.3, 0.2), (0.3, 0.1, 0.2)),
}


@pytest.mark.parametrize("name", SPATIAL)
def test_spatial_arms_with_three_joints(name: str) -> None:
    arm = SPATIAL[name]
    assert isinstance(arm.solver, PointArm)
    q = configurations(arm, 2000, 2)
    check_round_trip(arm, q, full_pose=False)
    T = arm.fk(q[0])
    assert arm.solver.why_unreachable(T) is None
    if not name.startswith("R-R-P"):
        T[:3, 3] += 9.0
        assert " m" in arm.solver.why_unreachable(T)


STANFORD = (
    (0.412, 0.0, -H),
    (0.154, 0.0, H),
    (-H, 0.0, 0.0),
    (0.0, 0.0, -H),
    (0.0, 0.0, H),
    (0.263, 0.0, 0.0),
)


def test_stanford_arm() -> None:
    """Paul's table of the Stanford arm."""
    arm = arm_of("RRPRRR", *STANFORD, tool=TOOL)
    assert isinstance(arm.solver, SphericalWrist)
    assert len(set(arm.solver.branch_names)) == 8
    check_round_trip(arm, configurations(arm, 2000, 3))


def test_other_small_arms_are_refused_with_a_reason() -> None:
    for arm, reason in (
        (arm_of("RR", (0.0, 0.5, 0.4), (0.1, 0.3, 0.0)), "axis 2 is not parallel to axis 1"),
        (arm_of("PRR", *STANFORD[:3]), "its joints are PRR, not RRR or RRP"),
        (arm_of("RRP", (0.4, 0.1, 0.8), (0.1, 0.2, 0.5), (0.3, 0.1, 0.2)), "neither parallel nor"),
        (arm_of("RRR", *[(0.1, 0.0, 0.4)] * 2, (0.0, 0.0, 0.0)), "its joints to move the tool"),
    ):
        found = recognise(arm.chain)
        assert isinstance(found, tuple)
        assert any(reason in str(why) for why in found), [str(why) for why in found]
