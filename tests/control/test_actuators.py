"""Real drives against the matrix exponential, MuJoCo's DC motor, energy and momentum."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm

import brazo
from brazo.cli.drives import cell_with_drives
from brazo.control.actuators import Drives, motor_step
from brazo.simulation.lone_robot import lone_cell
from brazo.world.cell_file import parse_cell
from brazo.world.cell_writer import save_cell

R, L, K_T, RATIO, VISCOUS = 1.2, 0.8e-3, 0.05, 50, 1e-5
K, B = RATIO * K_T, RATIO**2 * VISCOUS
SUPPLY = 24.0


def rotor(
    motor: str = "", more: str = "", pwm: str = "", gear: str = "", coulomb: float = 0.0
) -> brazo.Robot:
    """One link on a vertical axis without gravity, so that its inertia is constant."""
    return brazo.loads(
        f"""
name: rotor
drives: real
gravity: [0, 0, 0]
joints:
  - {{name: axis, d: 0.1, a: 0.2, mass: 1.0, com: {{a: -0.1}}, inertia: {{box: [0.2, 0.05, 0.05]}},
      actuator: {{motor: {{resistance: {R}ohm, inductance: {L}H, torque_constant: 0.05Nm/1A,
                         inertia: 2e-5,
                         friction: {{viscous: {VISCOUS}, coulomb: {coulomb}}}{motor}}},
                 pwm: {{supply: {SUPPLY}V{pwm}}}, gear: {{ratio: {RATIO}{gear}}}{more}}}}}
poses: {{home: [0]}}
"""
    )


def driven(arm: brazo.Robot, torque: float, mode: str = "contact"):
    """A simulation of the rotor with a constant torque command."""
    sim = brazo.Simulation(arm, {"rotor": None}, mode=mode)  # type: ignore[arg-type]
    robot = sim.robots["rotor"]
    robot.world.torque[:] = torque
    return sim, robot, robot.control.drives


def inertia(arm: brazo.Robot) -> float:
    return float(arm.mass_matrix([0.0])[0, 0])


def exact(A: float, voltage: float, t: float, friction: float = B) -> np.ndarray:
    """Current and speed at t after a step of the voltage from rest."""
    Z = np.array([[-R / L, -K / L, voltage / L], [K / A, -friction / A, 0.0], [0.0] * 3])
    return (expm(Z * t) @ [0.0, 0.0, 1.0])[:2]


def test_a_step_is_the_matrix_exponential():
    rng = np.random.default_rng(0)
    for _ in range(100):
        r, k = rng.uniform(0.1, 5.0), 10 ** rng.uniform(-2, 1)
        inductance, friction, A = 10 ** rng.uniform([-4, -4, -3], [-2, 1, 1])
        V, load, i, w = 10.0 * rng.normal(size=4)
        Z = np.array(
            [[-r / inductance, -k / inductance, V / inductance], [k / A, -friction / A, load / A]]
        )
        z = expm(np.vstack([Z, np.zeros(3)]) * 1e-3) @ [i, w, 1.0]
        step = motor_step(r, inductance, k, friction, A, i, w, V, load, 1e-3, 9)
        np.testing.assert_allclose([i + step.current, w + step.speed], z[:2], rtol=0, atol=1e-11)


@pytest.mark.parametrize("mode", ["contact", "exact"])
@pytest.mark.parametrize("native", [True, False])
def test_current_and_speed_are_those_of_the_analytic_step_response(mode, native):
    arm = rotor()
    sim, robot, drives = driven(arm, 1e6, mode)  # far more than the supply can give: duty cycle 1
    sim.native = native
    A = inertia(arm)
    for k in range(1, 61):
        sim.step()
        i, w = exact(A, SUPPLY, k * sim.dt)
        assert abs(drives.state[0] - i) < 1e-9 and abs(robot.qd[0] - w) < 1e-9


def test_mujoco_converges_to_it():
    import mujoco

    arm = rotor()
    A, errors = inertia(arm), []
    for dt in (2e-5, 1e-5):
        spec = mujoco.MjSpec()
        spec.option.gravity, spec.option.timestep = [0, 0, 0], dt
        body = spec.worldbody.add_body(mass=1.0, inertia=[A] * 3, explicitinertial=True)
        body.add_joint(
            name="axis", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 0, 1], damping=[B, 0, 0]
        )
        motor = spec.add_actuator(name="motor", target="axis", trntype=mujoco.mjtTrn.mjTRN_JOINT)
        motor.set_to_dcmotor(motorconst=[K_T, K_T], resistance=R, inductance=[L, 0.0])
        motor.gear[0] = RATIO
        model = spec.compile()
        data = mujoco.MjData(model)
        data.ctrl[:] = SUPPLY
        for _ in range(round(0.02 / dt)):
            mujoco.mj_step(model, data)
        sim, robot, drives = driven(arm, 1e6)
        for _ in range(20):
            sim.step()
        errors.append([abs(data.act[0] - drives.state[0]), abs(data.qvel[0] - robot.qd[0])])
    assert np.max(errors[1]) < 1e-3  # the engine's step is of first order
    assert errors[1][1] == pytest.approx(errors[0][1] / 2, rel=0.01)


def test_electrical_energy_becomes_work_heat_and_magnetic_energy():
    rng = np.random.default_rng(1)
    x, weights = np.polynomial.legendre.leggauss(12)
    for _ in range(20):
        A, V, load, i, w, dt = 0.06, *(10.0 * rng.normal(size=4)), 1e-3
        at = [motor_step(R, L, K, B, A, i, w, V, load, t, 9) for t in (*(0.5 * dt * (x + 1.0)), dt)]
        current = np.array([i + one.current for one in at])
        speed = np.array([w + one.speed for one in at])
        mean = 0.5 * dt * weights

        electrical = mean @ (V * current[:-1])
        heat = mean @ (R * current[:-1] ** 2 + B * speed[:-1] ** 2)
        work = mean @ (-load * speed[:-1]) + 0.5 * A * (speed[-1] ** 2 - w**2)
        magnetic = 0.5 * L * (current[-1] ** 2 - i**2)
        assert electrical == pytest.approx(heat + work + magnetic, abs=1e-11)


def test_the_recorded_energy_becomes_motion_and_heat():
    arm = rotor()
    sim = brazo.Simulation(replace(lone_cell(arm), step=1e-5), {"rotor": None})
    sim.robots["rotor"].world.torque[:] = 1e6
    rec = sim.run(until=0.03)
    i, V, w = (rec[f"rotor.{name}.axis"] for name in ("current", "voltage", "qd"))
    np.testing.assert_array_equal(rec["rotor.duty.axis"], V / SUPPLY)
    electrical, heat = np.trapezoid(V * i, dx=1e-5), np.trapezoid(R * i**2 + B * w**2, dx=1e-5)
    stored = 0.5 * L * i[-1] ** 2 + 0.5 * inertia(arm) * w[-1] ** 2
    assert electrical == pytest.approx(heat + stored, rel=1e-5)  # of the trapezoidal rule


def test_ideal_drives_are_not_changed_by_actuators():
    arm = brazo.load("scara1")
    assert not arm.model.real_drives
    assert all(drive.armature == 0.0 for drive in arm.model.drives)
    q = arm.poses["home"]
    real = arm.with_drives("real")
    np.testing.assert_array_equal(real.with_drives("ideal").mass_matrix(q), arm.mass_matrix(q))
    added = np.diag(real.mass_matrix(q) - arm.mass_matrix(q))
    for drive, more in zip(arm.model.drives, added, strict=True):
        assert drive.actuator is not None
        assert more == pytest.approx(drive.actuator.armature, rel=1e-9)


def test_the_current_stays_within_its_limit():
    sim, robot, drives = driven(rotor(", max_current: 3A"), 1e6)
    for _ in range(300):
        sim.step()
        assert abs(drives.state[0]) <= 3.0 + 1e-12
        # With more current for the back EMF of the next step the motor would pass the limit.
        assert drives.signals[2] <= (R * 3.0 + K * robot.qd[0]) / SUPPLY + 1e-12


def test_the_duty_cycle_has_steps_and_a_period():
    sim, _, drives = driven(rotor(pwm=", steps: 7, frequency: 100Hz"), 3.0)
    duties = []
    for _ in range(40):
        sim.step()
        duties.append(drives.signals[2])
    levels = 7 * np.array(duties)
    np.testing.assert_allclose(levels, np.rint(levels), atol=1e-12)
    assert all(len(set(duties[k : k + 10])) == 1 for k in (0, 10, 20, 30))


def test_a_gear_delivers_its_efficiency():
    arm = rotor(", max_current: 2A", gear=", efficiency: 0.8")
    sim = brazo.Simulation(replace(lone_cell(arm), step=1e-4), {"rotor": None})
    robot = sim.robots["rotor"]
    drives = robot.control.drives
    robot.world.torque[:] = 1e6
    for _ in range(600):
        sim.step()
    before, i = robot.qd[0], drives.state[0]
    sim.step()
    mean = 0.5 * (i + drives.state[0])
    rate = (robot.qd[0] - before) / sim.dt
    assert rate == pytest.approx((0.8 * K * mean - B * before) / inertia(arm), rel=3e-3)


def test_a_blocked_motor_delivers_its_torque_less_the_friction():
    # A load that the drive does not know, as a gripped body, keeps the joint at rest.
    coulomb = 0.01
    arm = rotor(more=", current_bandwidth: 500Hz", gear=", efficiency: 0.8", coulomb=coulomb)
    drives = Drives(arm, 1e-4)
    zero = np.zeros(1)
    for command, delivered in ((4.0, 0.8 * 4.0 - RATIO * coulomb), (0.4, 0.0)):
        for _ in range(1000):
            tau = drives.step(zero, zero, zero, zero, np.array([command]))
        # The drive expects the joint to move, with a back EMF that shrinks with the step.
        assert tau[0] == pytest.approx(delivered, abs=0.01)


def test_backlash_leaves_the_joint_alone_and_conserves_momentum_in_the_impact():
    arm = rotor(gear=", backlash: 2deg")
    A = inertia(arm)
    J = RATIO**2 * 2e-5
    assert pytest.approx(inertia(rotor()) - J) == A  # the rotor is not part of the joint
    sim, robot, drives = driven(arm, 0.0)
    names = [name.split(" ", 1)[1] for name in drives.names]
    at = {name: names.index(name) for name in names}
    drives.state[at["rotor speed"]] = 1.0  # in the middle of the gap
    free, lost = robot.qd[0], 0.0
    while robot.qd[0] == 0.0 and sim.time < 1.0:
        lost = drives.state[at["rotor speed"]]
        assert abs(drives.state[at["rotor"]]) < np.radians(1.0) + 1e-3
        sim.step()
    assert free == 0.0 and lost > 0.0
    together = J * lost / (A + J)
    assert robot.qd[0] == pytest.approx(together, rel=0.06)  # the motor brakes during the step
    assert robot.qd[0] == pytest.approx(drives.state[at["rotor speed"]], abs=1e-12)


def test_a_servo_settles_within_a_count_and_tracks_better_with_higher_gains():
    errors = []
    for gain in (10, 40):
        servo = f", current_bandwidth: 500Hz, servo: {{position: {gain}, speed: 12, "
        servo += "speed_integral: 200, encoder: 4096}"
        arm = rotor(", max_current: 20A", servo)
        sim = brazo.Simulation(arm)
        robot = sim.robots["rotor"]
        robot.move(brazo.trajectory.quintic([0.0], [1.0], 0.5))
        worst = 0.0
        for _ in range(1500):
            sim.step()
            worst = max(worst, abs(float(robot.reference.q[0] - robot.q[0])))
        errors.append(worst)
        assert abs(robot.q[0] - 1.0) < 2.0 * np.pi / (4096 * RATIO)
    assert 0.0 < errors[1] < 0.5 * errors[0]


def test_native_steps_and_saved_states_repeat_bit_for_bit():
    arm = brazo.load("scara1").with_drives("real")
    ends = []
    for native in (True, False):
        sim = brazo.Simulation(arm)
        sim.native = native
        robot = sim.robots["scara1"]
        goal = arm.poses["home"] + [0.2, -0.2, 0.02, 0.2, 0.2]
        robot.move(brazo.trajectory.quintic(arm.poses["home"], goal, 0.1))
        sim.step(40)
        state = sim.save()
        sim.step(40)
        first = robot.q
        sim.restore(state)
        sim.step(40)
        np.testing.assert_array_equal(robot.q, first)
        ends.append(robot.q)
    np.testing.assert_array_equal(*ends)


@pytest.mark.parametrize(
    ("robot", "message"),
    [("puma560", "needs an actuator in its file"), ("rv2aj-maker", "needs an actuator")],
)
def test_robots_without_actuators_refuse_real_drives(robot, message):
    with pytest.raises(brazo.BrazoError, match=message):
        brazo.load(robot).with_drives("real")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gear": ", efficiency: 1.2"}, "no gear adds energy"),
        ({"pwm": ", steps: 2.5"}, "a whole number"),
        ({"motor": ", max_current: 3V"}, "is a voltage, expected a current"),
        ({"more": ", servo: {position: 3}"}, "speed"),
    ],
)
def test_mistakes_in_an_actuator_are_reported(change, message):
    with pytest.raises(brazo.BrazoError, match=message):
        rotor(**change)


def test_a_cell_and_the_shell_choose_the_drives(tmp_path):
    cell = parse_cell("name: c\nrobots: [{name: a, robot: scara1, drives: real}]\n")
    assert cell.robots[0].model.real_drives
    save_cell(cell, tmp_path / "c.yaml")
    assert brazo.load_cell(tmp_path / "c.yaml").robots[0].drives == "real"
    both = cell_with_drives(brazo.load_cell("cooperative"), "real")
    assert all(robot.model.real_drives for robot in both.robots)
    with pytest.raises(brazo.BrazoError, match="drives 'real' needs an actuator"):
        parse_cell("name: c\nrobots: [{name: a, robot: puma560, drives: real}]\n")
    with pytest.raises(brazo.BrazoError, match="needs an actuator"):
        cell_with_drives(brazo.load_cell("solo-puma560"), "real")
