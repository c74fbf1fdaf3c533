"""Values of the inspector against independently computed ones."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.lab.panels.inspector import inspection


@pytest.fixture(scope="module")
def puma():
    return brazo.load("puma560")


def test_a_stretched_wrist_is_singular_and_its_joints_are_named(puma):
    found = inspection.dexterity(puma, puma.poses["ready"])
    assert found.manipulability == 0.0 and found.condition == np.inf
    assert found.warning.startswith("Singular: wrist roll and flange can move")
    near = puma.poses["ready"] + [0, 0, 0, 0, 0.01, 0]
    warning = inspection.dexterity(puma, near).warning
    assert warning.startswith("Near a singularity: ") and "fast motion of wrist roll" in warning


def test_no_warning_away_from_singularities(puma):
    q = puma.poses["nominal"]
    found = inspection.dexterity(puma, q)
    J = puma.jacobian(q) * np.repeat([1.0, found.length], 3)[:, None]
    assert found.warning == ""
    assert found.manipulability == pytest.approx(abs(np.linalg.det(J)), rel=1e-10)
    assert found.condition == pytest.approx(np.linalg.cond(J), rel=1e-10)


def test_arm_that_cannot_tilt_its_tool_is_not_singular():
    arm = brazo.load("teleop-scara")
    assert arm.mobility < 6
    assert inspection.dexterity(arm, arm.random_q(seed=3)).warning == ""


def test_every_branch_holds_the_pose(puma):
    q = puma.poses["nominal"]
    T = puma.fk(q)
    found = inspection.branches(puma, T, q)
    assert len(found) == 8 and [b.name for b in found] == sorted(b.name for b in found)
    for branch in found:
        assert np.abs(puma.fk(branch.q) - T).max() < 1e-9
        inside = (branch.q > puma.limits[:, 0]) & (branch.q < puma.limits[:, 1])
        assert bool(inspection.beyond(puma, branch)) != bool(inside.all())
    below = next(b for b in found if b.name == "RIGHTY BELOW FLIP")
    assert inspection.beyond(puma, below).startswith("shoulder −47.8°")


@pytest.mark.parametrize("name", ["panda", "iiwa14"])
def test_branches_of_a_seven_joint_arm_include_the_current_one(name):
    arm = brazo.load(name)
    q = np.array(next(iter(arm.poses.values()))) + 0.1
    T = arm.fk(q)
    found = inspection.branches(arm, T, q)
    assert len(found) == len({one.name for one in found}) > 1
    for one in found:
        assert np.abs(arm.fk(one.q) - T).max() < 1e-9
    away = {one.name: np.abs(one.q - q).max() for one in found}
    assert arm.configuration(q) == "" and min(away.values()) < 1e-6
    assert away.pop(inspection.present(arm, q, found)) < 1e-6
    assert min(away.values()) > 0.1


def test_a_numeric_solution_has_no_name_and_is_no_branch():
    arm = brazo.load("puma560")
    q = arm.poses["nominal"]
    (one,) = arm.ik(arm.fk(q), q0=q, method="numeric").all
    assert one.name == "" and inspection.present(arm, q, ()) == arm.configuration(q)


def test_redundant_joint_keeps_the_branch_names():
    arm = brazo.load("scara2")
    q = arm.poses["home"]
    assert [b.name for b in inspection.branches(arm, arm.fk(q), q)] == ["LEFTY OPEN", "RIGHTY OPEN"]


def test_the_dh_table_shows_variables_constants_and_offsets():
    rows = inspection.dh_table(brazo.load("scara1").model)
    assert [(r["theta"], r["d"], r["a"], r["alpha"]) for r in rows[:3]] == [
        ("q1", "400.00", "300.00", "0.0"),
        ("q2", "0.00", "250.00", "180.0"),
        ("0.0", "q3", "0.00", "0.0"),
    ]
    shifted = [r["theta"] for r in inspection.dh_table(brazo.load("rv2aj").model)]
    assert shifted[:4] == ["q1", "q2 − 90.0", "q3", "q4 + 90.0"]
