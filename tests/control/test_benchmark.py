"""Benchmark motions stay within the limits of the robot."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.control.benchmark import T_END, quintic, sines
from brazo.formats.library import robot_names

NARROW = """
name: narrow
joints:
  - {name: a, limits: [-0.5, 0.5]}
  - {name: b, a: 0.3, limits: [-0.5, 0.5]}
  - {name: c, a: 0.3, limits: [-0.2, 0.25]}
  - {name: d, a: 0.3, limits: [-2.0, 0.5]}
"""


@pytest.mark.parametrize("name", ["narrow", *robot_names()])
@pytest.mark.parametrize("motion", [quintic, sines])
def test_motions_stay_within_the_position_limits(name, motion):
    robot = brazo.loads(NARROW) if name == "narrow" else brazo.load(name)
    path = motion(robot)
    q = np.array([path(t)[0] for t in np.linspace(0.0, T_END, 201)])
    low, high = robot.limits.T
    assert (q >= low).all() and (q <= high).all()
    assert (np.ptp(q, axis=0) > 0.0).all()
