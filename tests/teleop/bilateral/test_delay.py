"""The delay line: every kind of delay, repeatable."""

from __future__ import annotations

import numpy as np
import pytest

from brazo.errors import BrazoError
from brazo.teleop.bilateral import DelayLine, Packet

DT = 1e-3


def arrivals(line: DelayLine, count: int = 2000) -> list[tuple[int, float]]:
    """(seq, delay) in the order of arrival."""
    found = []
    for k in range(count + 1000):
        t = k * DT
        if k < count:
            line.send(t, Packet(k + 1, t))
        found += [(packet.seq, t - packet.sent) for packet in line.receive(t)]
    return found


@pytest.mark.parametrize("delay", [0.0, 0.001, 0.05, 0.2])
def test_constant_delay_is_exact(delay):
    found = arrivals(DelayLine(delay))
    assert [seq for seq, _ in found] == list(range(1, 2001))
    assert np.allclose([late for _, late in found], delay, atol=1e-12)


@pytest.mark.parametrize("kind", ["scattered", "ordered", "drifting"])
def test_jitter_stays_within_its_bounds_and_repeats_with_its_seed(kind):
    found = arrivals(DelayLine(0.2, 0.1, kind=kind, seed=3))
    late = np.array([late for _, late in found])
    assert sorted(seq for seq, _ in found) == list(range(1, 2001))
    assert late.min() >= 0.1 - 1e-9 and late.max() <= 0.3 + DT
    assert np.ptp(late) > 0.05
    assert found == arrivals(DelayLine(0.2, 0.1, kind=kind, seed=3))
    assert found != arrivals(DelayLine(0.2, 0.1, kind=kind, seed=4))


def test_scattered_packets_overtake_and_ordered_ones_never_do():
    def overtaken(kind):
        order = [seq for seq, _ in arrivals(DelayLine(0.2, 0.1, kind=kind))]
        return int((np.diff(order) < 0).sum())

    assert overtaken("scattered") > 500 and overtaken("ordered") == 0


def test_loss_and_repetition():
    order = [seq for seq, _ in arrivals(DelayLine(0.05, 0.02, loss=0.1, twice=0.1, seed=5))]
    assert 150 < 2000 - len(set(order)) < 250
    assert 130 < len(order) - len(set(order)) < 230


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delay": -1.0}, "delay is -1;"),
        ({"delay": 0.1, "jitter": 0.2}, "jitter is 0.2 s; it must not exceed the delay"),
        ({"delay": 0.1, "kind": "odd"}, "one of scattered, ordered, drifting"),
        ({"delay": 0.1, "loss": 1.0}, "loss is 1.0"),
        ({"delay": float("nan")}, "finite"),
    ],
)
def test_bad_settings_are_refused(options, words):
    with pytest.raises(BrazoError, match=words):
        DelayLine(**options)
