"""Two Deltas in one physical world, and a stiff wall under the follower.

The hand presses 4 cm past the wall.  With wave variables every run is passive and settles at
the force theory gives; with position and force sent as they are, delay makes it swing up.
"""

from __future__ import annotations

import numpy as np
import pytest

from brazo.teleop.bilateral import (
    Hand,
    Packet,
    Pair,
    PositionForce,
    TaskMap,
    Trace,
    WaveVariables,
    strokes,
)
from brazo.teleop.mapping.base import IncrementMap
from brazo.world import World

SAME = IncrementMap(np.eye(3))
PRESS = strokes([(0.5, 0, 0, 0), (1.5, 0, 0, -0.08)])
LINES = {
    "0 ms": {"delay": 0.0},
    "50 ms": {"delay": 0.05},
    "200 ms": {"delay": 0.2},
    "200 ± 100 ms, scattered": {"delay": 0.2, "jitter": 0.1, "loss": 0.05, "twice": 0.05},
    "200 ± 100 ms, ordered": {"delay": 0.2, "jitter": 0.1, "kind": "ordered"},
    "200 ± 100 ms, drifting": {"delay": 0.2, "jitter": 0.1, "kind": "drifting"},
}
STEADY = ("0 ms", "50 ms", "200 ms")
DELAYED = [name for name in LINES if name != "0 ms"]


def press(scheme, until: float, **line) -> Trace:
    pair = Pair(World("teleop-wall"), scheme, Hand(PRESS), TaskMap(SAME), seed=1, **line)
    trace = pair.run(until)
    assert pair.master.port.saturated == pair.follower.port.saturated == 0
    return trace


@pytest.fixture(scope="module", params=LINES)
def passive(request) -> tuple[str, Trace]:
    return request.param, press(WaveVariables(), 6.5, **LINES[request.param])


def test_wave_ports_are_passive(passive):
    _, trace = passive
    m, f = trace.master, trace.follower
    # Exactly, not to some small number: what a port gives was there before.
    assert trace.energy.min() >= 0.0
    assert m.energy.min() >= 0.0
    for here, there in ((m, f), (f, m)):
        assert (here.spent <= here.received).all()
        assert (here.received <= there.sent).all()
        assert here.coupling.min() >= 0.0
        account = here.coupling + here.sent - here.spent
        assert np.abs(here.energy - account).max() < 1e-12


def test_contact_with_waves_settles(passive):
    name, trace = passive
    report = trace.report()
    assert np.abs(trace.master.x).max() < 0.09 and np.abs(trace.master.v).max() < 0.4
    # A varying delay changes the line's stiffness b/T and thus slightly the hand position.
    assert report.moving < (2e-3 if "drifting" in name else 1e-3 if "±" in name else 5e-5)
    assert 0.0395 < -trace.follower.x[-1, 2] < 0.0410
    assert trace.follower.outside[-500:].any(axis=1).all()
    touched = np.flatnonzero(trace.follower.outside.any(axis=1))
    late = trace.follower.outside[touched[0] + 300 :, 2]
    assert late.max() < 12.0, "no bounce hits harder than the hand presses"


def test_contact_force_is_transmitted_with_waves(passive):
    name, trace = passive
    report = trace.report()
    least = 5.0 if name in ("0 ms", "50 ms") else 2.0
    assert report.force_follower > least
    tolerance = 2e-3 if name in STEADY else 0.15
    assert report.force_error < tolerance


def test_static_force_with_waves_is_that_of_springs_in_series(passive):
    """Hand, coupling, line b/T, coupling: from the settings only, through two real mechanisms."""
    name, trace = passive
    if name not in STEADY:
        return  # T is not constant
    scheme = WaveVariables()
    # Without a delay one direction takes a cycle more than the other: half of it on the mean.
    T = max(LINES[name]["delay"], 0.5e-3) + scheme.smoothing
    beyond = 0.08 + trace.follower.x[-1, 2]
    give = 1 / 300 + 2 / scheme.stiffness + T / scheme.impedance
    assert trace.master.force[-1, 2] == pytest.approx(beyond / give, rel=1e-3)


@pytest.mark.parametrize("name", DELAYED)
def test_position_force_scheme_is_unstable_with_delay(name):
    trace = press(PositionForce(), 3.3, **LINES[name])
    speed = np.abs(trace.master.v[:, 2])
    before, after = speed[: np.argmax(trace.follower.outside.any(axis=1))], speed[-1000:]
    assert after.max() > 4.0 * before.max(), "it was moving slower before it touched anything"
    assert np.ptp(trace.master.x[-1000:, 2]) > 0.08
    assert trace.energy[-1] < -5.0 and trace.master.energy[-1] < -5.0  # J, out of nothing
    assert trace.energy[-1] < 1.5 * trace.energy[-1500]
    assert np.linalg.norm(trace.follower.outside, axis=1).max() > 300.0


def test_position_force_scheme_is_stable_without_delay():
    report = press(PositionForce(), 3.0).report()
    assert report.moving < 1e-6 and report.force_error < 1e-6 and report.force_master > 10.0


def test_runs_repeat_bit_for_bit():
    first, second = (press(WaveVariables(), 1.2, **LINES[DELAYED[2]]) for _ in range(2))
    assert np.array_equal(first.follower.x, second.follower.x)
    assert np.array_equal(first.energy, second.energy)


def test_both_ends_exchange_only_packets():
    """Each end with a separate scheme and packets as plain numbers: the identical run."""
    together = press(WaveVariables(), 1.2, **LINES[DELAYED[2]])
    pair = Pair(
        World("teleop-wall"), WaveVariables(), Hand(PRESS), TaskMap(SAME), seed=1,
        **LINES[DELAYED[2]],
    )  # fmt: skip
    pair.follower.scheme = WaveVariables()
    for line in (pair.there, pair.back):
        deliver = line.receive
        line.receive = lambda t, deliver=deliver: [Packet.read(p.numbers()) for p in deliver(t)]
    apart = pair.run(1.2)
    assert np.array_equal(together.follower.x, apart.follower.x)
    assert np.array_equal(together.energy, apart.energy)
