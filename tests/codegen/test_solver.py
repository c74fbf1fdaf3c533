"""The compiled least-squares solver on two real arms: success, limits, minima, determinism."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from brazo.codegen import Graph, compile_kernel, compile_solver, ring
from brazo.errors import BrazoError

sys.path.insert(0, str(Path(__file__).parent))
from arms import PANDA, PUMA, frames, ik_graph, jacobian, pose, rotation_residual

ARMS = {arm.name: arm for arm in (PUMA, PANDA)}


def _solver(arm, **options):
    g, e, J, cost = ik_graph(arm)
    return compile_solver(
        arm.name, g, e, J, *arm.limits.T, split=3, periodic=True, cost=cost, **options
    )


def _fk(arm):
    g = Graph()
    _, (R, p) = frames(arm, g.inputs("q", arm.n))
    return compile_kernel(f"{arm.name}_fk", g, {"T": [*p, *R[0], *R[1], *R[2]]})


SOLVER = {name: _solver(arm) for name, arm in ARMS.items()}
FK = {name: _fk(arm) for name, arm in ARMS.items()}


def _random_joints(arm, count, seed):
    return np.random.default_rng(seed).uniform(*arm.limits.T, (count, arm.n))


def _within(arm, x):
    return bool((x >= arm.limits[:, 0]).all() and (x <= arm.limits[:, 1]).all())


def _errors(name, x, targets):
    """Distance and angle between FK(x) and the targets, the angle by another library."""
    found = FK[name](x)
    distance = np.linalg.norm(found[..., :3] - targets[..., :3], axis=-1)
    R, Rt = (v[..., 3:].reshape(-1, 3, 3) for v in (found, targets))
    turn = R @ Rt.transpose(0, 2, 1)
    sine = np.stack(
        [
            turn[:, 2, 1] - turn[:, 1, 2],
            turn[:, 0, 2] - turn[:, 2, 0],
            turn[:, 1, 0] - turn[:, 0, 1],
        ]
    )
    cosine = np.trace(turn, axis1=1, axis2=2) - 1
    return distance, np.arctan2(np.linalg.norm(sine, axis=0), cosine)


@pytest.mark.parametrize("name", ARMS)
def test_the_jacobian_of_the_test_arm_is_that_of_its_forward_kinematics(name):
    arm = ARMS[name]
    q = _random_joints(arm, 1, 3)[0]
    axes, tool = frames(arm, q.tolist())
    J = np.array(jacobian(axes, tool))
    h = 1e-6
    for j in range(arm.n):
        dq = np.eye(arm.n)[j] * h
        plus, minus = FK[name](q + dq), FK[name](q - dq)
        assert np.allclose((plus[:3] - minus[:3]) / (2 * h), J[:3, j], atol=1e-8)
        turn = plus[3:].reshape(3, 3) @ minus[3:].reshape(3, 3).T
        assert np.allclose(Rotation.from_matrix(turn).as_rotvec() / (2 * h), J[3:, j], atol=1e-8)


@pytest.mark.parametrize("name", ARMS)
def test_every_pose_within_limits_is_reached(name):
    arm = ARMS[name]
    targets = FK[name](_random_joints(arm, 10_000, 1))
    found = SOLVER[name](targets)
    assert found.success.all()
    assert _within(arm, found.x)
    distance, angle = _errors(name, found.x, targets)
    assert distance.max() < 1.1e-10 and angle.max() < 1.1e-10
    assert np.median(distance) < 1e-15 and np.median(angle) < 1e-15  # the extra step squares it


@pytest.mark.parametrize("name", ARMS)
def test_poses_at_limits_and_singularities_are_reached(name):
    arm = ARMS[name]
    rng = np.random.default_rng(2)
    q = _random_joints(arm, 3000, 2)
    j = rng.integers(arm.n, size=1000)
    q[np.arange(1000), j] = arm.limits[j, rng.integers(2, size=1000)]
    wrist = 4 if arm is PUMA else 5
    q[1000:2000, wrist] = 0.0
    elbow = 2 if arm is PUMA else 3
    q[2000:, elbow] = -np.arctan2(0.0203, 0.4318) if arm is PUMA else arm.limits[3, 1]
    found = SOLVER[name](FK[name](q), tol_first=1e-9, tol_rest=1e-9)
    assert found.success.all() and _within(arm, found.x)


@pytest.mark.parametrize("name", ARMS)
def test_start_at_the_solution_returns_it(name):
    arm = ARMS[name]
    q = _random_joints(arm, 200, 4)
    found = SOLVER[name](FK[name](q), q)
    assert (found.attempts == 1).all()
    assert np.abs(found.x - q).max() < 1e-9


def test_single_batch_and_threads_give_the_same_bits():
    targets = FK["panda"](_random_joints(PANDA, 400, 5))
    solver = SOLVER["panda"]
    batch = solver(targets, threads=1)
    shared = solver(targets.reshape(20, 20, 12), threads=3)
    assert np.array_equal(shared.x.reshape(-1, 7), batch.x)
    for i in range(0, 400, 7):
        one = solver(targets[i])
        assert np.array_equal(one.x, batch.x[i])
        assert (one.iterations, one.attempts) == (batch.iterations[i], batch.attempts[i])
        assert (one.cost, one.success) == (batch.cost[i], batch.success[i])


def test_seed_determines_the_restarts():
    targets = FK["puma"](_random_joints(PUMA, 300, 6))
    solver = SOLVER["puma"]
    first, again, other = (solver(targets, seed=s) for s in (1, 1, 2))
    assert np.array_equal(first.x, again.x)
    restarted = first.attempts > 1
    assert restarted.any() and not np.array_equal(first.x[restarted], other.x[restarted])
    assert np.array_equal(first.x[~restarted], other.x[~restarted])


def test_half_a_turn_away_is_not_mistaken_for_a_solution():
    q = PUMA.limits.mean(axis=1)
    target = pose(PUMA, q)
    for axis in np.vstack([np.eye(3), [[0.6, -0.8, 0.0], [1 / 3, 2 / 3, -2 / 3]]]):
        turn = 2 * np.outer(axis, axis) - np.eye(3)
        flipped = np.concatenate([target[:3], (turn @ target[3:].reshape(3, 3)).ravel()])
        found = SOLVER["puma"](flipped, q)
        assert not found.success or _errors("puma", found.x[None], flipped[None])[1][0] < 1e-9
        stuck = SOLVER["puma"](flipped, q, attempts=1, iterations=1, polish=1)
        assert not stuck.success and stuck.rest > 1


@pytest.mark.parametrize("name", ARMS)
def test_out_of_reach_the_best_point_is_a_minimum_within_limits(name):
    """SciPy's bound-constrained minimiser must find no descent from there."""
    arm = ARMS[name]
    targets = FK[name](_random_joints(arm, 12, 8))
    targets[:, :3] *= 4.0 / np.linalg.norm(targets[:, :3], axis=1)[:, None]
    g, e, J, cost = ik_graph(arm)
    gradient = [sum((J[i][j] * e[i] for i in range(6)), 0.0) for j in range(arm.n)]
    f = compile_kernel("cost", g, {"cost": [cost], "gradient": gradient})
    found = SOLVER[name](targets, attempts=20)
    assert not found.success.any() and _within(arm, found.x)
    for x, p, reached in zip(found.x, targets, found.cost, strict=True):
        value, slope = f(x, p)
        assert value[0] == reached
        outward = ((x <= arm.limits[:, 0]) & (slope > 0)) | ((x >= arm.limits[:, 1]) & (slope < 0))
        assert np.abs(np.where(outward, 0.0, slope)).max() < 1e-6
        result = minimize(
            lambda y, p=p: tuple(v.squeeze() for v in f(y, p)),
            x,
            jac=True,
            bounds=arm.limits,
            method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-12},
        )
        assert reached <= result.fun * (1 + 1e-9)


def test_fewer_unknowns_than_rows():
    """Five joints, six rows: poses of that five-joint arm are reached."""
    held = Graph()
    x = held.inputs("x", 5)
    p = held.inputs("p", 12)
    full = [*x[:3], held.constant(0.3), *x[3:]]
    axes, (R, position) = frames(PUMA, full)
    turn, rotation_cost = rotation_residual(R, [p[3 + 3 * i : 6 + 3 * i] for i in range(3)])
    shift = [position[i] - p[i] for i in range(3)]
    rows = [[row[j] for j in (0, 1, 2, 4, 5)] for row in jacobian(axes, (R, position))]
    limits = PUMA.limits[[0, 1, 2, 4, 5]]
    solver = compile_solver(
        "five",
        held,
        [*shift, *turn],
        rows,
        *limits.T,
        split=3,
        periodic=True,
        cost=0.5 * sum((s * s for s in shift), 0.0) + rotation_cost,
    )
    q = _random_joints(PUMA, 500, 9)
    q[:, 3] = 0.3
    found = solver(FK["puma"](q))
    assert found.success.all()


def test_an_inequality_that_binds_holds_the_coordinate():
    """minimise (x0 - 2)^2 + (x1 - 1 + x0)^2 with x0 <= 1: x0 = 1, x1 = 0."""
    g = Graph()
    x, p = g.inputs("x", 2), g.inputs("p", 1)
    solver = compile_solver(
        "bound",
        g,
        [x[0] - p[0], x[1] - 1 + x[0]],
        [[1.0, 0.0], [1.0, 1.0]],
        [-1.0, -np.inf],
        [1.0, np.inf],
        sample=[[-1, -1], [1, 1]],
    )
    found = solver([2.0], attempts=3)
    assert not found.success
    assert found.x[0] == 1.0 and abs(found.x[1]) < 1e-7
    assert found.first == pytest.approx(1.0, abs=1e-12) and found.rest == 0.0
    inside = solver([0.5])
    assert inside.success and np.allclose(inside.x, [0.5, 0.5], atol=1e-12)


def test_a_periodic_coordinate_turns_into_its_limits():
    """cos and sin of an angle given; the start is outside and the path crosses the gap."""
    g = Graph()
    x, p = g.inputs("x", 1), g.inputs("p", 2)
    s, c = ring.sincos(x[0])
    solver = compile_solver("angle", g, [c - p[0], s - p[1]], [[-s], [c]], -3.0, 3.0, periodic=True)
    for angle in (2.9, -2.9, 0.0, 1.5):
        found = solver([np.cos(angle), np.sin(angle)], [2 * np.pi + 2.5])
        assert found.success and found.x[0] == pytest.approx(angle, abs=1e-12)
    gap = solver([np.cos(3.1), np.sin(3.1)])
    assert not gap.success and abs(gap.x[0]) == 3.0
    free = compile_solver(
        "free", g, [c - p[0], s - p[1]], [[-s], [c]], -np.inf, np.inf, periodic=True
    )
    assert free([np.cos(3.1), np.sin(3.1)]).success


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: s(np.zeros(11)), r"p has shape \(11,\); expected \(\.\.\., 12\)"),
        (lambda s: s(np.zeros(12), np.zeros(7)), r"x0 has shape \(7,\); expected \(\.\.\., 6\)"),
        (lambda s: s(np.full(12, np.nan)), r"p\[0\] is nan"),
        (lambda s: s(np.zeros((3, 12)), np.full((3, 6), np.inf)), r"x0\[0, 0\] is inf"),
        (lambda s: s(np.zeros((3, 12)), np.zeros((2, 6))), "do not broadcast"),
        (lambda s: s("pose"), "not an array of numbers"),
        (lambda s: s(np.zeros(12), attempts=0), "attempts=0"),
        (lambda s: s(np.zeros(12), tol_first=np.nan), "tol_first=nan"),
    ],
)
def test_invalid_calls_state_what_is_expected(call, words):
    with pytest.raises(BrazoError, match=words):
        call(SOLVER["puma"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lower": 1.0, "upper": 0.0}, r"x\[0\] has limits \[1.0, 0.0\]"),
        ({"upper": np.inf, "periodic": True}, "two finite limits or none"),
        ({"upper": np.inf}, "pass finite limits as 'sample'"),
        ({"sample": [[0.0], [1.0]]}, r"sample has shape \(2, 1\); expected \(2, 2\)"),
        ({"J": [[1.0]]}, "J has shape"),
        ({"split": 5}, "split is 5"),
        ({"name": "two words"}, "identifier"),
    ],
)
def test_bad_problems_are_refused(change, words):
    g = Graph()
    x, p = g.inputs("x", 2), g.inputs("p", 1)
    problem = {
        "name": "problem",
        "graph": g,
        "e": [x[0] - p[0], x[1]],
        "J": [[1.0, 0.0], [0.0, 1.0]],
        "lower": 0.0,
        "upper": 1.0,
    }
    with pytest.raises(BrazoError, match=words):
        compile_solver(**{**problem, **change})


def test_an_unknown_setting_of_the_plain_solver_is_named():
    with pytest.raises(BrazoError, match=r"unknown setting 'attempt'; settings: .*attempts"):
        SOLVER["panda"].plain(attempt=5)
