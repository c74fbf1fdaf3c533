"""Collision checks and motions of a robot without a program."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import brazo
from brazo.program import FreeSpace, NoPath
from brazo.program.free_space import space_of
from brazo.trajectory import check
from brazo.world import World, parse_cell

WALL = """name: wall
robots: [{name: arm, robot: spatial-3r, start: [0.9, 0.4, 0]}]
fixtures: [{name: wall, box: [0.6, 0.04, 1.2], xyz: [0.7, 0, 0.6]}]
"""


@pytest.fixture(scope="module")
def arm():
    return brazo.load("spatial-3r")


@pytest.fixture(scope="module")
def cell():
    return parse_cell(WALL)


def test_a_robot_on_its_floor(arm):
    down = [0.0, np.radians(-20), np.radians(-80)]  # the tool would be 22 cm below the floor
    assert arm.fk(down)[2, 3] < -0.05
    assert brazo.is_free(arm, "ready") is True
    assert not brazo.is_free(arm, down)
    assert brazo.is_free(arm, np.stack([arm.poses["ready"], down])).tolist() == [True, False]
    assert "floor" in str(FreeSpace(arm).hit(down))


@pytest.mark.parametrize("name", ["planar-2r", "planar-3r", "stanford"])
@pytest.mark.parametrize("clearance", [0.003, 0.02])
def test_links_close_to_the_floor_in_the_first_pose(name, clearance):
    arm = brazo.load(name)
    assert brazo.is_free(arm, "ready", clearance=clearance)
    if name == "stanford":
        assert not brazo.is_free(arm, "zero")  # a rod 33 cm below the base
    else:
        assert brazo.is_free(arm, "zero", clearance=clearance)


def test_a_motion_around_a_wall(arm, cell):
    q0, q1 = np.array([0.9, 0.4, 0.0]), np.array([-0.9, 0.4, 0.0])
    motion = brazo.plan(arm, q0, q1, cell, seed=1)
    assert np.abs(motion.sample(motion.start).q - q0).max() < 1e-12
    assert np.abs(motion.sample(motion.end).q - q1).max() < 1e-12
    table = motion.table(0.01)
    # Points along both links against the box of the wall, independent of the collision engine.
    f = np.linspace(0.0, 1.0, 40)[:, None, None]
    _, shoulder, elbow, tip = arm.frames(table.q)[..., :3, 3].swapaxes(0, 1)
    points = np.concatenate([shoulder + f * (elbow - shoulder), elbow + f * (tip - elbow)])
    inside = (np.abs(points - [0.7, 0.0, 0.6]) <= [0.3, 0.02, 0.6]).all(axis=-1)
    assert not inside.any()
    assert not check(motion, arm)
    straight = q0 + np.linspace(0, 1, 50)[:, None] * (q1 - q0)
    assert not brazo.is_free(arm, straight, cell).all()
    assert brazo.is_free(arm, table.q[::10], cell).all()


def test_a_motion_that_is_free_is_straight(arm):
    q0, q1 = [0.0, 1.0, 0.2], [0.5, 1.5, 0.3]
    motion = brazo.plan(arm, q0, q1, speed=0.5)
    q = motion.table(0.05).q - q0
    direction = np.subtract(q1, q0)
    assert np.abs(q - np.outer(q @ direction, direction) / (direction @ direction)).max() < 1e-9
    assert motion.duration == pytest.approx(2 * brazo.plan(arm, q0, q1).duration)


def test_a_world_that_moves_and_is_edited(arm):
    text = WALL + "bodies: [{name: ball, sphere: 0.05, mass: 1, xyz: [3, 0, 1]}]\n"
    world = World(parse_cell(text))
    q = [2.0, 0.4, 0.0]
    T = np.eye(4)
    T[:3, 3] = arm.fk(q)[:3, 3]
    space = FreeSpace(arm, world)
    for where in (brazo.is_free, lambda arm, q, _: space.is_free(q)):
        assert where(arm, q, world)
        world.place("ball", T)
        assert not where(arm, q, world)
        assert "ball" in str(space.hit(q))
        world.reset()
        assert where(arm, q, world)
    base = np.eye(4)
    base[:3, :3] = [[0, 1, 0], [-1, 0, 0], [0, 0, 1]]  # turned by -90°, the arm is near the wall
    free = [np.pi / 2, 0.4, 0.0]
    assert brazo.is_free(arm, free, world) and space.is_free(free)
    world.edit("arm", base=base)
    assert not brazo.is_free(arm, free, world) and not space.is_free(free)


def test_a_cell_file_that_changes(arm, tmp_path):
    file = tmp_path / "wall.yaml"
    file.write_text(WALL)
    q = [0.0, 0.4, 0.0]
    assert not brazo.is_free(arm, q, file)
    file.write_text(WALL.replace("xyz: [0.7", "xyz: [7.7"))
    assert brazo.is_free(arm, q, file)
    assert space_of(arm, file) is space_of(arm, file)


def test_a_robot_that_was_checked_can_be_freed():
    arm = brazo.load("planar-2r").with_tool((0.1, 0.0, 0.0))
    brazo.is_free(arm, "ready")
    found = weakref.ref(arm)
    del arm
    gc.collect()
    assert found() is None


def test_threads_share_one_checker(arm, cell):
    q = np.random.default_rng(1).uniform(-1.0, 1.0, (400, 3))
    expected = brazo.is_free(arm, q, cell)
    assert 50 < expected.sum() < 350
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda one: brazo.is_free(arm, one, cell), q))
    assert found == expected.tolist()


def test_mistakes_are_named(arm, cell):
    with pytest.raises(NoPath, match=r"the goal is in collision: .*wall"):
        brazo.plan(arm, [0.9, 0.4, 0.0], [0.0, 0.2, -0.4], cell)
    with pytest.raises(brazo.BrazoError, match=r"q1: joint 2 \(shoulder\) at 9 rad is outside"):
        brazo.plan(arm, "ready", [0, 9, 0])
    with pytest.raises(
        brazo.BrazoError,
        match=r"q: expected finite values of shape \(\.\.\., 3\), got shape \(2,\)",
    ):
        brazo.is_free(arm, [0, 1])
    with pytest.raises(brazo.BrazoError, match="has 3 joints, 'puma560' has 6"):
        brazo.is_free(brazo.load("puma560"), "ready", cell)
    with pytest.raises(brazo.BrazoError, match="has no robot 'spatial-3r'; robots: "):
        brazo.is_free(arm, "ready", "cooperative")
