"""Compiled closed loops against the same controllers in NumPy around the robot's kernels."""

import numpy as np
import pytest

import brazo
from brazo.dynamics.closed_loop import (
    ComputedTorqueGains,
    HeldTorque,
    PIDGains,
    ReferenceSamples,
    closed_loop,
)

NAMES = ["puma560", "puma560-drives", "scara2", "delta"]


def _gains(arm, q0) -> tuple[np.ndarray, np.ndarray]:
    """Critically damped at 20 rad/s for each joint separately."""
    m = np.diag(arm.mass_matrix(q0))
    return 400.0 * m, 40.0 * m


def _by_python(arm, gains, q, qd, reference, dt, steps):
    """The controller in NumPy, the robot's own kernels, one step at a time."""
    n = arm.n
    s = np.zeros(n)
    kp, ki, kd, limit = (np.broadcast_to(v, n) for v in (gains.kp, gains.ki, gains.kd, gains.limit))
    qr, qdr, qddr = (np.broadcast_to(v, (steps, n)) for v in reference)
    step, rows = arm.dynamics.rk4_step, []
    for k in range(steps):
        e, ed = qr[k] - q, qdr[k] - qd
        grown = s + e * dt
        effort = kp * e + ki * grown + kd * ed
        if isinstance(gains, ComputedTorqueGains):
            effort = arm.inverse_dynamics(q, qd, qddr[k] + effort)
        tau = np.clip(effort, -limit, limit)
        cut = ((effort >= limit) & (e >= 0)) | ((effort <= -limit) & (e <= 0))
        s = np.where(cut & gains.anti_windup, s, grown)
        q, qd = step(q, qd, tau, np.array([dt]))
        rows.append(np.concatenate([q, qd, tau]))
    return np.array(rows)


def _wave(arm, q0, steps, dt):
    t = dt * np.arange(steps)[:, None]
    w = np.linspace(1.0, 3.0, arm.n)
    return (
        q0 + 0.1 * np.sin(w * t),
        0.1 * w * np.cos(w * t),
        -0.1 * w**2 * np.sin(w * t),
    )


def _controllers(arm, q0):
    kp, kd = _gains(arm, q0)
    limit = 0.02 * kp + 1.5 * np.abs(arm.gravity(q0))
    yield PIDGains(kp=kp, ki=kp, kd=kd)
    yield PIDGains(kp=kp, ki=3.0 * kp, kd=kd, limit=limit)
    yield PIDGains(kp=kp, ki=3.0 * kp, kd=kd, limit=limit, anti_windup=False)
    yield ComputedTorqueGains(kp=400.0, ki=20.0, kd=40.0)


@pytest.mark.parametrize("name", NAMES)
def test_a_thousand_steps_are_those_of_a_python_loop(name):
    arm = brazo.load(name)
    q0 = np.clip(np.full(arm.n, 0.1), *arm.limits.T)
    wave = _wave(arm, q0, 1000, 1e-3)
    for gains in _controllers(arm, q0):
        run = closed_loop(arm, gains, q0, reference=ReferenceSamples(*wave), steps=1000)
        rows = _by_python(arm, gains, q0, np.zeros(arm.n), wave, 1e-3, 1000)
        n = arm.n
        assert np.abs(run.q - rows[:, :n]).max() < 1e-13
        assert np.abs(run.qd - rows[:, n : 2 * n]).max() < 1e-12
        assert np.abs(run.tau - rows[:, 2 * n :]).max() < 1e-10
        assert np.array_equal(run.end_q, run.q[-1]) and np.array_equal(run.end_qd, run.qd[-1])
        assert run.t[-1] == pytest.approx(1.0)


def test_batch_is_bit_identical_to_single_runs():
    arm = brazo.load("puma560")
    rng = np.random.default_rng(0)
    kp, kd = _gains(arm, arm.poses["ready"])
    q0 = arm.poses["ready"] + rng.normal(size=(19, 6)) * 0.1
    kps = kp * rng.uniform(0.5, 1.5, (19, 1))
    goals = rng.normal(size=(19, 1, 6)) * 0.2
    for threads in (1, 2):
        gains = PIDGains(kp=kps, ki=5.0, kd=kd, limit=100.0)
        many = closed_loop(arm, gains, q0, reference=goals, steps=60, every=20, threads=threads)
        for i in range(19):
            gains = PIDGains(kp=kps[i], ki=5.0, kd=kd, limit=100.0)
            one = closed_loop(arm, gains, q0[i], reference=goals[i], steps=60, every=20)
            for key in ("end_q", "end_qd", "q", "qd", "tau"):
                assert np.array_equal(getattr(one, key), getattr(many, key)[i])


def test_free_motion_is_that_of_simulate():
    arm = brazo.load("puma560")
    q0 = arm.poses["ready"]
    run = closed_loop(arm, HeldTorque(), q0, steps=500)
    same = arm.simulate(q0=q0, t_end=0.5, dt=1e-3)
    assert np.abs(run.q - same.q[1:]).max() < 1e-13
    pushed = closed_loop(arm, HeldTorque([10, 0, 0, 0, 0, 0]), q0, steps=500, every=0)
    same = arm.simulate([10, 0, 0, 0, 0, 0], q0=q0, t_end=0.5, dt=1e-3)
    assert np.abs(pushed.end_q - same.q[-1]).max() < 1e-13 and pushed.q.shape == (0, 6)


def test_the_integral_removes_the_droop_and_anti_windup_the_overshoot():
    arm = brazo.load("puma560")
    q0 = arm.poses["ready"] + [0, -0.5, 0, 0, 0.5, 0]
    kp, kd = _gains(arm, q0)
    without = closed_loop(arm, PIDGains(kp=kp, kd=kd), q0, steps=4000, every=0)
    with_it = closed_loop(arm, PIDGains(kp=kp, ki=3.0 * kp, kd=kd), q0, steps=4000, every=0)
    droop, left = np.abs(without.end_q - q0).max(), np.abs(with_it.end_q - q0).max()
    assert droop > 1e-2 and left < 0.01 * droop
    goal = q0 + [1.5, 0, 0, 0, 0, 0]
    overshoot = []
    for anti_windup in (True, False):
        limit = [20, 200, 100, 20, 20, 20]
        gains = PIDGains(kp=kp, ki=3.0 * kp, kd=kd, limit=limit, anti_windup=anti_windup)
        run = closed_loop(arm, gains, q0, reference=goal, steps=3000)
        overshoot.append(run.q[:, 0].max() - goal[0])
        assert np.abs(run.tau[:, 0]).max() == 20.0
    assert overshoot[0] < 0.5 * overshoot[1]


def test_mistakes_are_named():
    arm = brazo.load("puma560")
    gains = PIDGains(kp=1.0)
    with pytest.raises(brazo.BrazoError, match="dt = 0"):
        closed_loop(arm, gains, dt=0.0)
    with pytest.raises(brazo.BrazoError, match="steps = 0"):
        closed_loop(arm, gains, steps=0)
    with pytest.raises(brazo.BrazoError, match=r"q0.*expected \(\.\.\., 6\)"):
        closed_loop(arm, gains, q0=np.zeros(5))
    with pytest.raises(brazo.BrazoError, match=r"pid: kp has shape \(4,\)"):
        closed_loop(arm, PIDGains(kp=np.ones(4)))
    with pytest.raises(brazo.BrazoError, match=r"q_ref has shape \(7, 6\)"):
        closed_loop(arm, gains, reference=np.zeros((7, 6)), steps=9)
    wild = ComputedTorqueGains(kp=[[100.0] * 6, [-1e9] * 6, [100.0] * 6], kd=20.0)
    with pytest.raises(brazo.BrazoError, match=r"joint . \(\w+\) of run 1 is not finite"):
        closed_loop(arm, wild, reference=arm.poses["ready"] + 0.1, steps=1000, every=0)
