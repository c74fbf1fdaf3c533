"""Nearest configurations for tool targets, for arms with any base and tool frame."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.model.transforms import pose
from brazo.operate.nearest_target import nearest_target

ARM = brazo.load("rv2aj")
TARGETS = [
    pose(xyz, rpy)
    for xyz, rpy in (
        ((0.6, 0.2, 0.5), (0.3, 2.0, 0.0)),
        ((-0.5, 0.5, 0.2), (0.0, 1.2, 2.5)),
        ((0.1, -0.7, 0.3), (0.5, 2.8, -1.5)),
        ((0.0, 0.0, 1.2), (0.0, 0.4, 0.0)),  # on axis 1
    )
]


@pytest.mark.parametrize("rule", ["pitch", "position"])
@pytest.mark.parametrize("T", TARGETS[:3])  # on axis 1, rounding would decide the yaw
def test_the_result_does_not_depend_on_the_base_frame(T, rule):
    moved = pose((0.4, -0.3, 0.1), (0.5, -0.8, 1.1))
    found, wanted = (
        nearest_target(arm, target, 0.2, rule)
        for arm, target in ((ARM.with_base(moved), moved @ T), (ARM, T))
    )
    assert found.q == pytest.approx(wanted.q, abs=1e-9)
    assert found.distance == pytest.approx(wanted.distance, abs=1e-9)


@pytest.mark.parametrize("T", TARGETS)
def test_the_result_does_not_depend_on_the_orientation_of_the_tool_frame(T):
    turned = pose((0, 0, 0), (1.5, 0.4, 0.3))
    tool = np.linalg.inv(ARM.frame(np.zeros(5), ARM.body_names[-1])) @ ARM.fk(np.zeros(5))
    found = nearest_target(ARM.with_tool(tool @ turned), T @ turned, 0.2, "pitch")
    assert found.q == pytest.approx(nearest_target(ARM, T, 0.2, "pitch").q, abs=1e-9)


def test_a_reachable_target_is_reached_with_its_pitch():
    for q in np.random.default_rng(1).uniform(*(0.98 * ARM.limits.T), (50, 5)):
        found = nearest_target(ARM, ARM.fk(q), float(q[4]), "pitch")
        assert found.reached
