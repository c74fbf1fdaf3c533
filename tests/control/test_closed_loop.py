"""Batches of closed loops against the period-by-period loop in Python and its metrics."""

import numpy as np
import pytest

import brazo
from brazo.control import LQR, PID, Adaptive, ComputedTorque, Controller, LoopConditions, track
from brazo.control.benchmark import quintic, sines
from brazo.recording.metrics import metrics_of
from brazo.recording.robots import robots_of

T_END = 0.3


@pytest.fixture(scope="module")
def scara() -> brazo.Robot:
    return brazo.load("scara2")


@pytest.mark.parametrize("motion", [sines, quintic])
def test_metrics_are_those_of_the_recorded_run(scara, motion) -> None:
    controller = PID(wn=8.0)
    run = scara.closed_loop(controller, motion(scara), 2.0, every=1)
    alone = track(scara, controller, motion(scara), 2.0)
    assert np.array_equal(run.q, alone.run.q) and np.array_equal(run.tau, alone.run.tau)
    tool, *joints, total = metrics_of(robots_of(alone.recording)[0], after=10.0)
    for name in ("rms_error", "max_error", "overshoot", "settling_time", "energy", "peak_torque"):
        expected = [getattr(joint, name) for joint in joints]
        assert run.metrics[name] == pytest.approx(expected, rel=1e-12, abs=1e-15, nan_ok=True)
        if f"{name}.tool" in run.metrics:
            value = getattr(tool, name)
            assert run.metrics[f"{name}.tool"] == pytest.approx(value, rel=1e-11, nan_ok=True)
    assert run.metrics["energy"].sum() == pytest.approx(total.energy, rel=1e-12)
    assert run.metrics["saturation"] == pytest.approx(alone.saturation)
    jerk = np.diff(alone.run.qd, 2, axis=0) / 1e-6
    assert run.metrics["jerk"] == pytest.approx(np.sqrt((jerk**2).mean(axis=0)), rel=1e-9)


def test_runs_with_payload_and_gains_are_those_of_a_loaded_robot(scara) -> None:
    masses, controller = np.array([0.5, 2.0, 3.5]), PID()
    controller.bind(scara, 1e-3)
    kp = controller.gains["kp"] * [[0.7], [1.0], [1.4]]
    many = scara.closed_loop(
        controller,
        sines(scara),
        T_END,
        gains={"kp": kp},
        conditions=LoopConditions(payload=masses, payload_com=(0.01, 0.0, 0.02)),
    )
    for i, mass in enumerate(masses):
        loaded = scara.with_payload(mass, (0.01, 0.0, 0.02))
        controller.gains["kp"] = kp[i]
        alone = track(loaded, controller, sines(scara), T_END, model=scara)
        assert many.metrics["rms_error"][i] == pytest.approx(alone.rms_error, rel=1e-9)
        assert many.metrics["peak_torque"][i] == pytest.approx(alone.peak_torque, rel=1e-9)


def test_a_run_has_the_same_bits_in_any_batch(scara) -> None:
    rng = np.random.default_rng(0)
    kp, bias = rng.uniform(500, 4000, (11, 5)), rng.normal(0, 1e-3, (11, 5))
    seeds = np.arange(11)

    def run(rows, threads=1):
        conditions = LoopConditions(
            payload=1.0 + 0.1 * seeds[rows],
            mass_scale=1.0 + 0.01 * seeds[rows],
            encoder_bias=bias[rows],
            position_noise=1e-4,
            velocity_noise=1e-3,
            seed=seeds[rows],
            torque_loss=0.2,
            torque_loss_time=0.1,
            disturbance=5.0,
            disturbance_start=0.05,
            disturbance_stop=0.1,
            delay=2e-3,
        )
        return scara.closed_loop(
            PID(), sines(scara), 0.2, gains={"kp": kp[rows]}, conditions=conditions, threads=threads
        ).metrics

    many = run(slice(None), threads=2)
    for i in (0, 4, 10):
        alone = run(i)
        assert all(np.array_equal(alone[k], many[k][i], equal_nan=True) for k in many)


def test_conditions_act_on_the_loop(scara) -> None:
    def rows(**conditions):
        run = scara.closed_loop(
            ComputedTorque(),
            sines(scara),
            T_END,
            conditions=LoopConditions(**conditions),
            every=1,
        )
        assert np.isnan(run.failed_at)
        return run

    nominal = rows()
    lost = rows(torque_loss=[1.0, 0, 0, 0, 0], torque_loss_time=0.1)
    assert (lost.tau[100:, 0] == 0.0).all() and (lost.tau[:100] == nominal.tau[:100]).all()
    pushed = rows(disturbance=[0, 10.0, 0, 0, 0], disturbance_start=0.1, disturbance_stop=0.2)
    assert (pushed.q[:101] == nominal.q[:101]).all() and (pushed.q[102] != nominal.q[102]).any()
    # A constant offset of the encoder is a constant error with the opposite sign.
    biased = rows(encoder_bias=[0.01, 0, 0, 0, 0])
    assert biased.q[-1, 0] - nominal.q[-1, 0] == pytest.approx(-0.01, abs=2e-4)
    delayed = rows(delay=3e-3)
    held = scara.inverse_dynamics(*(part[0] for part in delayed.reference))
    assert delayed.tau[:3] == pytest.approx(np.tile(held, (3, 1)))
    assert delayed.tau[3] == pytest.approx(nominal.tau[0])
    # Code for all conditions gives the bits of the code for one.
    same = rows(delay=3e-3, general=5e-3)
    assert np.array_equal(same.q, delayed.q) and np.array_equal(same.tau, delayed.tau)


def test_a_known_payload_is_compensated(scara) -> None:
    for controller in (ComputedTorque(), LQR()):
        errors = [
            scara.closed_loop(
                controller,
                quintic(scara),
                T_END,
                conditions=LoopConditions(payload=[3.0], payload_known=known),
            ).metrics["rms_error.tool"][0]
            for known in (False, True)
        ]
        assert errors[1] < 0.05 * errors[0]


def test_a_diverging_run_does_not_affect_the_others() -> None:
    puma = brazo.load("puma560")  # no limits of the drives
    controller = PID()
    controller.bind(puma, 1e-3)
    kd = controller.gains["kd"] * [[1.0], [1e4]]
    run = puma.closed_loop(controller, sines(puma), T_END, gains={"kd": kd})
    assert np.isnan(run.failed_at[0]) and 0.0 < run.failed_at[1] < T_END
    assert np.isfinite(run.metrics["rms_error"][0]).all()
    assert np.isnan(run.metrics["rms_error"][1]).all()


def test_adaptive_on_a_delta_and_a_python_controller() -> None:
    delta = brazo.load("delta")
    controller = Adaptive()
    run = delta.closed_loop(
        controller, sines(delta), 0.1, conditions=LoopConditions(payload=0.2, mass_scale=1.1)
    )
    assert np.isfinite(run.metrics["rms_error"]).all()

    class Own(Controller):
        def command(self, t, q, qd, reference):
            return 0.0 * q

    with pytest.raises(brazo.BrazoError, match="Own is a controller in Python"):
        delta.closed_loop(Own(), sines(delta), 0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gains": {"kx": 1.0}}, "PID has no gain 'kx'; gains: kp"),
        ({"gains": {"kp": [1.0, 2.0]}}, r"gain kp has shape \(2,\); expected \(..., 5\)"),
        ({"conditions": LoopConditions(payload=-1.0)}, "payload: every mass"),
        ({"conditions": LoopConditions(delay=1.0)}, "delay = 1.0 s; it must be from 0 to 0.05 s"),
        (
            {"conditions": LoopConditions(general=10.0)},
            r"general \(longest delay\) = 10.0 s; it must be from 0 to 0.05 s",
        ),
        ({"conditions": LoopConditions(torque_loss=2.0)}, "fraction must be from 0 to 1"),
        ({"every": -1}, "every = -1"),
        ({"gains": {"kp": np.nan}}, "not numbers"),
    ],
)
def test_mistakes_are_named(scara, options, message) -> None:
    with pytest.raises(brazo.BrazoError, match=message):
        scara.closed_loop(PID(), sines(scara), 0.1, **options)


@pytest.mark.parametrize("name", ["slope", "kd"])
def test_gains_that_may_not_be_zero_are_refused_as_by_the_controller(scara, name) -> None:
    controller = Adaptive()
    controller.bind(scara, 1e-3)
    wanted = rf"gain '{name}' for joint 2 .* is 0; it must be greater than 0 and finite"
    values = controller.gains[name] * [[1, 1, 1, 1, 1], [1, 0, 1, 1, 1]]
    with pytest.raises(brazo.BrazoError, match=wanted):
        controller.gains[name] = values[1]
    with pytest.raises(brazo.BrazoError, match=wanted):
        scara.closed_loop(controller, sines(scara), 0.1, gains={name: values})
