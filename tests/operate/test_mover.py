"""Jogs of robots in a simulation, step by step."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.operate import HoldToRun, Mover

HELD = 0.5  # s


@pytest.mark.parametrize("name", ["scara1", "puma560", "rv2aj"])
def test_a_released_joint_jog_at_reduced_speed_brakes_at_once(name):
    sim = brazo.Simulation(brazo.load(name))
    (robot,) = sim.robots.values()
    mover, switch = Mover(lambda: sim, lambda: None), HoldToRun(clock=lambda: sim.time)
    assert mover.reduced

    def first_only(n):
        return np.eye(n)[0]

    held = mover.jog(robot, "joint", first_only, switch, switch.press())
    assert held is not None
    speeds = []

    def step(duration):
        for _ in range(round(duration / sim.dt)):
            switch.renew()
            sim.step()
            J = robot.arm.jacobian(robot.reference.q)[:3]
            speeds.append(float(np.linalg.norm(J @ robot.reference.qd)))

    step(HELD)
    steady = speeds[-1]
    assert 0.2 < steady < 0.25 and max(speeds) < 0.25
    switch.release()
    step(0.03)
    assert speeds[-1] < 0.98 * steady
    step(0.3)
    assert speeds[-1] == 0.0 and not robot.moving
