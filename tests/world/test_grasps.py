"""A gripper holds by friction without creep, reports the held body, or welds it."""

from __future__ import annotations

import numpy as np
import pytest

from brazo.model.shapes import Box, Cylinder, Sphere
from brazo.model.transforms import rot_x, rot_z, translate
from brazo.world import World
from brazo.world.grasps import face_angle
from tests.world.control import Hand, run
from tests.world.scenes import BAR_INERTIA, cell, holding


def in_hand(world: World) -> np.ndarray:
    return np.linalg.inv(world.robots["arm"].tool()) @ world.pose("bar")


@pytest.mark.parametrize("step", ["0.5ms", "1ms", "2ms"])
def test_a_bar_held_off_its_middle_creeps_less_than_a_micrometre_a_second(step):
    world, hand = holding(f"step: {step}")
    run(world, 0.5, hand)
    before = in_hand(world)
    run(world, 1.0, hand)
    after = in_hand(world)
    assert np.linalg.norm(after[:3, 3] - before[:3, 3]) < 1e-6
    turned = np.linalg.norm(after[:3, :3] - before[:3, :3]) / np.sqrt(2)
    assert turned < np.radians(1e-3)
    grasp = world.grasp("arm")
    assert grasp.held == "bar" and grasp.force == pytest.approx(60.0, abs=0.01)
    assert grasp.suitable and grasp.angle < np.radians(0.1) and not grasp.welded
    assert grasp.left.keys() == grasp.right.keys() == {"bar"}


def test_a_weak_grip_drops_the_bar():
    world, hand = holding(grip=10.0)
    run(world, 0.5, hand)
    assert world.grasp("arm").held is None
    assert world.pose("bar")[2, 3] < 0.1


@pytest.mark.parametrize("way", [1, -1])
def test_closing_gripper_centres_a_bar_without_bouncing(way):
    """The bar lies on a table, some millimetres off the middle of the open gripper."""
    world = World(cell(
        "floor: {height: 0.085, friction: 0.2}\n"
        "robots: [{name: arm, robot: scara2, start: [0, 0, 0, 0.194, 0]}]\n"
        "bodies:\n"
        f"  - {{name: bar, box: [0.5, 0.03, 0.03], mass: 0.4, xyz: [0.6, {way * 0.012}, 0.1]}}\n"
    ))  # fmt: skip
    hand = Hand(world, "arm")
    heard = []
    world.on_grasp(lambda event: heard.append((event.phase, event.body)))
    run(world, 0.1, hand)
    world.robots["arm"].gripper.grip(80)
    run(world, 0.6, hand)
    assert heard == [("grasped", "bar")]
    assert abs(world.pose("bar")[1, 3]) < 5e-4
    assert world.robots["arm"].gripper.opening == pytest.approx(0.03, abs=1e-4)
    world.robots["arm"].gripper.open()
    run(world, 0.5, hand)
    assert heard == [("grasped", "bar"), ("released", "bar")]
    assert world.robots["arm"].gripper.opening == pytest.approx(0.08, abs=1e-4)


def test_gripper_moves_to_an_opening_at_limited_speed():
    world = World(cell("floor: none\nrobots: [{name: arm, robot: scara2}]\n"))
    hand, gripper = Hand(world, "arm"), world.robots["arm"].gripper
    gripper.open(0.02)
    fastest = 0.0
    for _ in range(60):
        run(world, 0.01, hand)
        fastest = max(fastest, abs(gripper.speed))
    assert gripper.opening == pytest.approx(0.02, abs=1e-5)
    # With the lag of a 1 ms step it is faster than the ideal 0.2 m/s by a/(1 - exp(-a)), a = 0.6.
    assert 0.15 < fastest < 0.2 * 0.6 / (1 - np.exp(-0.6)) + 1e-3
    left, right = (world.pose(f"arm/finger {side}") for side in ("left", "right"))
    assert np.linalg.norm(left[:3, 3] - right[:3, 3]) == pytest.approx(0.06, abs=2e-5)


def test_contact_of_one_pad_is_no_grasp():
    world, _ = holding()
    world.robots["arm"].gripper.open()
    world.place("bar", translate(0.73, -0.0249, 0.2))
    world.step()
    grasp = world.grasp("arm")
    assert bool(grasp.left) != bool(grasp.right)
    assert grasp.body is None and not grasp.holds and np.isnan(grasp.angle)


@pytest.mark.parametrize(("yaw_deg", "suitable"), [(8.0, True), (13.0, False)])
def test_misaligned_bar_is_not_grasped(yaw_deg, suitable):
    world, _ = holding()
    world.place("bar", translate(0.6, 0, 0.2) @ rot_z(np.radians(yaw_deg)))
    world.robots["arm"].gripper.place(0.033 if suitable else 0.034)
    world.robots["arm"].gripper.grip(60)
    world.step(3)
    grasp = world.grasp("arm")
    assert grasp.body == "bar" and grasp.force > 2.0
    assert grasp.suitable == grasp.holds == suitable
    assert grasp.angle == pytest.approx(np.radians(yaw_deg), abs=np.radians(1.5))


def test_angles_to_the_nearest_face():
    y = np.array([0.0, 1.0, 0.0])
    tilted = rot_x(0.2)[:3, :3] @ y
    assert face_angle(Box((1, 1, 1)), tilted) == pytest.approx(0.2)
    assert face_angle(Box((1, 1, 1)), -tilted) == pytest.approx(0.2)
    assert face_angle(Box((1, 1, 1)), rot_x(0.2 + np.pi / 2)[:3, :3] @ y) == pytest.approx(0.2)
    assert face_angle(Cylinder(1, 1), rot_z(0.3)[:3, :3] @ y) == pytest.approx(0.0, abs=1e-7)
    assert face_angle(Cylinder(1, 1), tilted) == pytest.approx(0.2)
    assert face_angle(Cylinder(1, 1), rot_x(1.5)[:3, :3] @ y) == pytest.approx(np.pi / 2 - 1.5)
    assert face_angle(Sphere(1), tilted) == 0.0


SLIPPERY = "contact: {pad_friction: 0.02}"


def test_without_friction_the_bar_falls_but_a_weld_holds_it():
    world, hand = holding(SLIPPERY)
    run(world, 0.4, hand)
    assert world.grasp("arm").held is None
    world, hand = holding(SLIPPERY)
    gripper = world.robots["arm"].gripper
    gripper.weld = True
    run(world, 0.1, hand)
    grasp = world.grasp("arm")
    assert grasp.welded and grasp.held == "bar"
    before = in_hand(world)
    run(world, 0.6, hand)
    assert np.abs(in_hand(world) - before).max() < 1e-4
    # The weight enters the analytic model through the weld.
    assert world.robots["arm"].external_torque()[3] == pytest.approx(0.4 * 9.81, rel=1e-3)
    gripper.open()
    run(world, 0.3, hand)
    assert world.grasp("arm").held is None and world.pose("bar")[2, 3] < 0.0


def test_misaligned_body_is_not_welded():
    world, _ = holding(SLIPPERY)
    world.place("bar", translate(0.6, 0, 0.2) @ rot_z(np.radians(13)))
    gripper = world.robots["arm"].gripper
    gripper.weld = True
    gripper.place(0.034)
    world.step(5)
    assert not world.grasp("arm").welded


def test_welded_runs_are_restored_to_the_bit():
    world, hand = holding(SLIPPERY)
    world.robots["arm"].gripper.weld = True
    run(world, 0.1, hand)
    assert world.grasp("arm").welded
    state = world.save()
    run(world, 0.3, hand)
    end = world.mj_data.qpos.tobytes()
    world.reset()
    world.restore(state)
    run(world, 0.3, hand)
    assert world.mj_data.qpos.tobytes() == end


def test_a_gripper_that_passes_through_can_still_weld():
    world, hand = holding(SLIPPERY)
    world.robots["arm"].contact_response = False
    world.robots["arm"].gripper.weld = True
    hand.dynamics = hand.arm.with_payload(0.4, (0.13, 0, 0), BAR_INERTIA)
    run(world, 0.3, hand)
    assert world.grasp("arm").held == "bar"
    assert world.pose("bar")[2, 3] == pytest.approx(0.2, abs=2e-3)


def test_held_bar_stays_held_through_an_edit_of_the_robot_width():
    world, hand = holding()
    run(world, 0.2, hand)
    before = world.pose("bar")
    world.edit("arm", width=1.1)
    hand.robot = world.robots["arm"]
    run(world, 0.3, hand)
    assert world.grasp("arm").held == "bar"
    assert np.abs(world.pose("bar") - before).max() < 1e-4
