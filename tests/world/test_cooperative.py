"""The cooperative cell can do its work: every station is reachable, and a bar passes all of
them."""

from __future__ import annotations

import numpy as np
import pytest

from brazo.model.transforms import translate
from brazo.world import World
from tests.world.control import Hand, run
from tests.world.scenes import BAR_INERTIA, GRIP, HAND_OVER, pointing_down, solve

PICK = 0.021  # height of the tool over the platform: the fingers' tips stay clear of it
HIGH = 0.19


@pytest.fixture
def world() -> World:
    return World("cooperative")


def room(hand: Hand, q: np.ndarray) -> np.ndarray:
    """How far each joint is from its limits."""
    low, high = hand.arm.limits.T
    return np.minimum(q - low, high - q)


def insertion(world: World, front: float) -> np.ndarray:
    """The tool's pose when the bar's front end is this far inside the chute's mouth."""
    chute = world.cell.chutes[0]
    x, y, z = chute.pose[:3, 3] + (front - 0.25 - GRIP) * chute.pose[:3, 0]
    return pointing_down(x, y, z, chute.yaw, chute.angle)


def test_every_station_is_reachable_with_margin(world):
    one, two = Hand(world, "scara1"), Hand(world, "scara2")
    x, y, _ = HAND_OVER
    revolute, prismatic = np.radians(15), 0.010
    stations = [(two, pointing_down(x - GRIP, y, HIGH)), (one, pointing_down(x + GRIP, y, HIGH))]
    for bar in world.cell.bodies:
        at = bar.pose[:3, 3]
        stations += [(two, pointing_down(at[0] - GRIP, at[1], h)) for h in (PICK, 0.10, HIGH)]
    stations += [(one, insertion(world, front)) for front in np.linspace(-0.03, 0.26, 8)]
    for hand, T in stations:
        spare = room(hand, solve(hand, T, hand.hold))
        least = [revolute if k == "revolute" else prismatic for k in hand.arm.joint_kinds]
        assert (spare >= least).all(), (hand.robot.name, T[:3, 3], spare)


def test_a_bar_is_picked_handed_over_and_sent_down_the_chute(world):
    """Picked up, carried, held by both, let go by one, tilted, inserted, released: all friction."""
    one, two = Hand(world, "scara1"), Hand(world, "scara2")
    touched, grasps = set(), []
    world.on_contact(
        lambda e: e.phase == "begin" and touched.add((e.contact.first, e.contact.second)),
        kinds=["robot-robot", "self", "robot-fixture", "robot-object"],
    )
    world.on_grasp(lambda e: grasps.append((e.phase, e.robot)))
    bar, (x, y, _) = world.cell.bodies[0].pose[:3, 3], HAND_OVER
    above = solve(two, pointing_down(bar[0] - GRIP, bar[1], 0.10), two.hold)
    pick = solve(two, pointing_down(bar[0] - GRIP, bar[1], PICK), above)
    lift = solve(two, pointing_down(bar[0] - GRIP, bar[1], HIGH), above)
    give = solve(two, pointing_down(x - GRIP, y, HIGH), lift)
    near = solve(one, pointing_down(x + GRIP, y, HIGH + 0.1), np.array([-1.6, -1.6, 0, 0, 0]))
    take = solve(one, pointing_down(x + GRIP, y, HIGH), near)
    ready = solve(one, pointing_down(x + GRIP, y, HIGH + 0.06), take)

    def both(seconds: float) -> None:
        run(world, seconds, one, two)

    two.go(above, 1.0)
    one.go(near, 1.0)
    both(1.1)
    two.go(pick, 0.8)
    both(0.9)
    two.robot.gripper.grip(120)
    both(0.4)
    assert world.grasp("scara2").held == "bar 1"
    two.carry("bar 1", 0.4, BAR_INERTIA)
    two.go(lift, 0.8)
    both(0.9)
    two.go(give, 1.0)
    both(1.2)
    one.go(take, 0.8)
    both(0.9)
    one.robot.gripper.grip(120)
    both(0.5)
    assert world.grasp("scara1").held == world.grasp("scara2").held == "bar 1"
    two.robot.gripper.open()
    two.empty()
    one.carry("bar 1", 0.4, BAR_INERTIA)
    both(0.4)
    back = two.robot.tool()
    two.line(lambda s: translate(x=-0.2 * s) @ back, 0.8)
    both(0.9)
    one.go(ready, 0.6)
    two.go(above, 0.8)
    both(0.9)
    # The bar's long end leads; the elbow stays on its side.
    rel = np.linalg.inv(one.robot.tool()) @ world.pose("bar 1")
    mouth, down = world.cell.chutes[0].pose[:3, 3], world.cell.chutes[0].pose[:3, 0]
    base = np.linalg.inv(one.robot.base)
    start = insertion(world, -0.03)
    turned = start @ np.diag([-1.0, -1.0, 1.0, 1.0])
    ways = [b.q for T in (start, turned) for b in one.arm.ik(base @ T, q0=ready).all]

    def leads(q) -> bool:
        T = one.robot.base @ one.arm.fk(q)
        return ((T @ rel)[:3, 3] - T[:3, 3]) @ down > 0 and q[1] * ready[1] > 0

    at_mouth = next(q for q in ways if leads(q))
    half = (ready + at_mouth) / 2
    half[[2, 4]] = at_mouth[[2, 4]]
    one.go(half, 1.2)
    both(1.3)
    one.go(at_mouth, 1.2)
    both(1.5)
    grip = one.robot.base @ one.arm.fk(at_mouth)
    one.line(lambda s: translate(*(0.29 * s * down)) @ grip, 1.8)
    both(2.0)
    inside = np.linalg.inv(world.cell.chutes[0].pose) @ world.pose("bar 1")
    assert inside[:3, 3] == pytest.approx([0.01, 0, 0], abs=0.008)
    one.robot.gripper.open()
    one.empty()
    both(1.2)
    gone = world.pose("bar 1")[:3, 3]
    assert gone[0] > mouth[0] + 0.3 and gone[2] == pytest.approx(-0.285, abs=1e-3)
    assert grasps == [
        ("grasped", "scara2"), ("grasped", "scara1"), ("released", "scara2"),
        ("released", "scara1"),
    ]  # fmt: skip
    assert touched == {
        (f"{robot}/finger {side}", "bar 1")
        for robot in ("scara1", "scara2")
        for side in ("left", "right")
    }
    others = [world.pose(f"bar {k}")[:3, 3] - world.cell.bodies[k - 1].pose[:3, 3] for k in (2, 3)]
    assert np.abs(others).max() < 1e-4
