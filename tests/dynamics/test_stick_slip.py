"""Coulomb friction under `dopri5`, against formulas of textbooks and a fine fixed step."""

import math

import numpy as np
import pytest

import brazo

I, FORWARD, BACKWARD = 0.5, 0.8, 0.5
TURNTABLE = f"""
name: turntable
joints:
  - {{name: table, mass: 1, inertia: [{I}, {I}, {I}],
     friction: {{coulomb: [{FORWARD}, {BACKWARD}]}}}}
"""


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "turntable.yaml"
    path.write_text(TURNTABLE)
    return brazo.load(path)


@pytest.mark.parametrize(("speed", "bound"), [(2.0, FORWARD), (-2.0, BACKWARD)])
def test_free_joint_decelerates_uniformly_and_sticks(table, speed, bound):
    """ω = ω₀ − (T/I) t until t = ω₀ I/T, after an angle of ω₀² I/(2 T)."""
    run = table.simulate(q0=[0.0], qd0=[speed], t_end=3.0, dt=0.01, method="dopri5")
    stop = abs(speed) * I / bound
    t = np.minimum(run.t, stop)
    slope = -math.copysign(bound / I, speed)
    assert np.allclose(run.q[:, 0], speed * t + 0.5 * slope * t**2, atol=1e-9)
    assert np.allclose(run.qd[:, 0], speed + slope * t, atol=1e-9)
    resting = run.t > stop + 1e-9
    assert (run.qd[resting] == 0.0).all() and (run.qdd[resting] == 0.0).all()
    assert np.allclose(run.qdd[run.t < stop - 1e-9], slope)


@pytest.mark.parametrize(("sign", "bound"), [(1.0, FORWARD), (-1.0, BACKWARD)])
def test_joint_slips_when_the_torque_exceeds_the_friction(table, sign, bound):
    """τ = k t: at rest until k t = T, then q = k (t − T/k)³/(6 I)."""
    k = 0.9
    run = table.simulate(
        lambda t, q, qd: [sign * k * t], [0.0], t_end=2.0, dt=0.01, method="dopri5"
    )
    since = np.maximum(run.t - bound / k, 0.0)
    assert np.allclose(run.q[:, 0], sign * k * since**3 / (6.0 * I), atol=1e-9)
    assert (run.q[run.t < bound / k - 1e-6] == 0.0).all()


def test_spring_amplitude_decreases_by_a_constant_per_half_period(tmp_path):
    """With T₊ = T₋ = T every half swing loses 2 T/k of amplitude (Lorenz 1924)."""
    path = tmp_path / "spring.yaml"
    path.write_text(TURNTABLE.replace(f"[{FORWARD}, {BACKWARD}]", "0.3"))
    k, T, start = 8.0, 0.3, 0.4
    half = math.pi * math.sqrt(I / k)
    turns = [start]
    while abs(turns[-1]) > T / k:
        turns.append(-math.copysign(abs(turns[-1]) - 2.0 * T / k, turns[-1]))
    run = brazo.load(path).simulate(
        lambda t, q, qd: -k * q, [start], t_end=5.0, dt=0.001, method="dopri5"
    )
    for i, turn in enumerate(turns):
        assert run.at(i * half)[0][0] == pytest.approx(turn, abs=1e-6)
    assert (run.q[run.t > (len(turns) - 1) * half + 1e-6] == run.q[-1]).all()
    assert run.q[-1, 0] == pytest.approx(turns[-1], abs=1e-8)


def test_a_falling_arm_with_geared_drives_ends_and_sticks():
    """Compared with the sign formula at a fixed step of 20 µs, whose error is O(dt)."""
    arm = brazo.load("puma560-drives")
    q0 = arm.poses["zero"]
    run = arm.simulate(q0=q0, t_end=1.0, dt=0.01, method="dopri5", rtol=1e-8)
    fine = arm.simulate(q0=q0, t_end=1.0, dt=2e-5)
    assert np.abs(run.q[-1] - fine.q[-1]).max() < 1e-4
    assert np.abs(run.q - fine.q[::500]).max() < 1e-4
    wrist = [0, 3, 4, 5]  # light enough for friction to hold from the start
    assert (run.q[:, wrist] == 0.0).all()
    assert run.evaluations < 50_000
    # Energy only leaves: no torque, friction dissipates.
    assert (np.diff(run.energy.sum(axis=1)) <= 1e-9).all()


def test_a_stop_and_dry_friction_together(tmp_path):
    path = tmp_path / "arm.yaml"
    path.write_text(
        "name: pendulum\ngravity: [0, -9.81, 0]\njoints:\n"
        "  - {name: hinge, a: 1, mass: 1, inertia: [0.1, 0.1, 0.1], limits: [-30deg, 90deg],\n"
        "     friction: {coulomb: 2}}\n"
    )
    arm = brazo.load(path)
    run = arm.simulate(q0=[0.5], t_end=2.0, dt=0.01, method="dopri5", stops=True)
    assert run.q[-1, 0] == pytest.approx(math.radians(-30), abs=1e-9)
    assert abs(run.qd[-1, 0]) < 1e-15
    # Started outwards, it keeps its speed: the start is no event.
    up = arm.simulate(q0=[0.0], qd0=[1.0], t_end=0.01, dt=0.001, method="dopri5")
    assert up.qd[1, 0] > 0.9


def test_a_torque_that_jumps_ends_with_a_message(table):
    with pytest.raises(brazo.BrazoError, match=r"dopri5 stopped at t = .* use method rk4"):
        table.simulate(
            lambda t, q, qd: [-20.0 * math.copysign(1.0, qd[0] + 50.0 * q[0])],
            [0.3], t_end=2.0, dt=0.05, method="dopri5",
        )  # fmt: skip


def test_the_samples_before_a_failure_have_the_friction_of_a_joint_that_sticks(table):
    def torque(t, q, qd):
        if t > 0.5:
            raise ValueError("no torque")
        return [0.5 * FORWARD]

    with pytest.raises(brazo.BrazoError, match="no torque") as failed:
        table.simulate(torque, [0.0], t_end=1.0, dt=0.01, method="dopri5")
    run = failed.value.run
    assert len(run.t) > 1 and len(run.qdd) == len(run.t)
    assert (run.q == 0.0).all() and (run.qdd == 0.0).all()
