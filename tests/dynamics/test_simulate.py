"""Motion under torques, against quad-precision free falls and conservation laws."""

import math

import numpy as np
import pytest

import brazo

FALLS = [("srm1", "srm1_corrected"), ("srm1-printed", "srm1_as_printed")]


@pytest.mark.parametrize(("name", "key"), FALLS)
@pytest.mark.parametrize("which", [0, 1])
def test_free_fall_by_dopri5(golden, name, key, which):
    fall = golden["robots"][key]["freefall_zero_torque"][which]
    arm = brazo.load(name)
    run = arm.simulate(q0=fall["q0"], t_end=2.0, method="dopri5", rtol=1e-12, dt=0.25)
    assert run.energy[0].sum() == pytest.approx(fall["E0"], rel=1e-11)
    for k, state in enumerate(fall["states"], start=1):
        tolerance = 1e-9 if state["t"] <= 1.0 else 1e-8
        assert np.abs(run.q[k] - state["q"]).max() < tolerance
        assert np.abs(run.qd[k] - state["qd"]).max() < 30 * tolerance
    assert np.abs(arm.fk(run.q[-1])[:3, 3] - fall["tool_position_at_2s"]).max() < 1e-8
    assert run.energy_drift < 1e-9


@pytest.mark.parametrize(("name", "key"), FALLS)
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("step", ["0.01", "0.001"])
def test_free_fall_by_rk4_has_the_listed_error(golden, name, key, which, step):
    fall = golden["robots"][key]["freefall_zero_torque"][which]
    listed = fall["fixed_step_errors"][f"RK4_{step}"]
    run = brazo.load(name).simulate(q0=fall["q0"], qd0=fall["qd0"], t_end=2.0, dt=float(step))
    states = {state["t"]: state for state in fall["states"]}
    middle = len(run.q) // 2
    assert np.abs(run.q[middle] - states[1.0]["q"]).max() == pytest.approx(
        listed["max_dq_1s"], rel=0.02
    )
    assert np.abs(run.q[-1] - states[2.0]["q"]).max() == pytest.approx(
        listed["max_dq_2s"], rel=0.02
    )
    assert run.energy_drift == pytest.approx(listed["max_dE"], rel=0.02)


def test_rk4_is_of_fourth_order():
    arm = brazo.load("scara1")
    start = {"q0": [0.2, 0.5, 0.1, 0.3, 0.4], "qd0": [1, -1, 0.1, 2, -1], "t_end": 0.4}
    exact = arm.simulate(**start, method="dopri5", rtol=1e-13, dt=0.4).q[-1]
    errors = [np.abs(arm.simulate(**start, dt=h).q[-1] - exact).max() for h in (8e-3, 4e-3, 2e-3)]
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.15)
    assert errors[1] / errors[2] == pytest.approx(16, rel=0.15)


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
@pytest.mark.parametrize("name", ["scara2", "panda", "delta"])
def test_free_motion_keeps_its_energy(name, method):
    arm = brazo.load(name)
    run = arm.simulate(t_end=0.1, method=method, dt=1e-3 if method == "dopri5" else 1e-4)
    assert run.energy_drift < 1e-7 * max(1.0, np.abs(run.energy).max())


def test_python_and_compiled_torque_functions_agree():
    arm = brazo.load("puma560")
    tau = np.array([1.0, -20.0, 5.0, 0.1, 0.2, -0.1])
    constant = arm.simulate(tau, t_end=0.5)
    called = arm.simulate(lambda t, q, qd: tau, t_end=0.5)
    assert np.abs(constant.q - called.q).max() < 1e-12
    assert (called.tau == tau).all()


def test_gravity_torque_holds_the_robot():
    arm = brazo.load("puma560")
    run = arm.simulate(
        lambda t, q, qd: arm.gravity(q) - 20 * qd, q0=arm.poses["nominal"], t_end=0.2
    )
    assert np.abs(run.q - run.q[0]).max() < 1e-12


def test_torques_of_follow_reproduce_the_motion():
    arm = brazo.load("scara2")
    amplitude = np.array([0.5, 0.4, -0.3, 0.02, 0.6])

    def trajectory(t):
        return (
            amplitude * math.sin(2 * t) + [0, 0, 0, 0.1, 0],
            2 * amplitude * math.cos(2 * t),
            -4 * amplitude * math.sin(2 * t),
        )

    run = arm.follow(trajectory, t_end=1.0, dt=1e-2)
    forward = arm.simulate(
        lambda t, q, qd: arm.inverse_dynamics(*trajectory(t)),
        q0=run.q[0],
        qd0=run.qd[0],
        t_end=1.0,
        dt=1e-3,
    )
    assert np.abs(forward.q[::10] - run.q).max() < 1e-9
    samples = np.stack([run.q.T, run.qd.T, run.qdd.T], axis=-1)  # n x samples x 3
    assert (arm.follow(samples, dt=1e-2).tau == run.tau).all()


def test_kinematic_robots_can_follow_but_not_be_simulated():
    arm = brazo.load("rv2aj-maker")
    run = arm.follow(lambda t: (np.full(5, t), np.ones(5), np.zeros(5)), t_end=0.5, dt=0.1)
    assert run.tau is None and run.tool.shape == (6, 4, 4)
    assert "torque.J1" not in run.columns() and run.columns()["q.J1"][1] == "rad"
    with pytest.raises(brazo.BrazoError, match="kinematic only"):
        arm.simulate()


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_joint_stops_hold_and_dissipate_energy(method):
    arm = brazo.load("puma560")
    run = arm.simulate(q0=arm.poses["zero"], t_end=1.5, dt=1e-3, stops=True, method=method)
    low, high = arm.limits.T
    assert (run.q >= low).all() and (run.q <= high).all()
    total = run.energy.sum(axis=1)
    assert total[-1] < total[0] - 1.0
    # Impacts only take energy; between them it stays.
    assert np.diff(total).max() < 1e-3
    resting = np.isclose(run.q[-1], low) | np.isclose(run.q[-1], high)
    assert resting[1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"torque": lambda t, q, qd: 1 / 0},
            r"raised ZeroDivisionError at t = 0 s: .*test_simulate",
        ),
        ({"torque": lambda t, q, qd: [1, 2]}, r"at t = 0 s has shape \(2,\); expected \(6,\)"),
        ({"torque": lambda t, q, qd: "much"}, "not an array of numbers"),
        ({"torque": lambda t, q, qd: [math.nan] * 6}, "must be finite"),
        ({"torque": [1.0]}, r"torque has shape \(1,\)"),
        ({"q0": [0.0] * 5}, r"q0 has shape \(5,\); expected \(6,\)"),
        ({"method": "euler"}, "rk4, dopri5"),
        ({"t_end": -1.0}, "greater than 0"),
        ({"dt": 0.3}, "not a multiple of dt"),
        ({"method": "dopri5", "rtol": 1e-20}, "at least 3e-14"),
        ({"torque": [0, 1e9, 0, 0, 0, 0], "dt": 0.5}, "is not finite|smaller dt"),
        (
            {"torque": lambda t, q, qd: 1e3 * qd**3, "qd0": [5] * 6, "method": "dopri5"},
            r"no step size meets rtol = 1e-09; joint \d \(.*check the torques",
        ),
        ({"torque": lambda t, q, qd: -5 * qd, "qd0": [1] * 6}, "is not finite"),
        (
            {"method": "dopri5", "qd0": [0, 1e308, 1e308, 0, 0, 0]},
            r"joint 2 \(.*\) is too large \(1e\+308\) at t = 0 s",
        ),
    ],
)
def test_mistakes_are_named(options, said):
    with pytest.raises(brazo.BrazoError, match=said):
        brazo.load("puma560").simulate(**options)


@pytest.mark.parametrize(
    ("trajectory", "said"),
    [
        (lambda t: (t, t), "3 vectors"),
        (lambda t: ([0] * 6, [0] * 5, [0] * 6), r"qd has shape \(5,\)"),
        (lambda t: undefined, "NameError"),  # noqa: F821 # pyright: ignore
        (lambda t: np.zeros(6), r"ndarray of shape \(6,\); expected 3 vectors"),
        (np.zeros((5, 10, 3)), r"expected \(6, samples, 3\)"),
    ],
)
def test_bad_trajectories_are_named(trajectory, said):
    with pytest.raises(brazo.BrazoError, match=said):
        brazo.load("puma560").follow(trajectory, t_end=0.1, dt=0.01)


def test_recorded_torques_are_the_applied_ones():
    """A torque function with a state is called four times per step and never afterwards."""
    arm = brazo.load("srm1")
    calls = []

    def integrating(t, q, qd):
        calls.append(t)
        return np.full(6, 1e-3 * len(calls))

    run = arm.simulate(integrating, q0=[0.0] * 6, t_end=0.02)
    assert run.tau[:, 0] == pytest.approx(1e-3 * (1 + 4 * np.arange(21)))
    assert len(calls) == 81


def test_stops_require_a_start_within_the_limits():
    arm = brazo.load("scara1")
    q0 = [4.0, 0.0, 0.0, 0.0, 0.0]
    with pytest.raises(
        brazo.BrazoError, match=r"q0: 229.183 deg is outside the limits .* 'shoulder'"
    ):
        arm.simulate(q0=q0, stops=True)


def test_t_end_truncates_a_sampled_trajectory():
    arm = brazo.load("scara1")
    samples = np.zeros((arm.n, 501, 3))
    samples[0, :, 0] = np.linspace(0.0, 1.0, 501)
    run = arm.follow(samples, t_end=3.0, dt=0.01)
    assert run.t[-1] == pytest.approx(3.0) and run.q[-1, 0] == pytest.approx(0.6)
    assert len(arm.follow(samples, dt=0.01).t) == 501
    with pytest.raises(brazo.BrazoError, match="ends at 5 s, before 6 s"):
        arm.follow(samples, t_end=6.0, dt=0.01)
    with pytest.raises(brazo.BrazoError, match=r"t_end = -1\.0 s; it must be greater than 0"):
        arm.follow(samples, t_end=-1.0, dt=0.01)
