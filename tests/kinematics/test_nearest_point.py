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
TARGETS = 5000  # half of them for each rule


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


def minimum_distances(points: np.ndarray) -> np.ndarray:
    """Min distances (k,) of points from the tool over all joint values, by numeric optimisation.

    From the nearest nodes of a grid over four joints, a projected Levenberg-Marquardt method
    minimises the distance within the limits, for all targets and starts at once.
    """
    joints = np.stack(grid(36, 1, 2, 3), axis=-1)
    tree = cKDTree(np.stack(plane(*joints.T), axis=-1))
    yaws = np.linspace(*LIMITS[0], 61)
    ahead = points[:, :1] * np.cos(yaws) + points[:, 1:2] * np.sin(yaws)
    aside = points[:, 1:2] * np.cos(yaws) - points[:, :1] * np.sin(yaws)
    flat = np.stack([ahead, np.broadcast_to(points[:, 2:], ahead.shape)], axis=-1)
    away, node = tree.query(flat)
    order = np.argsort(np.hypot(away, aside), axis=1)[:, [0, 1, 4]]
    rows = np.arange(len(points))[:, None]
    q = np.concatenate([yaws[order][..., None], joints[node[rows, order]]], axis=-1)
    q = q.reshape(-1, 4)
    goal = np.repeat(points, 3, axis=0)
    low, high = LIMITS[:4].T
    damping = np.full(len(q), 1e-3)
    r, J = residual(q, goal)
    cost = np.sum(r**2, axis=1)
    for _ in range(120):
        g = np.einsum("kij,ki->kj", J, r)
        held = ((q <= low) & (g > 0)) | ((q >= high) & (g < 0))
        free = (~held).astype(float)
        Jf = J * free[:, None]
        A = np.einsum("kij,kil->kjl", Jf, Jf) + damping[:, None, None] * np.eye(4)
        step = -np.linalg.solve(A, (g * free)[..., None])[..., 0]
        tried = np.clip(q + step, low, high)
        r1, J1 = residual(tried, goal)
        c1 = np.sum(r1**2, axis=1)
        better = c1 < cost
        q, cost = np.where(better[:, None], tried, q), np.where(better, c1, cost)
        r, J = np.where(better[:, None], r1, r), np.where(better[:, None, None], J1, J)
        damping = np.clip(np.where(better, 0.3 * damping, 4.0 * damping), 1e-12, 1e3)
    return np.sqrt(cost.reshape(-1, 3).min(axis=1))


def residual(q: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tool minus goal (k, 3) and its derivatives (k, 3, 4), from eq. (1) of the paper."""
    lengths = np.array([AB, BC, TOOL])
    angle = np.cumsum(q[:, 1:], axis=1)
    out, up = lengths * np.sin(angle), lengths * np.cos(angle)
    radius, height = out.sum(axis=1), OA + up.sum(axis=1)
    c, s = np.cos(q[:, 0]), np.sin(q[:, 0])
    r = np.stack([radius * c, radius * s, height], axis=1) - goal
    # A joint turns all links after it.
    d_radius = np.cumsum(up[:, ::-1], axis=1)[:, ::-1]
    d_height = -np.cumsum(out[:, ::-1], axis=1)[:, ::-1]
    J = np.zeros((len(q), 3, 4))
    J[:, 0, 0], J[:, 1, 0] = -radius * s, radius * c
    J[:, 0, 1:], J[:, 1, 1:] = d_radius * c[:, None], d_radius * s[:, None]
    J[:, 2, 1:] = d_height
    return r, J


def test_no_configuration_is_nearer_than_the_position_rule():
    points = targets(TARGETS // 2, 1)
    searched = minimum_distances(points)
    found = [ARM.nearest_point(xyz, -np.pi / 2) for xyz in points]
    for one, xyz in zip(found, points, strict=True):
        attained(one, xyz)
    distance = np.array([one.distance for one in found])
    assert (distance <= searched + 1e-9).all()
    # The optimisation ends in a local minimum for a few starts.
    close = distance >= searched - 1e-6
    assert close.mean() > 0.999
    assert 200 < np.sum(distance > 1e-9) < len(points) - 200


@pytest.mark.parametrize("pitch_deg", [-90, -60, 0, 30, 120])
def test_no_configuration_of_the_pitch_is_nearer_than_the_pitch_rule(pitch_deg):
    pitch = np.radians(pitch_deg)
    points = targets(TARGETS // 10, pitch_deg + 200)
    searched = np.full(len(points), np.inf)
    for facing in (1, -1):
        # Angle of the tool from the vertical, positive forward.
        tool = np.arctan2(facing * np.cos(pitch), np.sin(pitch))
        yaw = np.arctan2(facing * points[:, 1], facing * points[:, 0])
        for end in LIMITS[0]:
            q1 = np.where(np.abs(yaw) <= LIMITS[0, 1], yaw, end)
            ahead = points[:, 0] * np.cos(q1) + points[:, 1] * np.sin(q1)
            aside = points[:, 1] * np.cos(q1) - points[:, 0] * np.sin(q1)
            flat = np.stack([ahead, points[:, 2]], axis=1)
            searched = np.minimum(searched, np.hypot(in_plane(flat, tool), aside))
    for xyz, least in zip(points, searched, strict=True):
        found = ARM.nearest_point(xyz, pitch, rule="pitch")
        attained(found, xyz)
        assert np.cos(found.pitch - pitch) > 1.0 - 1e-15
        assert least - 2e-6 < found.distance <= least + 1e-9


def in_plane(points: np.ndarray, tool: float) -> np.ndarray:
    """Min distances (k,) from points in the arm's plane, for one angle of the tool.

    The best nodes of a grid over J2 and J3, refined by ever smaller grids around them.
    """
    j2, j3 = grid(240, 1, 2)
    fits, p = placed(j2, j3, tool)
    tree = cKDTree(p[fits])
    _, node = tree.query(points, k=4)
    at = np.stack([j2[fits], j3[fits]], axis=-1)[node].reshape(-1, 2)
    goal = np.repeat(points, 4, axis=0)
    side = np.linspace(-1.0, 1.0, 9)
    du, dv = (axis.ravel() for axis in np.meshgrid(side, side))
    width = np.radians(1.5)
    best = np.full(len(goal), np.inf)
    for _ in range(14):
        u = np.clip(at[:, :1] + width * du, *LIMITS[1])
        v = np.clip(at[:, 1:] + width * dv, *LIMITS[2])
        fits, p = placed(u, v, tool)
        away = np.where(fits, np.linalg.norm(p - goal[:, None], axis=-1), np.inf)
        k = np.argmin(away, axis=1)
        rows = np.arange(len(goal))
        at, best = np.stack([u[rows, k], v[rows, k]], axis=1), away[rows, k]
        width *= 0.45
    return best.reshape(-1, 4).min(axis=1)


def placed(j2: np.ndarray, j3: np.ndarray, tool: float) -> tuple[np.ndarray, np.ndarray]:
    """Whether J4 is within its limits, and positions (..., 2) in the arm's plane."""
    j4 = (tool - j2 - j3 + np.pi) % (2 * np.pi) - np.pi
    return np.abs(j4) <= LIMITS[3, 1] + 1e-12, np.stack(plane(j2, j3, j4), axis=-1)


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
    with pytest.raises(brazo.BrazoError, match="arm with five joints"):
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
    assert "must be given together" in str(ik("--nearest", "pitch").exception)
