"""Small simulations the tests share."""

from __future__ import annotations

from brazo.simulation import Simulation
from brazo.trajectory import quintic
from tests.world.scenes import cell


def holding_sim(**options) -> Simulation:
    """One SCARA with a 0.4 kg bar in its closing clamp, 0.13 m off the bar's middle."""
    sim = Simulation(
        cell(
            "floor: none\n"
            "robots: [{name: arm, robot: scara2, start: [0, 0, 0, 0.1, 0]}]\n"
            "bodies: [{name: bar, box: [0.5, 0.03, 0.03], mass: 0.4, xyz: [0.73, 0, 0.2]}]\n"
        ),
        **options,
    )
    clamp = sim.robots["arm"].world.clamp
    assert clamp is not None
    clamp.place(0.03)
    sim.robots["arm"].grip(120)
    return sim


def approach(sim: Simulation, by: float = 0.2, seconds: float = 0.3) -> None:
    """Turn the shoulder of the holding robot."""
    robot = sim.robots["arm"]
    start = robot.reference.q
    robot.move(quintic(start, start + [by, 0, 0, 0, 0], seconds))
