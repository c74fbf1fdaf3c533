"""Signals sampled while a simulation runs, held against a recording of the same steps."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.lab.app.live import BLOCK, KEPT, LiveSignals
from brazo.trajectory import quintic


class Host:
    """The part of a lab that sampling uses: a simulation, and a thread to post to."""

    def __init__(self) -> None:
        self.sim = brazo.Simulation("cooperative")
        self.posts = []
        self.live = LiveSignals(self, self.posts.append)


@pytest.fixture
def lab():
    lab = Host()
    live = lab.live
    live.collect()
    yield lab
    live.close()


def moving(sim) -> None:
    robot = sim.robots["scara1"]
    robot.move(quintic(robot.q, robot.q + [0.3, -0.2, 0.02, 0.1, 0.1], 1.0))


def test_samples_are_rows_of_the_recording(lab):
    sim, live = lab.sim, lab.live
    moving(sim)
    sim.recording.start()
    for _ in range(30):
        sim.step(37)
        live.collect()
    recording = sim.recording.stop()
    names = list(live.columns)
    assert names == list(recording.columns)
    rows = live.rows(live.first, names)
    assert len(rows) > 90 and np.diff(rows[:, 0]).max() < 0.0125
    at = np.searchsorted(recording.t, rows[:, 0] - 1e-9)
    for i, name in enumerate(names):
        if name.startswith("distance"):
            continue  # requested at other times
        one, other = rows[:, i], recording[name][at]
        if name.rpartition(".")[2] in ("qw", "qx", "qy", "qz"):  # either sign is right
            one, other = np.abs(one), np.abs(other)
        assert (one == other).all(), name


def test_reset_drops_earlier_samples(lab):
    sim, live = lab.sim, lab.live
    sim.step(400)
    live.collect()
    epoch, end = live.epoch, live.end
    sim.reset()
    sim.step(200)
    live.collect()
    assert live.epoch == epoch + 1 and live.first == end
    t = live.rows(0, ["t"])[:, 0]
    assert 0.0 <= t[0] < 0.011 and (np.diff(t) > 0).all() and t[-1] < 0.2


def test_edit_continues_and_another_cell_restarts(lab):
    sim, live = lab.sim, lab.live
    sim.step(100)
    live.collect()
    epoch, end = live.epoch, live.end
    name = next(iter(sim.robots["scara1"].arm.parameters))
    sim.edit("scara1", {name: 1.05 * sim.robots["scara1"].arm.parameters[name]})
    sim.step(100)
    live.collect()
    sim.step(100)
    live.collect()
    assert live.epoch == epoch and live.end > end + 5
    lab.sim = brazo.Simulation("solo-puma560")
    live.collect()
    assert live.epoch == epoch + 1 and live.first == live.end
    assert any(column.startswith("puma560.q.") for column in live.columns)
    assert tuple(sim.tasks) == ()


def test_unobserved_samples_are_collected_once_per_block(lab):
    sim, live = lab.sim, lab.live
    sim.step(11 * BLOCK)
    assert len(lab.posts) == 1
    lab.posts.pop()()
    assert live.end - live.first == BLOCK


def test_samples_of_one_minute_are_kept(lab):
    live = lab.live
    row = np.zeros((700, len(live.columns)))
    for k in range(25):
        row[:, 0] = 7.0 * k + 0.01 * np.arange(700)
        live._append(row)
    assert live.end - live.first == round(KEPT / live.every)
    t = live.rows(0, ["t"])[:, 0]
    assert t[-1] == row[-1, 0] and np.allclose(np.diff(t), 0.01, atol=1e-9)
    assert live.window(1.0, ["t"])[0, 0] == pytest.approx(t[-1] - 0.99)
