"""Wave variables on one axis, with exact reference values.

Both tools are moved by hand (prescribed x and v), so only the line is tested; its
accounts close to rounding, and its answer is that of a transmission line as textbooks have it.
"""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brazo.errors import BrazoError
from brazo.teleop.bilateral import DelayLine, Packet, WaveVariables

H = 1e-3
AXIS = np.array([2.0, -1.0, 2.0]) / 3.0
STILL = np.zeros(3)


class Line:
    """A scheme with both ends and a delay line in each direction."""

    def __init__(self, scheme: WaveVariables, delay: float, **options) -> None:
        self.scheme = scheme
        self.there = DelayLine(delay, **options)
        self.back = DelayLine(delay, **options | {"seed": 99})
        self.t = 0.0

    def step(self, x_m, v_m, x_f=STILL, v_f=STILL, dt: float = H):
        """One cycle; the forces on both tools."""
        t = self.t
        force, packet = self.scheme.master(t, x_m, v_m, self.back.receive(t))
        self.there.send(t, packet)
        command, packet = self.scheme.follower(t, x_f, v_f, STILL, self.there.receive(t))
        self.back.send(t, packet)
        self.t = t + dt
        return force, command

    def states(self):
        return self.scheme.state("master"), self.scheme.state("follower")

    def pair(self, delay: float) -> None:
        """Exchange packets until both ends know each other."""
        for _ in range(2 * round(delay / H) + 4):
            self.step(STILL, STILL)


def smooth_noise(seed: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Places (steps, 3) that begin at 0 and their speeds."""
    random = np.random.default_rng(seed)
    t = H * np.arange(steps)[:, None]
    x, v = np.zeros((steps, 3)), np.zeros((steps, 3))
    for omega in 2.0 * math.pi * random.uniform(0.5, 8.0, 5):
        a = random.normal(size=3) * 0.01
        x, v = x + a * np.sin(omega * t), v + a * omega * np.cos(omega * t)
    return x, v


@pytest.mark.parametrize("smoothing", [0.0, 0.005])
def test_energy_balance_of_each_end_closes_to_rounding(smoothing):
    line = Line(WaveVariables(smoothing=smoothing), 0.02, jitter=0.015, seed=4)
    line.pair(0.035)
    (xm, vm), (xf, vf) = smooth_noise(1, 1500), smooth_noise(2, 1500)
    work = np.zeros(2)
    forces = [STILL, STILL]
    last = [STILL, STILL]
    before = [state.energy for state in line.states()]
    for k in range(1500):
        work -= [forces[i] @ (x - last[i]) for i, x in enumerate((xm[k], xf[k]))]
        last = [xm[k], xf[k]]
        force, command = line.step(xm[k], vm[k], xf[k], vf[k])
        forces = [force, command.force]
        for i, state in enumerate(line.states()):
            # The energy of the tool is in the spring, the damper or the line.
            assert state.energy == pytest.approx(
                state.coupling + state.sent - state.spent, abs=1e-12
            )
            assert state.energy - before[i] == pytest.approx(work[i], abs=1e-12)


def test_constant_delay_line_is_lossless():
    line = Line(WaveVariables(smoothing=0.0), 0.02)
    line.pair(0.02)
    on_the_way: list[float] = []
    sent = line.scheme.state("master").sent
    x, v = smooth_noise(3, 1000)
    for k in range(1000):
        line.step(x[k], v[k], x[-k], v[-k])
        master, follower = line.states()
        on_the_way.append(master.sent - sent)
        sent = master.sent
        assert master.sent - follower.received == pytest.approx(sum(on_the_way[-20:]), abs=1e-12)
        assert follower.received - follower.spent < 1e-12 + on_the_way[-21] if k > 20 else True


def impedance(line: WaveVariables, omega: float, T: float) -> complex:
    """Impedance of a blocked follower at the hand: coupling, line of delay T, coupling."""
    s, b = 1j * omega, line.impedance
    coupling = line.stiffness / s + line.damping + line.stiffness * H
    tanh = cmath.tanh(s * T)
    far = b * (coupling + b * tanh) / (b + coupling * tanh)
    return 1.0 / (1.0 / coupling + 1.0 / far)


@pytest.mark.parametrize("f", [0.5, 2.0, 5.0])
@pytest.mark.parametrize("delay", [0.02, 0.1])
def test_master_impedance_is_that_of_a_transmission_line(f, delay):
    scheme = WaveVariables(smoothing=0.0, force_limit=1e6)
    line = Line(scheme, delay)
    line.pair(delay)
    omega = 2.0 * math.pi * f
    steps = round(6.0 / f / H) if f < 2.0 else 3000 + round(1.0 / f / H)
    last = round(1.0 / f / H) * max(1, int(f))  # whole periods at the end
    t = line.t
    forces, times = [], []
    for _ in range(steps):
        phase = omega * (line.t - t)
        force, _ = line.step(0.01 * math.sin(phase) * AXIS, 0.01 * omega * math.cos(phase) * AXIS)
        forces.append(float(force @ AXIS))
        times.append(line.t - t - 0.5 * H)  # the middle of the cycle in which it is held
    # Phasors of the last whole periods: v = 0.01 ω cos ωt is the real part of 0.01 ω exp(iωt).
    turn = np.exp(-1j * omega * np.array(times[-last:]))
    found = -2.0 * np.mean(np.array(forces[-last:]) * turn) / (0.01 * omega)
    wanted = impedance(scheme, omega, delay + H)
    # A cycle is a first-order look at the spring: half a cycle of phase.
    assert abs(found - wanted) < 0.5 * omega * H * abs(wanted)


def test_matched_termination_does_not_reflect():
    """With B = b and almost no spring, a blocked follower absorbs incoming waves."""
    line = Line(WaveVariables(stiffness=1e-9, smoothing=0.0, force_limit=1e6), 0.02)
    line.pair(0.02)
    x, v = smooth_noise(5, 500)
    for k in range(500):
        line.step(x[k], v[k])
    _, follower = line.states()
    assert follower.sent < 1e-12 * follower.spent
    assert follower.spent > 1e-3


def test_line_at_a_wall_acts_as_a_spring():
    """Handle held, follower blocked: after the echoes F (2/K + T/b) = x."""
    scheme = WaveVariables(impedance=30.0, stiffness=1500.0, smoothing=0.0, force_limit=1e6)
    line = Line(scheme, 0.05)
    line.pair(0.05)
    for k in range(6000):
        ramp = min(k * H / 0.5, 1.0)
        force, command = line.step(0.02 * ramp * AXIS, (0.04 if ramp < 1.0 else 0.0) * AXIS)
    felt = -float(force @ AXIS)
    assert felt == pytest.approx(0.02 / (2 / 1500.0 + 0.051 / 30.0), rel=1e-3)
    assert float(command.force @ AXIS) == pytest.approx(felt, rel=1e-4)


@settings(max_examples=25)
@given(st.data())
def test_any_order_of_arrival_is_passive_without_drift(data):
    """Packets may be late, lost, doubled or turned round; loops may be uneven."""
    seed = data.draw(st.integers(0, 2**16))
    random = np.random.default_rng(seed)
    scheme = WaveVariables(smoothing=data.draw(st.sampled_from([0.0, 0.005])), force_limit=1e6)
    line = Line(
        scheme,
        0.03,
        jitter=data.draw(st.floats(0.0, 0.03)),
        kind=data.draw(st.sampled_from(["scattered", "ordered", "drifting"])),
        loss=data.draw(st.floats(0.0, 0.6)),
        twice=data.draw(st.floats(0.0, 0.6)),
        wander=20.0,
        seed=seed,
    )
    line.pair(0.1)
    (xm, vm), (xf, vf) = smooth_noise(seed, 200), smooth_noise(seed + 1, 200)
    for k in range(200):
        line.step(xm[k], vm[k], xf[k], vf[k], dt=H * random.choice([0.3, 1.0, 1.0, 1.0, 4.0]))
        master, follower = line.states()
        for here, there in ((master, follower), (follower, master)):
            assert here.spent <= here.received * (1.0 + 1e-12) + 1e-15
            assert here.received <= there.sent * (1.0 + 1e-12)
        inside = master.coupling + follower.coupling
        assert master.energy + follower.energy >= inside - 1e-12


@pytest.mark.parametrize("kind", ["scattered", "ordered", "drifting"])
def test_position_does_not_drift(kind):
    """A light follower on the line ends where the master does, for any packet loss and order."""
    scheme = WaveVariables()
    line = Line(scheme, 0.1, jitter=0.09, kind=kind, loss=0.3, twice=0.2, seed=8)
    line.pair(0.2)
    x, v = smooth_noise(11, 3000)
    p, rate = np.zeros(3), np.zeros(3)
    for k in range(9000):
        along = x[min(k, 2999)]
        _, command = line.step(along, v[k] if k < 2999 else STILL, p, rate)
        rate = rate + H * command.force / 0.7
        p = p + H * rate
    assert np.linalg.norm(x[-1]) > 5e-3
    assert np.abs(p - x[-1]).max() < 1e-6


def test_packets_sent_before_a_restart_cause_no_motion():
    line = Line(WaveVariables(), 0.1)
    line.pair(0.1)
    x, v = smooth_noise(2, 400)
    for k in range(300):
        line.step(x[k], v[k])
    line.scheme.restart("master")
    fresh = x[300]
    for _ in range(199):  # until the follower can have received it and answered
        force, _ = line.step(fresh, STILL)
        state = line.scheme.state("master")
        assert not force.any() and state.received == 0.0
        assert set(state.counts) == {"unpaired"}
    for _ in range(2000):
        force, command = line.step(fresh, STILL)
    master, follower = line.states()
    assert master.paired and follower.paired
    for state in (master, follower):
        assert state.energy == pytest.approx(state.coupling + state.sent - state.spent, abs=1e-12)
    # From here on only displacements since the restart count: both rest, no force.
    assert np.abs(force).max() < 1e-9 and np.abs(command.force).max() < 1e-9
    assert follower.received < 1e-9


def test_restarted_follower_ignores_its_earlier_packets():
    line = Line(WaveVariables(), 0.05)
    line.pair(0.05)
    x, v = smooth_noise(2, 400)
    for k in range(400):
        line.step(x[k], v[k])
    assert line.scheme.state("follower").received > 1e-3
    line.scheme.restart("follower")
    for _ in range(1000):
        _, command = line.step(x[-1], STILL)
        assert line.scheme.state("follower").received < 1e-3
    assert np.abs(command.force).max() < 1e-9


def test_force_decays_without_packets():
    line = Line(WaveVariables(), 0.01)
    line.pair(0.01)
    for k in range(500):
        _, command = line.step(min(k, 100) * 1e-4 * AXIS, (0.1 if k < 100 else 0.0) * AXIS)
    assert np.linalg.norm(command.force) > 3.0
    line.there = DelayLine(1e9)
    for _ in range(300):
        _, command = line.step(0.01 * AXIS, STILL)
    assert np.linalg.norm(command.force) < 1e-3


def test_force_limit_holds_and_energy_balance_closes():
    line = Line(WaveVariables(force_limit=5.0), 0.02)
    line.pair(0.02)
    for k in range(800):
        force, command = line.step(0.2 * min(k * H, 0.3) * AXIS, (0.2 if k < 300 else 0.0) * AXIS)
        assert max(np.linalg.norm(force), np.linalg.norm(command.force)) <= 5.0 + 1e-12
        for state in line.states():
            assert state.energy == pytest.approx(
                state.coupling + state.sent - state.spent, abs=1e-12
            )
            assert state.spent <= state.received + 1e-15


def test_decreasing_energy_is_rejected():
    """Energy that falls is refused; the newest good packet stays."""
    scheme = WaveVariables()
    scheme.follower(0.0, STILL, STILL, STILL, [Packet(1, 0.0, peer=1, energy=1.0)])
    scheme.follower(H, STILL, STILL, STILL, [Packet(2, 0.0, peer=1, energy=0.5)])
    assert scheme.state("follower").counts["refused"] == 1
    assert scheme.state("follower").received == 1.0


def test_decreasing_time_is_rejected():
    scheme = WaveVariables()
    scheme.master(1.0, STILL, STILL, [])
    with pytest.raises(BrazoError, match=r"the time must increase: got 0\.5"):
        scheme.master(0.5, STILL, STILL, [])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"impedance": 0.0}, "impedance is 0; it must be finite and greater than 0"),
        ({"stiffness": float("nan")}, "stiffness"),
        ({"damping": -1.0}, "damping is -1; it must be finite and at least 0"),
        ({"drag": float("inf")}, "drag"),
        ({"smoothing": -0.1}, "smoothing"),
    ],
)
def test_bad_settings_are_refused(options, words):
    with pytest.raises(BrazoError, match=words):
        WaveVariables(**options)
