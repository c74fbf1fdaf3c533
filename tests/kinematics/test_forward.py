"""Forward kinematics and Jacobians against golden numbers, two other engines and differences."""

import numpy as np
import pytest

import brazo
from brazo.formats.library import robot_names
from brazo.kinematics.forward import posture, tool_pose
from brazo.kinematics.kernels import MOST_UNROLLED
from brazo.kinematics.tree import TreeKinematics
from brazo.model.description import TreeModel
from tests import oracles
from tests.dynamics.random_robots import random_robot

GOLDEN_ROBOTS = {
    "puma560": "puma560_corke",
    "puma560-drives": "puma560_corke",
    "srm1": "srm1_corrected",
    "srm1-printed": "srm1_as_printed",
    "scara2": "scara2_proposed",
    "pegasus": "pegasus_proposed",
    "rv2aj": "rv2aj_paper",
    "rv2aj-maker": "rv2aj_maker",
}
TREES = [name for name in robot_names() if name != "delta"]


@pytest.mark.parametrize(("name", "key"), GOLDEN_ROBOTS.items())
def test_golden_poses(golden, name, key):
    arm = brazo.load(name)
    for entry in golden["robots"][key]["fk"]:
        q = entry["q"] if "q" in entry else entry["j"]
        assert np.abs(arm.fk(q) - entry["T"]).max() <= 1e-12


def test_golden_scara1_with_and_without_its_tool(golden):
    arm = brazo.load("scara1")
    for entry in golden["robots"]["scara1_proposed"]["fk"]:
        assert np.abs(arm.frames(entry["q"])[-1] - entry["T"]).max() <= 1e-12
    for entry in golden["robots"]["scara1_proposed"]["fk_tool"]:
        assert np.abs(arm.fk(entry["q"]) - entry["T"]).max() <= 1e-12


def test_golden_teleop_scara(golden):
    arm = brazo.load("teleop-scara")
    for entry in golden["robots"]["teleop_scara"]["fk"]:
        theta = entry["theta"]
        q = [theta[0], entry["d"], *theta[1:]]
        assert np.abs(arm.fk(q) - entry["T"]).max() <= 1e-12


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("engine", ["pinocchio", "mujoco"])
def test_frames_and_jacobian_equal_another_engine(name, engine):
    arm = brazo.load(name)
    other = oracles.pinocchio(arm.model) if engine == "pinocchio" else oracles.mujoco(arm.model)
    q = arm.random_q(1000, seed=3)
    frames, tools, J = arm.frames(q), arm.fk(q), arm.jacobian(q)
    for i in range(len(q)):
        assert np.abs(frames[i] - other.frames(q[i])).max() <= 1e-12
        assert np.abs(tools[i] - other.tool(q[i])).max() <= 1e-12
        assert np.abs(J[i] - other.jacobian(q[i])).max() <= 1e-12


@pytest.mark.parametrize("name", robot_names())
def test_jacobian_is_the_derivative(name):
    arm = brazo.load(name)
    low, high = arm._kinematics.sampling_box.T
    q = arm.random_q(50, seed=1)
    q = low + 0.05 * (high - low) + 0.9 * (q - low)
    h = 1e-5
    J = arm.jacobian(q)
    R = arm.fk(q)[:, :3, :3]
    for j in range(arm.n):
        step = np.zeros(arm.n)
        step[j] = h
        # Fourth-order central differences: error ~ h⁴ + eps/h.
        points = [arm.fk(q + k * step) for k in (-2, -1, 1, 2)]
        dT = (points[0] - 8 * points[1] + 8 * points[2] - points[3]) / (12 * h)
        W = dT[:, :3, :3] @ R.transpose(0, 2, 1)
        omega = np.stack([W[:, 2, 1], W[:, 0, 2], W[:, 1, 0]], axis=1)
        assert np.abs(dT[:, :3, 3] - J[:, :3, j]).max() < 2e-10
        assert np.abs(omega - J[:, 3:, j]).max() < 2e-10


@pytest.mark.parametrize("name", TREES)
def test_tool_frame_jacobian_is_turned(name):
    arm = brazo.load(name)
    q = arm.random_q(20, seed=2)
    R = arm.fk(q)[:, :3, :3]
    J, turned = arm.jacobian(q), arm.jacobian(q, frame="tool")
    assert np.abs(R @ turned[:, :3] - J[:, :3]).max() < 1e-14
    assert np.abs(R @ turned[:, 3:] - J[:, 3:]).max() < 1e-14


def test_jacobian_of_a_link_ends_at_that_link():
    arm = brazo.load("puma560")
    J = arm.jacobian(arm.random_q(seed=4), link="link 3")
    assert np.abs(J[:, :3]).max() > 0.1
    assert not J[:, 3:].any()


@pytest.mark.parametrize("name", TREES)
def test_compiled_poses_equal_long_double(name):
    """The same algorithm over another ring: NumPy's long double."""
    model = brazo.load(name).model
    assert isinstance(model, TreeModel)
    arm = brazo.load(name)
    for q in arm.random_q(20, seed=5):
        R, p = tool_pose(model, posture(model, list(q.astype(np.longdouble))))
        T = arm.fk(q)
        assert np.abs(T[:3, :3].ravel() - np.array(R, dtype=float)).max() < 2e-15
        assert np.abs(T[:3, 3] - np.array(p, dtype=float)).max() < 2e-15


def test_batches_are_the_single_calls_bit_by_bit():
    arm = brazo.load("puma560")
    q = arm.random_q((3, 7), seed=6)
    for whole, one in ((arm.fk(q), arm.fk), (arm.jacobian(q), arm.jacobian)):
        singles = np.array([[one(x) for x in row] for row in q])
        assert whole.shape == singles.shape
        assert (whole == singles).all()


@pytest.mark.parametrize(
    ("q", "said"),
    [
        (np.zeros(5), r"\(5,\)"),
        (np.zeros((4, 7)), r"\(4, 7\)"),
        ([0, 0, np.nan, 0, 0, 0], "finite"),
        ("home", "no pose named"),
        (0.0, r"\(\.\.\., 6\)"),
    ],
)
def test_wrong_joint_values_are_named(q, said):
    arm = brazo.load("puma560")
    for method in (arm.fk, arm.frames, arm.jacobian):
        with pytest.raises(brazo.BrazoError, match=said):
            method(q)


def test_unknown_link_and_frame_list_the_known_ones():
    arm = brazo.load("scara1")
    with pytest.raises(brazo.BrazoError, match="links: base, link 1"):
        arm.frame(np.zeros(5), "elbow")
    with pytest.raises(brazo.BrazoError, match="'base' or 'tool'"):
        arm.jacobian(np.zeros(5), frame="world")


@pytest.mark.parametrize("joints", [3, MOST_UNROLLED])
def test_frames_of_all_links_come_from_one_kernel(joints):
    """Poses and Jacobians of every link against Pinocchio, unrolled and looped."""
    model = random_robot(joints, joints)
    arm, other = TreeKinematics(model), oracles.pinocchio(model)
    q = np.random.default_rng(7).uniform(-2, 2, joints)
    frames, J = other.frames(q), other.jacobian(q)
    assert np.abs(arm.frames(q) - frames).max() <= 1e-12
    assert np.abs(arm.jacobian(q) - J).max() <= 1e-12
    kernel = arm.kernels.link_jacobian("base")
    for i, name in enumerate(arm.body_names):
        assert np.abs(arm.frame(q, name) - frames[i]).max() <= 1e-12
        found = arm.jacobian(np.stack([q, -q]), link=name)[0]
        # The twist of a frame is that of the tool, taken to its origin, for the joints before it.
        lever = frames[i][:3, 3] - other.tool(q)[:3, 3]
        wanted = np.concatenate([J[:3] + np.cross(J[3:].T, lever).T, J[3:]])
        assert np.abs(found[:, :i] - wanted[:, :i]).max(initial=0.0) <= 1e-11
        assert not found[:, i:].any()
    assert arm.kernels.link_jacobian("base") is kernel
