"""Robots, cells and controllers reach another process by their description."""

import pickle
import subprocess
import sys

import numpy as np

import brazo
from brazo.control import LQR, PID, Reference

READ = """
import pickle, sys
from brazo.control import Reference
arm, cell, controllers, wanted = pickle.load(sys.stdin.buffer)
q = arm.poses["ready"]
results = [arm.fk(q), arm.mass_matrix(q)]
for one in controllers:
    goal = [0.1] * one.robot.n
    results.append(one.torque(0.0, [0.0] * one.robot.n, [0.0] * one.robot.n,
                              Reference(goal, goal, goal)))
assert [r.name for r in cell.robots] == wanted
sys.stdout.buffer.write(pickle.dumps(results))
"""


def test_a_fresh_process_gets_the_same_results() -> None:
    arm, cell = brazo.load("puma560"), brazo.load_cell("cooperative")
    scara = brazo.load("scara2")
    controllers = [PID(kp=[10.0] * 5), LQR()]
    for one in controllers:
        one.bind(scara, 1e-3)
    controllers.append(brazo.Simulation(cell).robots["scara1"].controller)
    content = pickle.dumps((arm, cell, controllers, [robot.name for robot in cell.robots]))
    result = subprocess.run([sys.executable, "-c", READ], input=content, capture_output=True)
    assert result.returncode == 0, result.stderr.decode()
    q = arm.poses["ready"]
    expected = [arm.fk(q), arm.mass_matrix(q)]
    for one in controllers:
        goal, zero = [0.1] * one.robot.n, [0.0] * one.robot.n
        one.reset(zero, zero)
        expected.append(one.torque(0.0, zero, zero, Reference(goal, goal, goal)))
    for ours, theirs in zip(expected, pickle.loads(result.stdout), strict=True):
        assert np.array_equal(ours, theirs)
