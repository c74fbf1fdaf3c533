"""Environments: the checks of Gymnasium, batches against single ones, physics, messages."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import SyncVectorEnv

import brazo
from brazo.errors import BrazoError
from brazo.study.gym import CellReachEnv, ReachEnv, ReachVectorEnv
from brazo.world.cell_file import parse_cell


@pytest.mark.parametrize(
    ("robot", "action"), [("puma560", "velocity"), ("scara2", "torque"), ("delta", "velocity")]
)
def test_an_environment_passes_the_check_of_gymnasium(robot, action) -> None:
    env = gymnasium.make("brazo/Reach-v0", robot=robot, action=action)
    check_env(env.unwrapped, skip_render_check=True)


def test_the_environment_of_a_cell_passes_the_check_of_gymnasium() -> None:
    env = gymnasium.make("brazo/CellReach-v0", cell="cooperative", robot="scara1")
    check_env(env.unwrapped, skip_render_check=True)


def test_many_robots_move_bit_for_bit_as_gymnasium_moves_single_ones() -> None:
    """Gymnasium's own vector environment of single ones is the oracle, episodes' ends included."""
    options = {"robot": "scara2", "steps": 6, "tolerance": 0.12}
    many = gymnasium.make_vec("brazo/Reach-v0", 5, **options)
    assert isinstance(many.unwrapped, ReachVectorEnv)
    single = SyncVectorEnv([lambda: ReachEnv(**options)] * 5)
    assert many.metadata["autoreset_mode"] == single.metadata["autoreset_mode"]
    assert many.observation_space == single.observation_space
    assert many.action_space == single.action_space
    rng, ends = np.random.default_rng(0), np.zeros(2, dtype=int)
    assert data_equivalence(many.reset(seed=3)[0], single.reset(seed=3)[0], exact=True)
    for _ in range(25):
        actions = rng.uniform(-1.0, 1.0, (5, 5)).astype(np.float32)
        ours, theirs = many.step(actions), single.step(actions)
        for a, b in zip(ours[:4], theirs[:4], strict=True):
            assert np.array_equal(a, b)
        ends += ours[2].sum(), ours[3].sum()
    assert (ends > 0).all()  # both ways to end an episode occurred


def test_a_torque_moves_the_robot_as_its_simulation() -> None:
    env = ReachEnv("scara2", action="torque", dt=0.02, substeps=20)
    env.reset(seed=0)
    action = np.array([0.02, -0.01, 0.01, 0.1, 0.0])
    for _ in range(3):
        env.step(action)
    arm = brazo.load("scara2")
    limits = brazo.control.base.torque_limits(arm)
    run = arm.simulate(torque=action * limits, q0=env.task.start, t_end=0.06, method="rk4", dt=1e-3)
    assert env.q == pytest.approx(run.q[-1], rel=1e-9, abs=1e-12)


def test_joints_stop_at_their_limits() -> None:
    env = ReachEnv("scara2", steps=500)
    env.reset(seed=0, options={"goal": [9.0, 9.0, 9.0]})
    for _ in range(150):
        env.step(np.ones(5))
    high = brazo.load("scara2").limits[:, 1]
    bounded = np.isfinite(high)
    assert (env.q[bounded] <= high[bounded]).all() and env.q[0] == pytest.approx(high[0], abs=1e-6)


def test_velocity_actions_are_followed() -> None:
    env = ReachEnv("puma560")
    env.reset(seed=0, options={"goal": [9.0, 9.0, 9.0]})
    action = np.array([0.1, 0.0, -0.05, 0.0, 0.1, 0.0])
    for _ in range(20):
        env.step(action)
    assert env.qd == pytest.approx(env.task.command(action), abs=1e-3)


def swung(fixtures: str) -> float:
    """Angle of the shoulder of a SCARA in a cell after 0.8 s at full speed, rad."""
    text = "name: wall\nrobots: [{name: arm, robot: scara1, start: [0, 0, 0.02, 0, 0]}]\n"
    env = CellReachEnv(parse_cell(f"{text}fixtures: [{fixtures}]\n"), "arm")
    env.reset(seed=0, options={"goal": [0.0, 0.0, 9.0]})
    for _ in range(40):
        env.step(np.array([1.0, 0.0, 0.0, 0.0, 0.0]))
    assert env.sim.time == pytest.approx(40 * env.task.dt)
    return float(env.sim.robots["arm"].q[0])


def test_a_fixture_stops_a_robot_of_a_cell() -> None:
    assert swung("") > 2.0
    # The wall begins at 30 cm: the arm of 55 cm along x meets it before 60 degrees.
    assert swung("{name: wall, box: [10cm, 10cm, 2m], xyz: [0.2, 0.35, 0]}") < 1.05


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: ReachEnv("puma560", action="torque"),
            "joint 'waist' of puma560 has no max_torque",
        ),
        (lambda: ReachEnv("scara2", action="jump"), "action 'jump' is not one of velocity, torque"),
        (lambda: ReachEnv("scara2", dt=0.0), "dt is 0; it must be finite and greater than 0"),
        (lambda: ReachEnv("scara2", tolerance=9.0).reset(), "no goal of scara2 .* a smaller toler"),
        (lambda: ReachEnv("scara2", spread=1e-3).reset(), "with spread = 0.001, .* use a smaller"),
        (lambda: ReachVectorEnv(0, "scara2"), "num_envs = 0; it must be an integer of at least 1"),
        (lambda: CellReachEnv("cooperative", "arm9"), "arm9"),
        (lambda: CellReachEnv("cooperative", dt=0.0015), "a multiple of the step of the cell"),
        (lambda: ReachEnv("scara2").step([0.0, 1.0]), r"the action has shape \(2,\); expected"),
    ],
)
def test_bad_input(make, message) -> None:
    with pytest.raises(BrazoError, match=message):
        make()


def test_without_gymnasium_the_message_says_what_to_install() -> None:
    code = "import sys; sys.modules['gymnasium'] = None; import brazo.study.gym"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert 'pip install "brazo[gym]"' in result.stderr
