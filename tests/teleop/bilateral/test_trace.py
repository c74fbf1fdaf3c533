"""Figures of merit of recorded bilateral runs."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from brazo.teleop.bilateral import Pair, WaveVariables
from brazo.teleop.bilateral.trace import EndTrace, Trace
from brazo.world import World

DT = 1e-3


def trace_of(master: np.ndarray, follower: np.ndarray) -> Trace:
    """A run without contact, with these tool positions (m,) along x."""
    count = len(master)

    def end(x: np.ndarray) -> EndTrace:
        values = {one.name: np.zeros(count) for one in fields(EndTrace)}
        for name in ("x", "v", "force", "outside", "goal"):
            values[name] = np.zeros((count, 3))
        values["x"][:, 0] = x
        return EndTrace(**values)

    return Trace("test", {}, DT * np.arange(count), end(master), end(follower))


def test_a_report_of_a_run_shorter_than_the_longest_lag():
    report = Pair(World("teleop-wall"), WaveVariables()).run(0.6).report()
    assert 0.0 <= report.lag < 0.6


@pytest.mark.parametrize("count", [600, 3000])
def test_the_lag_is_the_shift_between_master_and_follower(count):
    late = 50
    master = np.sin(0.01 * np.arange(count))
    follower = np.concatenate([np.full(late, master[0]), master[:-late]])
    trace = trace_of(master, follower)
    assert trace.lag() == pytest.approx(late * DT)
    assert trace.tracking(late * DT) == pytest.approx(np.zeros(count))


def test_the_master_is_at_its_initial_position_before_the_run():
    master = 0.1 + np.linspace(0.0, 1.0, 100)
    trace = trace_of(master, np.zeros(100))
    assert trace.tracking(5.0) == pytest.approx(np.full(100, 0.1))


def test_a_run_that_starts_in_contact_has_no_tracking_error():
    trace = trace_of(np.zeros(1000), np.zeros(1000))
    trace.follower.outside[:, 2] = 1.0
    for side in (trace.master, trace.follower):
        side.one_way[:], side.round_trip[:] = 0.1, 0.2
    report = trace.report()
    assert np.isnan([report.lag, report.tracking_rms, report.tracking_max]).all()
    assert report.max_force == 1.0
