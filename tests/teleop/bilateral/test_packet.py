"""Packets: which received ones are used, and the measured delay."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brazo.errors import BrazoError
from brazo.teleop.bilateral import Inflow, Packet, PositionForce, WaveVariables


def packet(seq: int, energy: float = 0.0, id: int = 1, peer: int = 1, sent: float = 0.0) -> Packet:
    return Packet(seq, sent, id, peer, energy=energy)


def test_newest_packet_is_used_and_others_are_counted():
    inflow = Inflow()
    inflow.take(0.0, [packet(1), packet(4, 1.0), packet(3, 0.5), packet(4, 1.0), packet(5, 0.2)])
    assert inflow.latest is not None and inflow.latest.seq == 4
    assert inflow.counts == {"used": 2, "missing": 2, "late": 1, "twice": 1, "refused": 1}


def test_sums_for_another_peer_are_ignored():
    inflow = Inflow(id=7)
    assert inflow.take(0.0, [packet(1, 5.0, peer=0), packet(2, 5.0, peer=6)])
    assert inflow.latest is None and inflow.peer == 1 and inflow.counts["unpaired"] == 2
    assert not inflow.take(0.0, [packet(3, 5.0, peer=7)])
    assert inflow.latest is not None


def test_restarted_peer_invalidates_earlier_packets():
    inflow = Inflow()
    inflow.take(0.0, [packet(900, 50.0)])
    assert inflow.take(1.0, [packet(1, 0.0, id=2), packet(901, 60.0, id=1)])
    assert inflow.latest is not None and (inflow.latest.id, inflow.latest.seq) == (2, 1)
    assert inflow.counts["before"] == 1


def test_delay_one_way_and_round_trip():
    here, there = Inflow(), Inflow()
    # The other clock is 100 s ahead: the one-way delay is then wrong, the round trip is not.
    there.take(100.03, [packet(1, sent=0.0)])
    echo, held = there.echo(100.05)
    here.take(0.06, [Packet(1, 100.05, 1, 1, echo=echo, held=held)])
    delay = here.delay(0.08)
    assert delay.round_trip == pytest.approx(0.04, abs=1e-12)  # 30 ms there, 10 ms back
    assert delay.one_way == pytest.approx(0.06 - 100.05)
    assert math.isnan(Inflow().delay(0.0).one_way)


finite = st.floats(-1e6, 1e6)


@given(
    st.lists(finite, min_size=12, max_size=12),
    st.floats(0.0, 1e6),
    st.integers(1, 2**53),
    st.one_of(st.just(math.nan), finite),
)
def test_packets_round_trip_bit_for_bit(values, energy, seq, echo):
    x, v, f, wave = np.reshape(values, (4, 3))
    sent = Packet(seq, 1.5, 3, 2, x, v, f, wave, energy, echo, 0.0 if math.isnan(echo) else 0.25)
    came = Packet.read(sent.numbers())
    assert came.numbers() == sent.numbers() and math.isnan(came.echo) == math.isnan(echo)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({0: 0.0}, "number must be an integer of at least 1"),
        ({0: 1.5}, "number must be an integer"),
        ({2: 0.0}, "id must be an integer of at least 1"),
        ({3: -1.0}, "peer must be an integer of at least 0"),
        ({7: math.nan}, "not finite"),
        ({16: -1.0}, "at least 0"),
        ({16: math.inf}, "not finite"),
        ({4: 1.1e6}, r"outside ±1e\+06"),
        ({12: -1e308}, r"outside ±1e\+06"),
        ({13: 1e160}, r"outside ±1e\+09"),
        ({16: 1e10}, r"outside ±1e\+09"),
        ({1: 1e308}, r"outside ±1e\+09"),
    ],
)
def test_bad_packets_are_refused(change, words):
    numbers = list(packet(1).numbers())
    for place, value in change.items():
        numbers[place] = value
    with pytest.raises(BrazoError, match=words):
        Packet.read(numbers)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scheme", [WaveVariables, PositionForce])
@pytest.mark.parametrize("size", [5e-324, 1e-160, 1e6])
@pytest.mark.parametrize("energy", [5e-324, 1e9])
def test_forces_are_bounded_for_any_valid_packet(scheme, size, energy):
    here, there = scheme(id=5), scheme(id=5)
    x, back = np.zeros(3), None
    for k in range(100):
        t = 0.002 * (k + 1)
        _, sent = here.master(t, x, x, [] if back is None else [back])
        if k > 50:
            numbers = list(sent.numbers())
            numbers[4:16] = [size * (-1.0) ** k] * 12
            numbers[16] = energy
            sent = Packet.read(numbers)
        command, back = there.follower(t, x, x, x, [sent])
        assert np.linalg.norm(command.force) <= there.force_limit * (1.0 + 1e-12)
        assert np.isfinite(back.numbers()).all()


@pytest.mark.parametrize("numbers", [[], [1.0] * 18, ["a"] * 17, None])
def test_non_packets_are_rejected(numbers):
    with pytest.raises(BrazoError, match="17 or 19 numbers"):
        Packet.read(numbers)
