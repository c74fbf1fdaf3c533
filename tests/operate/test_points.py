"""A run through points: the current point, and the end."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.operate import Mover, PointRun, Points
from brazo.simulation import Simulation


@pytest.mark.parametrize("count", [0, 2])
def test_a_run_reports_its_point_from_before_the_first_tick_to_the_end(count):
    sim, points, ends = Simulation(brazo.load("scara2")), Points(), []
    robot = sim.robots["scara2"]
    for k in range(count):
        points.teach(robot.reference.q + [0.01 * (k + 1), 0, 0, 0, 0])
    mover = Mover(lambda: sim, lambda: None)
    run = PointRun(robot, list(points), mover, ends.append, done=lambda: ends.append("done"))
    numbers = [run.point]
    while run.tick(sim):
        numbers.append(run.point)
        sim.step()
    assert list(dict.fromkeys([*numbers, run.point])) == [*range(1, count + 1), 0]
    assert ends == ["done"]
    if count:
        assert np.abs(robot.reference.q - points.get(count).q).max() < 1e-9
