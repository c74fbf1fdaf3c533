"""Estimated inertias of the RV-2AJ: from its solids, physical, and those of its file."""

import numpy as np
import pytest
from estimate_inertia import estimated, field_text

import brazo
from brazo.model.inertia import broken_rules


def test_the_file_of_the_rv2aj_has_the_estimates():
    arm = brazo.load("rv2aj")
    bodies = estimated(arm, 17.0, None)
    assert sum(one.mass for one in bodies) == pytest.approx(17.0, rel=1e-12)
    for (_, given), one in zip(arm.model.inertias, bodies[1:], strict=True):
        assert given is not None and not broken_rules(given)
        assert given.mass == pytest.approx(one.mass, rel=1e-3)
        np.testing.assert_allclose(given.com, one.com, rtol=1e-3, atol=1e-9)
        np.testing.assert_allclose(given.tensor, one.tensor, rtol=1e-3, atol=1e-9)


def test_a_cylinder_has_the_inertia_of_the_formula():
    arm = brazo.loads(
        "name: rod\njoints: [{parts: [{cylinder: [2cm, 30cm]}]}]\nbase: {parts: []}\n"
    )
    one = estimated(arm, None, 1000.0)[1]
    mass = 1000.0 * np.pi * 0.02**2 * 0.3
    assert one.mass == pytest.approx(mass, rel=0.02)  # of a prism with many sides
    across = one.mass * (3 * 0.02**2 + 0.3**2) / 12.0
    assert one.tensor[0, 0] == pytest.approx(across, rel=1e-3)
    assert field_text(one).startswith("mass: 0.37")


def test_motion_and_torque_inputs_move_it():
    arm = brazo.load("rv2aj")
    home = arm.poses["home"]
    assert arm.has_dynamics
    low, high = arm.limits.T
    assert (home > low + np.radians(10.0)).all() and (home < high - np.radians(10.0)).all()
    sim = brazo.Simulation(arm, {"rv2aj": None})
    robot = sim.robots["rv2aj"]
    robot.world.torque[:] = arm.gravity(home)
    for _ in range(50):
        sim.step()
    assert np.abs(robot.q - home).max() < 1e-9  # the torques balance the weight
    robot.world.torque[1] += 1.0
    for _ in range(50):
        sim.step()
    assert robot.q[1] > home[1] + 1e-3
