"""Metrics of motions against closed forms and independent implementations of the definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from brazo.recording import Recording
from brazo.recording.metrics import (
    ALL,
    BAND,
    START,
    TOOL,
    metrics_of,
    motion_span,
    overshoot,
    peak,
    rms,
    settling_time,
    work,
)
from brazo.recording.robots import robots_of


def recording(t, about=None, **columns) -> Recording:
    """One robot with a rotary joint; `_` in a keyword is a dot, `__` an underscore."""
    units = {"torque": "N m", "qd": "rad/s", "tool": "m", "tool_ref": "m"}
    named = {}
    for key, values in columns.items():
        name = key.replace("__", "§").replace("_", ".").replace("§", "_")
        named[f"arm.{name}"] = (np.asarray(values, float), units.get(name.split(".")[0], "rad"))
    return Recording({"t": (t, "s"), **named}, [], about or {})


def test_rms_and_peak_of_a_sine_are_the_textbooks():
    x = 3.0 * np.sin(2 * np.pi * np.arange(1000) / 1000)
    assert rms(x) == pytest.approx(3.0 / math.sqrt(2.0), rel=1e-14)
    assert peak(-x) == 3.0
    both = rms(np.column_stack([x, 2 * x]))
    assert both == pytest.approx([3.0 / math.sqrt(2), 6.0 / math.sqrt(2)], rel=1e-14)


def test_gaps_are_ignored_and_results_are_not_nan():
    x = np.array([np.nan, 3.0, -4.0, np.inf])
    assert rms(x) == pytest.approx(math.sqrt(12.5), rel=1e-15)
    assert peak(np.array([np.nan, 3.0, -4.0])) == 4.0
    assert math.isnan(rms(np.full(3, np.nan))) and math.isnan(peak(np.empty(0)))


@pytest.mark.parametrize("zeta", [0.2, 0.5, 0.7])
@pytest.mark.parametrize("size", [2.0, -0.5])
def test_a_step_of_a_second_order_system(zeta, size):
    """Overshoot exp(−πζ/√(1−ζ²)); settling where the exact response last leaves the band."""
    w = 10.0
    t = np.linspace(0.0, 6.0, 60_001)
    wd = w * math.sqrt(1 - zeta**2)
    decay = np.exp(-zeta * w * t)
    y = size * (1 - decay * (np.cos(wd * t) + zeta * w / wd * np.sin(wd * t)))
    exact = math.exp(-math.pi * zeta / math.sqrt(1 - zeta**2))
    # The peak lies between two samples, 1e-4 s apart.
    assert overshoot(y, np.array([0.0, size])) == pytest.approx(exact, rel=1e-6)
    settled = settling_time(t, size - y, BAND * abs(size))
    outside = t[np.abs(y / size - 1.0) > BAND]
    assert settled == pytest.approx(outside.max() + 1e-4, abs=1e-9)
    run = recording(t, q_j=y, q__ref_j=np.where(t > 0.0, size, 0.0))
    joint = metrics_of(robots_of(run)[0], after=6.0)[1]
    assert joint.overshoot == pytest.approx(exact, rel=1e-6)
    # The reference reaches its last value in the second row.
    assert joint.settling_time == pytest.approx(settled - 1e-4, abs=1e-9)


def test_an_arm_that_sags_at_the_start_does_not_overshoot():
    r = np.array([0.0, 0.0, 0.5, 1.0, 1.0])
    assert overshoot(np.array([0.0, -0.3, 0.4, 0.9, 1.0]), r) == 0.0
    assert overshoot(np.array([0.0, -0.3, 0.4, 1.1, 1.0]), r) == pytest.approx(0.1, abs=1e-15)
    closed = np.array([0.0, 0.5, 1.0, 0.5, 0.0])  # returns: there it does count
    assert overshoot(np.array([0.0, 0.5, 1.0, 0.5, -0.2]), closed) == pytest.approx(0.2, abs=1e-15)
    assert math.isnan(overshoot(np.zeros(5), np.zeros(5)))


def test_the_tool_overshoots_out_of_the_box_of_its_path():
    r = np.array([[0, 0, 0], [3, 4, 0], [0, 0, 0]], float)
    y = np.array([[0, 0, 0], [3.3, 4.4, 0], [0, 0, 0]], float)
    assert overshoot(y, r) == pytest.approx(0.5 / 5.0, rel=1e-14)


def test_response_that_does_not_settle_has_no_settling_time():
    t = np.arange(5.0)
    assert math.isnan(settling_time(t, np.array([0, 0, 0, 0, 1.0]), 0.5))
    assert settling_time(t, np.zeros(5), 0.5) == 0.0
    assert settling_time(t, np.array([0, 1, 0, 1.0, 0]), 0.5, start=1.0) == 3.0


def test_energy_counts_braking_too():
    """τ = cos t, q̇ = sin t: ∫|sin t cos t| dt over a turn is 2."""
    t = np.linspace(0.0, 2 * np.pi, 40_001)
    assert work(t, np.cos(t), np.sin(t)) == pytest.approx(2.0, rel=1e-8)


def test_the_rows_before_and_long_after_a_motion_do_not_count():
    t = np.arange(0.0, 20.0, 0.01)
    r = np.clip(t - 5.0, 0.0, 2.0)  # moves from 5 s to 7 s
    error = np.where((t > 5.0) & (t <= 8.0), 0.1, 9.0)
    run = recording(t, q_j=r - error, q__ref_j=r, torque_j=error, qd_j=np.ones_like(t))
    robot = robots_of(run)[0]
    assert motion_span(robot) == pytest.approx((5.0, 7.0), abs=1e-9)
    tool, joint, total = metrics_of(robot)
    inside = (t > 5.0 - 1e-6) & (t < 8.0 + 1e-6)
    assert joint.rms_error == pytest.approx(math.sqrt((error[inside] ** 2).mean()), rel=1e-12)
    assert joint.max_error == 9.0  # of the last row before the motion
    assert total.part == ALL and total.energy == joint.energy
    assert tool.part == TOOL and math.isnan(tool.rms_error)  # no tool was recorded


def test_a_known_start_of_the_motion_is_taken():
    t = np.arange(0.0, 3.0, 0.01)
    r = np.clip(t - 1.0, 0.0, 1.0)
    run = recording(t, {START: "0.5"}, q_j=r, q__ref_j=r)
    assert motion_span(robots_of(run)[0])[0] == 0.5
    odd = recording(t, {START: "soon"}, q_j=r, q__ref_j=r)
    assert motion_span(robots_of(odd)[0])[0] == pytest.approx(1.0, abs=1e-9)


def test_a_run_without_references_starts_where_the_joint_moves():
    t = np.arange(0.0, 3.0, 0.01)
    q = np.clip(t - 1.0, 0.0, 1.0)
    start, stop = motion_span(robots_of(recording(t, q_j=q))[0])
    assert start == pytest.approx(1.0, abs=1e-9) and stop == pytest.approx(2.0, abs=1e-9)
    assert motion_span(robots_of(recording(t, q_j=0 * q))[0]) == (0.0, t[-1])
