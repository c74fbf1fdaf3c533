"""Small simulations the tests share."""

from __future__ import annotations

from brazo.model.transforms import translate
from brazo.simulation import Simulation
from brazo.trajectory import quintic
from tests.simulation.cooperative import solve
from tests.world.scenes import GRIP, HAND_OVER, cell, pointing_down


def holding_sim(**options) -> Simulation:
    """One SCARA with a 0.4 kg bar in its closing gripper, 0.13 m off the bar's middle."""
    sim = Simulation(
        cell(
            "floor: none\n"
            "robots: [{name: arm, robot: scara2, start: [0, 0, 0, 0.1, 0]}]\n"
            "bodies: [{name: bar, box: [0.5, 0.03, 0.03], mass: 0.4, xyz: [0.73, 0, 0.2]}]\n"
        ),
        **options,
    )
    gripper = sim.robots["arm"].world.gripper
    assert gripper is not None
    gripper.place(0.03)
    sim.robots["arm"].grip(120)
    return sim


def both_holding_sim(seconds: float = 0.3, **options) -> Simulation:
    """The cooperative cell with bar 1 in the air, held by both robots."""
    sim = Simulation("cooperative", **options)
    x, y, z = HAND_OVER
    for name, side in (("scara1", 1.0), ("scara2", -1.0)):
        robot = sim.robots[name]
        q = solve(robot, pointing_down(x + side * GRIP, y, z + 0.006), robot.q)
        robot.world.set_state(q)
        robot.control.restart()
    sim.world.place("bar 1", translate(x, y, z))
    for robot in sim.robots.values():
        assert robot.world.gripper is not None
        robot.world.gripper.place(0.0301)
        robot.grip(120)
        robot.carry("bar 1", 0.5)
    sim.step(round(seconds / sim.dt))
    return sim


def approach(sim: Simulation, by: float = 0.2, seconds: float = 0.3) -> None:
    """Turn the shoulder of the holding robot."""
    robot = sim.robots["arm"]
    start = robot.reference.q
    robot.move(quintic(start, start + [by, 0, 0, 0, 0], seconds))
