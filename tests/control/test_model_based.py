"""PD with gravity, computed torque and sliding mode behave as in theory."""

from __future__ import annotations

import numpy as np
import pytest

from brazo.control import ComputedTorque, PDGravity, Reference, SlidingMode, track
from brazo.control.benchmark import sines


def hold(q):
    q = np.array(q, dtype=float)
    return lambda t: (q, 0 * q, 0 * q)


def continuous(arm, law, trajectory, q0, qd0, t_end, dt=1e-3):
    """The controller evaluated in the Runge–Kutta stages: no hold, no delay."""
    law.bind(arm, dt)

    def torque(t, q, qd):
        return law.torque(t, q, qd, Reference(*trajectory(t)))

    return arm.simulate(torque=torque, q0=q0, qd0=qd0, t_end=t_end, dt=dt)


@pytest.mark.parametrize(("wn", "zeta"), [(10.0, 1.0), (12.0, 0.5), (8.0, 1.6)])
def test_computed_torque_has_linear_error_dynamics(puma, wn, zeta):
    """e(t) of every joint against the solution of ë + 2ζω ė + ω² e = 0."""
    path = sines(puma)
    e0, v0 = np.array([0.1, -0.05, 0.2, 0.3, -0.2, 0.1]), np.array([0.5, 0, -0.5, 1, 0, -1.0])
    q, qd, _ = path(0.0)
    run = continuous(puma, ComputedTorque(wn, zeta), path, q - e0, qd - v0, 1.0)
    e = np.array([path(t)[0] for t in run.t]) - run.q
    roots = np.roots([1.0, 2 * zeta * wn, wn**2]).astype(complex)
    t = run.t[:, None]
    if zeta == 1.0:
        exact = (e0 + (v0 + wn * e0) * t) * np.exp(-wn * t)
    else:
        a, b = roots
        c = (v0 - b * e0) / (a - b)
        exact = (c * np.exp(a * t) + (e0 - c) * np.exp(b * t)).real
    assert np.abs(e - exact).max() < 1e-8


def test_computed_torque_cancels_friction_and_motors(any_robot):
    """For any robot, q̈ is the commanded acceleration."""
    arm, law = any_robot, ComputedTorque()
    law.bind(arm, 1e-3)
    rng = np.random.default_rng(2)
    for seed in range(5):
        q = arm.random_q(seed=seed)
        qd, rd, rdd = rng.uniform(-1, 1, (3, arm.n))
        goal = Reference(q + rng.uniform(-0.01, 0.01, arm.n), rd, rdd)
        law.torque(0.0, q, qd, goal)
        v = rdd + 50.0 * (rd - qd) + 625.0 * (goal.q - q)
        got = arm.forward_dynamics(q, qd, law.wanted)
        assert np.abs(got - v).max() < 1e-7 * np.abs(v).max()


def test_computed_torque_with_a_known_load(puma):
    load = (2.0, (0.0, 0.0, 0.1))
    heavy, path = puma.with_payload(*load), sines(puma)
    ignorant = track(heavy, ComputedTorque(), path, 1.0, model=puma)
    law = ComputedTorque()
    law.bind(puma, 1e-3)
    law.payload(*load)
    reported = track(heavy, law, path, 1.0, model=puma)
    assert reported.max_error.max() < 3e-4
    assert ignorant.max_error.max() > 100 * reported.max_error.max()


def test_computed_torque_with_integral_compensates_an_unknown_load(puma):
    heavy, still = puma.with_payload(2.0), hold(puma.poses["nominal"])
    without = track(heavy, ComputedTorque(), still, 3.0, model=puma)
    integral = track(heavy, ComputedTorque(ki=5000.0), still, 3.0, model=puma)
    assert np.abs(without.error[-1]).max() > 1e-3
    assert np.abs(integral.error[-1]).max() < 1e-6


def test_pd_with_gravity_is_at_rest_in_any_pose(any_robot):
    """At rest on the reference its torque is what holds the robot, to the last digits."""
    arm, law = any_robot, PDGravity()
    law.bind(arm, 1e-3)
    for seed in range(3):
        q = arm.random_q(seed=seed)
        law.torque(0.0, q, np.zeros(arm.n), Reference(q, np.zeros(arm.n), np.zeros(arm.n)))
        assert np.abs(law.wanted - arm.gravity(q)).max() < 1e-12 * (1 + np.abs(law.wanted).max())


def test_energy_decreases_with_pd_and_gravity(puma):
    """½ q̇ᵀMq̇ + ½ eᵀKp e falls by exactly what the damping takes."""
    law, goal = PDGravity(wn=8.0, zeta=0.3), np.array(puma.poses["nominal"])
    q0 = goal + [0.4, -0.3, 0.5, -0.4, 0.3, 0.6]
    run = continuous(puma, law, hold(goal), q0, np.zeros(6), 1.5)
    kp, kd = law.gains["kp"], law.gains["kd"]
    M = puma.mass_matrix(run.q)
    V = 0.5 * np.einsum("ki,kij,kj->k", run.qd, M, run.qd)
    V = V + 0.5 * ((goal - run.q) ** 2 * kp).sum(axis=1)
    assert (np.diff(V) < 1e-9 * V[0]).all()
    power = (kd * run.qd**2).sum(axis=1)
    taken = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(run.t))])
    assert np.abs(V + taken - V[0]).max() < 1e-3 * V[0]


def test_pd_plus_follows_where_pd_lags(puma):
    path = sines(puma)
    lagging = track(puma, PDGravity(), path, 1.0).max_error.max()
    following = track(puma, PDGravity(feedforward=True), path, 1.0).max_error.max()
    assert following < 1e-2 * lagging


def test_sliding_mode_reaches_its_layer_in_time_and_slides(puma):
    law = SlidingMode(slope=10.0, reach=20.0, layer=0.05)
    goal = np.array(puma.poses["nominal"])
    e0 = np.array([0.3, -0.2, 0.2, 0.3, -0.2, 0.1])
    run = continuous(puma, law, hold(goal), goal - e0, np.zeros(6), 1.0)
    s = -run.qd + 10.0 * (goal - run.q)
    # Outside the layer s falls by 20 rad/s²; inside by the rate 20 / 0.05.
    for i in range(6):
        arrival = (abs(s[0, i]) - 0.05) / 20.0
        outside = run.t < arrival - 2e-3
        straight = s[0, i] - np.sign(s[0, i]) * 20.0 * run.t
        assert np.abs(s[outside, i] - straight[outside]).max(initial=0.0) < 1e-6
        assert (np.abs(s[run.t > arrival + 2e-3, i]) < 0.05).all()
    late = run.t > 0.5
    e = goal - run.q
    ratio = e[late][1:] / e[late][:-1]
    assert np.abs(ratio - np.exp(-10.0 * 1e-3)).max() < 1e-6


def test_sliding_mode_bounds_the_effect_of_a_load(puma):
    """An unknown load of 2 kg at the wrist centre, carried by the arm and not by the wrist."""
    heavy = puma.with_payload(2.0)
    law = SlidingMode()
    robust = track(heavy, law, sines(puma), 2.0, model=puma)
    plain = track(heavy, ComputedTorque(), sines(puma), 2.0, model=puma)
    s = robust.reference[1] - robust.run.qd + law.gains["slope"] * robust.error
    assert (np.abs(s) < law.gains["layer"]).all()
    assert (robust.max_error < law.gains["layer"] / law.gains["slope"]).all()
    # A slow push shows 1 / (slope · reach / layer) of itself here, 1 / wn² there: a quarter.
    assert robust.max_error[1] / plain.max_error[1] == pytest.approx(0.25, rel=0.1)


def test_sliding_mode_without_reach_is_computed_torque_on_its_slope(puma):
    """v = r̈ + slope ė: the law of computed torque with kp = 0 and kd = slope."""
    path = sines(puma)
    q, qd, _ = path(0.0)
    laws = SlidingMode(12.0, reach=0.0), ComputedTorque(kp=0.0, kd=12.0)
    reference = Reference(*path(0.3))
    torques = []
    for law in laws:
        law.bind(puma, 1e-3)
        torques.append(law.torque(0.3, q, qd, reference))
    assert torques[0] == pytest.approx(torques[1], rel=1e-12)
