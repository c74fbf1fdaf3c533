"""Nearest reachable points of the RV-2AJ against exhaustive search over its joint values."""

import json

import numpy as np
import pytest
from scipy.spatial import cKDTree
from typer.testing import CliRunner

import brazo
from brazo.cli.main import app

ARM = brazo.load("rv2aj")
OA, AB, BC, TOOL = 0.2975, 0.25, 0.16, 0.1446
LIMITS = np.radians([[-150, 150], [-60, 120], [-110, 120], [-90, 90], [-200, 200]])
TARGETS = 5000


def targets(count: int, seed: int) -> np.ndarray:
    """Positions in and out of reach, all around the arm."""
    rng = np.random.default_rng(seed)
    return rng.uniform([-0.75, -0.75, -0.3], [0.75, 0.75, 1.0], (count, 3))


def plane(j2, j3, j4):
    """Radius and height of the tool by eq. (1) of the paper, angles from the vertical."""
    upper, fore, tool = j2, j2 + j3, j2 + j3 + j4
    radius = AB * np.sin(upper) + BC * np.sin(fore) + TOOL * np.sin(tool)
    return radius, OA + AB * np.cos(upper) + BC * np.cos(fore) + TOOL * np.cos(tool)


def grid(count: int, *joints: int):
    axes = np.meshgrid(*(np.linspace(*LIMITS[j], count) for j in joints), indexing="ij")
    return [axis.ravel() for axis in axes]


def attained(found, xyz) -> None:
    """The result is what its configuration gives, inside the limits."""
    assert (found.q >= LIMITS[:, 0] - 1e-12).all() and (found.q <= LIMITS[:, 1] + 1e-12).all()
    distance = np.linalg.norm(ARM.fk(found.q)[:3, 3] - xyz)
    assert abs(distance - found.distance) < 1e-12


def test_no_configuration_is_nearer_than_the_position_rule():
    tree = cKDTree(np.stack(plane(*grid(70, 1, 2, 3)), axis=-1))
    yaws = np.linspace(*LIMITS[0], 31)
    points = targets(TARGETS // 2, 1)
    ahead = points[:, :1] * np.cos(yaws) + points[:, 1:2] * np.sin(yaws)
    aside = points[:, 1:2] * np.cos(yaws) - points[:, :1] * np.sin(yaws)
    flat = np.stack([ahead, np.broadcast_to(points[:, 2:], ahead.shape)], axis=-1)
    nearest = np.hypot(tree.query(flat)[0], aside).min(axis=1)
    outside = 0
    for xyz, searched in zip(points, nearest, strict=True):
        found = ARM.nearest_point(xyz, -np.pi / 2)
        attained(found, xyz)
        assert found.distance <= searched + 1e-12
        assert found.distance >= searched - 0.1  # of the grid of yaws, 10°
        outside += found.distance > 1e-9
    assert 200 < outside < len(points) - 200


@pytest.mark.parametrize("pitch_deg", [-90, -60, 0, 30, 120])
def test_no_configuration_of_the_pitch_is_nearer_than_the_pitch_rule(pitch_deg):
    pitch = np.radians(pitch_deg)
    j2, j3 = grid(400, 1, 2)
    trees = {}
    for facing in (1, -1):
        # Angle of the tool from the vertical, positive forward.
        tool = np.arctan2(facing * np.cos(pitch), np.sin(pitch))
        j4 = (tool - j2 - j3 + np.pi) % (2 * np.pi) - np.pi
        fits = np.abs(j4) <= LIMITS[3, 1]
        trees[facing] = cKDTree(np.stack(plane(j2[fits], j3[fits], j4[fits]), axis=-1))
    for xyz in targets(TARGETS // 10, pitch_deg + 200):
        found = ARM.nearest_point(xyz, pitch, rule="pitch")
        attained(found, xyz)
        assert np.cos(found.pitch - pitch) > 1.0 - 1e-15
        searched = np.inf
        for facing, tree in trees.items():
            yaw = np.arctan2(facing * xyz[1], facing * xyz[0])
            for q1 in [yaw] if abs(yaw) <= LIMITS[0, 1] else LIMITS[0]:
                ahead = xyz[0] * np.cos(q1) + xyz[1] * np.sin(q1)
                aside = xyz[1] * np.cos(q1) - xyz[0] * np.sin(q1)
                searched = min(searched, np.hypot(tree.query([ahead, xyz[2]])[0], aside))
        assert searched - 4e-3 < found.distance <= searched + 1e-12


def test_reachable_targets_are_reached_with_their_pitch():
    rng = np.random.default_rng(3)
    for q in rng.uniform(*(0.98 * LIMITS).T, (200, 5)):
        q[3] = np.clip(q[3], -1.5, 1.5)
        T = ARM.fk(q)
        radius, _ = plane(*q[1:4])
        tool = q[1:4].sum()
        pitch = np.arctan2(np.cos(tool), np.sin(tool) * np.sign(radius))
        for rule in ("pitch", "position"):
            found = ARM.nearest_point(T[:3, 3], pitch, q[4], rule)
            assert found.reached and found.distance < 1e-9
            assert abs(np.angle(np.exp(1j * (found.pitch - pitch)))) < 1e-9


def test_the_position_rule_gives_the_nearest_pitch_at_a_reachable_position():
    xyz, wanted = np.array([0.45, 0.0, 0.35]), np.radians(80.0)
    found = ARM.nearest_point(xyz, wanted)
    assert found.distance < 1e-9 and not found.reached
    j2, j3, j4 = grid(100, 1, 2, 3)
    radius, height = plane(j2, j3, j4)
    near = np.hypot(radius - 0.45, height - 0.35) < 8e-3
    pitches = np.pi / 2 - (j2 + j3 + j4)[near]
    best = np.abs(np.angle(np.exp(1j * (pitches - wanted)))).min()
    assert abs(found.pitch - wanted) == pytest.approx(best, abs=0.1)


def test_the_paper_keeps_the_wrist_on_the_sphere_of_its_reach():
    # Inside the joint limits the paper's limited arccosine stretches the arm toward the wrist.
    xyz, pitch = np.array([0.6, 0.1, 0.3]), 0.0
    found = ARM.nearest_point(xyz, pitch, rule="pitch")
    wrist = np.hypot(np.hypot(0.6, 0.1) - TOOL, 0.3 - OA)
    assert found.distance == pytest.approx(wrist - (AB + BC), abs=1e-12)


def test_other_arms_are_refused():
    with pytest.raises(brazo.BrazoError, match="arms of five joints"):
        brazo.load("puma560").nearest_point([0.4, 0.0, 0.3], 0.0)
    with pytest.raises(brazo.BrazoError, match="not one of pitch, position"):
        ARM.nearest_point([0.4, 0.0, 0.3], 0.0, rule="near")  # type: ignore[arg-type]


def test_the_shell_prints_the_nearest_configuration():
    def ik(*options: str):
        given = ["ik", "rv2aj", "--xyz", "0.6", "0.1", "0.3", *options, "--json"]
        return CliRunner().invoke(app, given)

    for rule in ("pitch", "position"):
        done = ik("--nearest", rule, "--pitch", "-30")
        assert done.exit_code == 1  # not reached
        shown, found = (
            json.loads(done.stdout),
            ARM.nearest_point([0.6, 0.1, 0.3], -np.pi / 6, rule=rule),
        )
        np.testing.assert_allclose(shown["q"], found.q, atol=1e-12)
        assert shown["distance"] == pytest.approx(found.distance)
    assert "belong together" in str(ik("--nearest", "pitch").exception)
