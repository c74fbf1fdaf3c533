"""Tool poses at given times: reached, in one branch, with smaller deviation for more poses."""

from itertools import pairwise

import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.trajectory import line, path_error, via_poses

Q = np.radians([10, 60, -150, 20, 40, -40])


@pytest.fixture(scope="module")
def arm():
    return brazo.load("puma560")


@pytest.fixture(scope="module")
def path(arm):
    T = arm.fk(Q)
    end = T.copy()
    end[:3, 3] += [-0.2, 0.1, -0.2]
    return line(T, end, 2.0)


@pytest.mark.parametrize("degree", ["cubic", "quintic"])
def test_every_pose_is_reached_at_its_time(arm, path, degree):
    t = np.linspace(0, 2, 5)
    motion = via_poses(arm, t, path.pose(t), q0=Q, degree=degree)
    assert np.abs(arm.fk(motion.sample(t).q) - path.pose(t)).max() < 1e-12


def test_more_points_reduce_the_deviation_from_the_line(arm, path):
    errors = []
    for count in (2, 4, 8, 16, 32):
        t = np.linspace(0, 2, count + 1)
        motion = via_poses(arm, t, path.pose(t), path.velocity(t), q0=Q)
        errors.append(path_error(arm, motion, path).position)
    # A cubic with the right speeds has an error of fourth order.
    assert all(a > 7 * b for a, b in pairwise(errors))
    assert errors[-1] < 1e-6


def test_tool_velocities_become_joint_speeds(arm, path):
    t = np.linspace(0, 2, 5)
    v = path.velocity(t)
    motion = via_poses(arm, t, path.pose(t), [v[0], None, v[2], v[3], None], q0=Q)
    s = motion.sample(t[[2, 3]])
    assert np.abs(np.einsum("kij,kj->ki", arm.jacobian(s.q), s.qd) - v[[2, 3]]).max() < 1e-12


def test_all_points_are_in_the_branch_of_the_first(arm, path):
    t = np.linspace(0, 2, 5)
    for words in ("ABOVE", "BELOW"):
        motion = via_poses(arm, t, path.pose(t), branch=words)
        assert all(words in arm.configuration(q) for q in motion.sample(t).q)


def test_points_leave_the_orientation_free(arm, path):
    t = np.linspace(0, 2, 4)
    points = path.pose(t)[:, :3, 3]
    motion = via_poses(arm, t, points, q0=Q, orientation="free")
    assert np.abs(arm.fk(motion.sample(t).q)[:, :3, 3] - points).max() < 1e-8


def test_redundant_arm_uses_the_nearest_solution():
    arm = brazo.load("scara2")
    q = arm.poses["home"]
    T = np.repeat(arm.fk(q)[None], 3, axis=0)
    T[:, 0, 3] += [0.0, -0.05, -0.1]
    motion = via_poses(arm, [0, 1, 2], T, q0=q)
    assert np.abs(motion.sample(0.0).q - q).max() < 1e-6
    assert np.abs(arm.fk(motion.sample([0, 1, 2]).q) - T).max() < 1e-9


def test_a_pose_out_of_reach_is_reported_with_its_number_and_time(arm, path):
    T = path.pose([0.0, 1.0, 2.0])
    T[1, 0, 3] += 3.0
    with pytest.raises(BrazoError, match=r"poses\[1\], t = 0.5 s: .*reaches"):
        via_poses(arm, [0.0, 0.5, 2.0], T, q0=Q)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"t": [0.0, 1.0]}, "3 poses for 2 times"),
        ({"t": [0.0, 1.0, 1.0]}, "not later"),
        ({"velocities": [np.zeros(6)]}, "1 velocities for 3 poses"),
        ({"velocities": [np.zeros(3), None, None]}, "velocities[0] has shape (3,)"),
        ({"degree": "septic"}, "'septic' is not one of cubic, quintic"),
    ],
)
def test_bad_input_is_refused(arm, path, change, words):
    given = {"t": [0.0, 1.0, 2.0], "poses": path.pose([0.0, 1.0, 2.0]), "q0": Q} | change
    with pytest.raises(BrazoError) as error:
        via_poses(arm, **given)
    assert words in str(error.value)
