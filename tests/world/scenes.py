"""Small worlds the tests share."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from brazo.model.transforms import rot_y, rot_z, translate
from brazo.world import World, load_cell, parse_cell
from tests.world.control import Hand, run

DOWN = np.diag([1.0, -1.0, -1.0, 1.0])  # a tool that points down, x along the world's
BAR_INERTIA = 0.4 / 12 * np.array([2 * 0.03**2, 0.5**2 + 0.03**2, 0.5**2 + 0.03**2])
GRIP = 0.10  # m from a bar's middle
HAND_OVER = (-0.10, 0.0, 0.184)  # a bar's middle while both hold it


def cell(text: str):
    return parse_cell("name: test\n" + text, Path("test.yaml"))


def pointing_down(x: float, y: float, z: float, yaw: float = 0.0, tilt: float = 0.0) -> np.ndarray:
    """A tool's pose in the world; `tilt` leans its x axis down."""
    return translate(x, y, z) @ rot_z(yaw) @ rot_y(tilt) @ DOWN


def solve(hand: Hand, pose: np.ndarray, q0, turned: bool = True):
    """The nearest solution that puts the tool at a pose, or (`turned`) at the half turn of it."""
    base = np.linalg.inv(hand.robot.base)
    wanted = [pose, pose @ rot_z(np.pi)] if turned else [pose]
    found = [
        branch.q
        for T in wanted
        for branch in hand.arm.ik(base @ T, q0=q0).all
        if branch.within_limits
    ]
    assert found, hand.arm.ik(base @ pose, q0=q0).reason
    return min(found, key=lambda q: np.abs(q - q0).max())


def both_holding(seconds: float = 0.3) -> tuple[World, Hand, Hand]:
    """The cooperative cell with bar 1 in the air, held by both robots."""
    world = World(load_cell("cooperative"))
    x, y, z = HAND_OVER
    hands = []
    for name, side in (("scara1", 1.0), ("scara2", -1.0)):
        hand = Hand(world, name)
        q = solve(hand, pointing_down(x + side * GRIP, y, z + 0.006), world.robots[name].q)
        world.robots[name].set_state(q)
        hand.hold = q
        hands.append(hand)
    world.place("bar 1", translate(x, y, z))
    for hand in hands:
        hand.robot.gripper.place(0.0301)
        hand.robot.gripper.grip(120)
        hand.carry("bar 1", 0.2, BAR_INERTIA / 2)
    run(world, seconds, *hands)
    return world, hands[0], hands[1]


def holding(extra: str = "", shape: str = "box: [0.5, 0.03, 0.03]", grip: float = 120.0):
    """One SCARA with a 0.4 kg bar in its gripper, 0.13 m off the bar's middle."""
    world = World(
        cell(
            f"floor: none\n{extra}\n"
            "robots: [{name: arm, robot: scara2, start: [0, 0, 0, 0.1, 0]}]\n"
            f"bodies: [{{name: bar, {shape}, mass: 0.4, xyz: [0.73, 0, 0.2]}}]\n"
        )
    )
    hand = Hand(world, "arm")
    hand.carry("bar", 0.4, BAR_INERTIA)
    hand.robot.gripper.place(0.03)
    hand.robot.gripper.grip(grip)
    return world, hand
