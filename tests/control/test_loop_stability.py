"""The linear model of a sampled loop against theory, simulations and python-control."""

import numpy as np
import pytest

import brazo
from brazo.control import LQR, PID, ComputedTorque, LoopConditions, PDGravity
from brazo.control.design_rules import design_gains, rules_for, ultimate_gain
from brazo.control.loop_stability import LinearLoops, PlantVariant, with_gains
from brazo.errors import BrazoError

DT = 1e-3
SLIDER = """
name: slider
joints:
  - {name: slide, type: prismatic, alpha: 0, a: 0, theta: 0, mass: 2.0, com: [0, 0, 0],
     inertia: [0.01, 0.01, 0.01], limits: [-1, 1]}
gravity: [0, 0, 0]
"""


@pytest.fixture(scope="module")
def slider() -> brazo.Robot:
    return brazo.loads(SLIDER)


@pytest.fixture(scope="module")
def scara() -> brazo.Robot:
    return brazo.load("scara2")


@pytest.mark.parametrize("delay", [0, 1, 2, 5])
def test_the_ultimate_gain_is_where_the_velocity_loop_leaves_the_unit_circle(slider, delay) -> None:
    Ku, Tu = ultimate_gain(np.array([2.0]), DT, delay)
    loops = LinearLoops(slider, np.zeros((1, 1)), DT)
    values = np.linalg.eigvals(
        loops.matrix(PDGravity_of(slider, float(Ku[0])), PlantVariant(delay=delay))[0]
    )
    fast = values[np.argmax(np.abs(np.angle(values)) * (np.abs(values) > 0.9))]
    assert abs(fast) == pytest.approx(1.0, abs=1e-6)
    assert 2.0 * np.pi * DT / abs(np.angle(fast)) == pytest.approx(Tu, rel=1e-6)


def PDGravity_of(robot: brazo.Robot, kd: float) -> PDGravity:
    controller = PDGravity(kp=0.0, kd=kd)
    controller.bind(robot, DT)
    return controller


def test_the_matrix_of_a_pid_loop_is_that_of_theory(slider) -> None:
    kp, ki, kd, m = 800.0, 3000.0, 60.0, 2.0
    controller = PID(kp=kp, ki=ki, kd=kd)
    controller.bind(slider, DT)
    loop = LinearLoops(slider, np.zeros((1, 1)), DT).matrix(controller)[0]
    b = np.array([0.5 * DT**2 / m, DT / m])
    expected = np.block(
        [
            [np.array([[1.0, DT], [0.0, 1.0]]) - np.outer(b, [kp, kd]), b[:, None]],
            [np.array([[-ki * DT, 0.0, 1.0]])],
        ]
    )
    assert loop == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_small_motions_of_the_simulated_loop_decay_with_the_spectral_radius(scara) -> None:
    controller = ComputedTorque(wn=8.0, zeta=1.0)
    controller.bind(scara, DT)
    q = np.array(scara.poses["home"])
    radius = LinearLoops(scara, q, DT).stability(controller).radius
    rows = 1501
    hold = np.zeros((3, rows, scara.n))
    hold[0] = q
    run = scara.closed_loop(controller, hold, 1.5, q0=q + 1e-4, every=1)
    error = np.abs(run.q[:, 0] - q[0])
    # A double pole: e ~ (1 + wn t) exp(-wn t), up to the error of sampling.
    t = run.t
    assert radius == pytest.approx(np.exp(-8.0 * DT), rel=2e-3)
    assert error[1000] / error[500] == pytest.approx(
        (1 + 8.0 * t[1000]) / (1 + 8.0 * t[500]) * np.exp(-8.0 * (t[1000] - t[500])), rel=0.05
    )


def test_the_delay_margin_separates_stable_from_unstable_runs() -> None:
    arm = brazo.load("puma560")
    controller = PID(wn=60.0)
    controller.bind(arm, DT)
    q = np.array(next(iter(arm.poses.values())))
    margin = LinearLoops(arm, q, DT).delay_margin(controller)
    assert DT < margin < 0.02
    rows = 1001
    hold = np.zeros((3, rows, arm.n))
    hold[0] = q
    delays = np.array([margin - DT, margin + 2 * DT])
    start = q + 1e-5
    runs = arm.closed_loop(
        controller, hold, 1.0, q0=start, conditions=LoopConditions(delay=delays), every=1
    )
    # Gravity is carried by the integrators: compare the oscillation, not the mean.
    speed = np.abs(np.diff(runs.qd, axis=1)).max(axis=2)
    early, late = speed[:, 300:400].max(axis=1), speed[:, -100:].max(axis=1)
    assert late[0] < early[0] and not late[1] < early[1]


def test_batches_of_gains_are_single_ones(scara) -> None:
    q = np.array(scara.poses["home"])
    loops = LinearLoops(scara, q, DT, [PlantVariant(), PlantVariant("late", 1.0, 0.8, 2)])
    for kind, gain in ((PID, "kp"), (LQR, "q_weight")):
        controller = kind()
        controller.bind(scara, DT)
        sets = controller.gains[gain] * np.array([[0.5], [1.0], [3.0]])
        many = loops.radii(controller, {gain: sets})
        alone = [loops.radii(with_gains(controller, {gain: one})) for one in sets]
        assert many == pytest.approx(np.array(alone), rel=1e-9)


def test_an_integrator_without_gain_does_not_count(scara) -> None:
    controller = ComputedTorque()  # ki = 0
    controller.bind(scara, DT)
    loops = LinearLoops(scara, np.array(scara.poses["home"]), DT)
    assert loops.matrix(controller).shape[-1] == 2 * scara.n
    assert loops.stability(controller).radius < 0.98


def test_bad_gains_are_unstable(scara) -> None:
    controller = PID()
    controller.bind(scara, DT)
    loops = LinearLoops(scara, np.array(scara.poses["home"]), DT)
    for scale in (0.0, 40.0):  # no damping; too much for the sampling
        wrong = with_gains(controller, {"kd": scale * controller.gains["kd"]})
        assert not loops.stability(wrong).stable


def test_rules_apply_to_controllers_with_their_gains(scara) -> None:
    pid, lqr = PID(), LQR()
    for controller in (pid, lqr):
        controller.bind(scara, DT)
    assert rules_for(lqr) == ("bryson",) and "bryson" not in rules_for(pid)
    assert set(design_gains("tyreus-luyben", pid, DT)) == {"kp", "ki", "kd"}
    weights = design_gains("bryson", lqr)
    assert weights["tau_weight"] == pytest.approx(lqr.limits**-2.0)
    with pytest.raises(BrazoError, match=r"rule 'bryson' does not apply to PID; rules: pole"):
        design_gains("bryson", pid)
    with pytest.raises(BrazoError, match="rule 'magic' is not one of pole-placement"):
        design_gains("magic", pid)


def test_pole_placement_of_computed_torque_keeps_45_degrees_of_phase(slider) -> None:
    import control

    controller = ComputedTorque()
    controller.bind(slider, DT)
    gains = design_gains("pole-placement", controller, delay=2 * DT)
    kp, kd = float(gains["kp"][0]), float(gains["kd"][0])
    assert kd == pytest.approx(2.0 * np.sqrt(kp))  # critical damping
    lag = 3.5 * DT  # two periods, one of computation, half of the hold
    numerator, denominator = control.pade(lag, 6)
    loop = control.tf([kd, kp], [1, 0, 0]) * control.tf(numerator, denominator)
    _, phase, *_ = control.margin(loop)
    assert phase == pytest.approx(45.0, abs=3.0)


@pytest.mark.parametrize(("kind", "name"), [(PID, "kp"), (LQR, "q_weight")])
@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
def test_gain_sets_may_have_any_leading_dimensions(scara, kind, name, lead) -> None:
    controller = kind()
    controller.bind(scara, DT)
    loops = LinearLoops(scara, scara.random_q(2, seed=1), DT)
    sets = np.random.default_rng(0).uniform(0.5, 2.0, (*lead, scara.n)) * controller.gains[name]
    many = loops.radii(controller, {name: sets})
    assert many.shape == (*lead, 1, 2)
    for i in np.ndindex(lead):
        alone = loops.radii(with_gains(controller, {name: sets[i]}))
        assert many[i] == pytest.approx(alone, rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "first", "second"), [(PID, "kp", "kd"), (LQR, "q_weight", "qd_weight")]
)
def test_gain_sets_of_a_wrong_shape_are_named(scara, kind, first, second) -> None:
    controller = kind()
    controller.bind(scara, DT)
    loops = LinearLoops(scara, np.zeros((1, scara.n)), DT)
    with pytest.raises(BrazoError, match=rf"gain {first} has shape \(3,\); expected \(..., 5\)"):
        loops.radii(controller, {first: np.ones(3)})
    gains = {first: np.ones((2, 5)), second: np.ones((3, 5))}
    with pytest.raises(BrazoError, match="do not broadcast"):
        loops.radii(controller, gains)
