"""One robot, five routes: kernels, Lagrange, Walker–Orin, Pinocchio, MuJoCo; and the invariants."""

import math

import numpy as np
import pytest

import brazo
from brazo.dynamics.composite import mass_matrix
from brazo.dynamics.kernels import TreeDynamicsKernels
from brazo.dynamics.links import links_of
from brazo.dynamics.newton_euler import joint_transforms, newton_euler
from brazo.dynamics.walker_orin import forward_dynamics, mass_matrix_by_columns
from brazo.formats.library import robot_names
from tests import oracles
from tests.dynamics.lagrange import Lagrange
from tests.dynamics.random_robots import random_robot

GOLDEN = {
    "puma560": "puma560_corke",
    "srm1": "srm1_corrected",
    "srm1-printed": "srm1_as_printed",
    "scara1": "scara1_proposed",
    "scara2": "scara2_proposed",
}
MASSIVE = [name for name in robot_names() if brazo.load(name).has_dynamics]
TREES = [name for name in MASSIVE if name != "delta"]


def close(a, b, tolerance=1e-10) -> bool:
    """Equal relative to the largest entry."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    return bool(np.abs(a - b).max() <= tolerance * max(np.abs(b).max(), 1e-3))


def states(n: int, count: int, seed: int):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield rng.uniform(-2, 2, n), rng.uniform(-2, 2, n), rng.uniform(-5, 5, n)


@pytest.mark.parametrize(("name", "key"), GOLDEN.items())
def test_golden(golden, name, key):
    arm, data = brazo.load(name), golden["robots"][key]
    for entry in data["rne"]:
        q, qd, qdd = entry["q"], entry["qd"], entry["qdd"]
        assert close(arm.inverse_dynamics(q, qd, qdd), entry["tau"])
        assert close(arm.gravity(q), entry["gravity_part"])
        assert close(arm.coriolis(q, qd) @ np.array(qd), entry["coriolis_part"])
    for entry in data["mass_matrix"]:
        assert close(arm.mass_matrix(entry["q"]), entry["M"])
        gap = np.linalg.eigvalsh(arm.mass_matrix(entry["q"])) - np.sort(entry["eigenvalues"])
        assert np.abs(gap).max() <= 1e-12 * max(entry["eigenvalues"])
    for entry in data["forward_dynamics"]:
        assert close(arm.forward_dynamics(entry["q"], entry["qd"], entry["tau"]), entry["qdd"])


@pytest.mark.parametrize(("name", "key"), GOLDEN.items())
def test_shipped_files_have_the_golden_masses(golden, name, key):
    links = [body.inertia for body in brazo.load(name).model.bodies if body.joint is not None]
    for link, row in zip(links, golden["robots"][key]["table"], strict=True):
        assert link.mass == pytest.approx(row["m"], abs=1e-15)
        assert np.abs(link.com - row["com"]).max() < 1e-14
        assert np.abs(link.tensor - np.diag(row["I_com_diag"])).max() < 1e-13


def test_golden_motor_inertia(golden):
    arm, data = brazo.load("puma560-drives"), golden["robots"]["puma560_corke"]
    entry = data["M_qn_with_motor_inertia"]
    assert close(arm.mass_matrix(data["named"]["qn"]), entry["M"])
    assert close([j.drive.armature for j in arm.model.joints], entry["armature_G2Jm"])


def _five_routes(model, inverse, M_of, forward, count, seed):
    """Check one model's own routes and those of the other engines at random states."""
    n = model.n
    plain, lagrange = links_of(model, regroup=False), Lagrange(model)
    up = [-float(x) for x in model.gravity]
    engines = [oracles.Pinocchio(model), oracles.MuJoCo(model)]
    for q, qd, qdd in states(n, count, seed):
        tau, M = inverse(q, qd, qdd), M_of(q)
        ML, CL, GL = lagrange(q, qd)
        assert close(M, ML)
        assert close(tau, ML @ qdd + CL + GL)
        assert close(M, mass_matrix_by_columns(plain, list(q)))
        slow = forward_dynamics(plain, list(q), list(qd), list(tau), list(model.gravity))
        assert close(slow, qdd, 1e-10 * max(1.0, np.linalg.cond(M) * 1e-4))
        assert close(forward(q, qd, tau), qdd, 1e-10 * max(1.0, np.linalg.cond(M) * 1e-4))
        for engine in engines:
            assert close(tau, engine.inverse_dynamics(q, qd, qdd))
            assert close(M, engine.mass_matrix(q))
        assert np.linalg.eigvalsh(M).min() > 0.0
        assert np.abs(M - M.T).max() <= 1e-14 * np.abs(M).max()
        rest = newton_euler(plain, joint_transforms(plain, list(q)), None, None, up)
        assert close(rest, GL)


@pytest.mark.parametrize("seed", range(200))
def test_random_robots_agree_on_every_route(seed):
    model = random_robot(seed)
    links = links_of(model)
    up = [-float(x) for x in model.gravity]

    def inverse(q, qd, qdd):
        tau = newton_euler(links, joint_transforms(links, list(q)), list(qd), list(qdd), up)
        armature = np.array([j.drive.armature for j in model.joints])
        return np.array(tau) + armature * qdd

    def M_of(q):
        return np.array(mass_matrix(links, joint_transforms(links, list(q))))

    def forward(q, qd, tau):
        return np.array(forward_dynamics(links, list(q), list(qd), list(tau), list(model.gravity)))

    _five_routes(model, inverse, M_of, forward, 3, seed)


@pytest.mark.parametrize("seed", range(0, 200, 12))
def test_random_robots_compiled(seed):
    model = random_robot(seed)
    kernels = TreeDynamicsKernels(model)
    _five_routes(
        model,
        kernels.inverse_dynamics,
        kernels.mass_matrix,
        kernels.forward_dynamics,
        3,
        seed,
    )
    h = 1e-6
    for q, qd, _ in states(model.n, 2, seed + 1):
        C = kernels.coriolis(q, qd)
        M_rate = (kernels.mass_matrix(q + h * qd) - kernels.mass_matrix(q - h * qd)) / (2 * h)
        skew = M_rate - 2.0 * C
        assert np.abs(skew + skew.T).max() < 1e-8 * max(1.0, np.abs(C).max())
        assert close(C @ qd, Lagrange(model)(q, qd)[1])


@pytest.mark.parametrize("name", TREES)
def test_shipped_robots_agree_on_every_route(name):
    arm = brazo.load(name)
    friction = np.array([j.friction.viscous or any(j.friction.coulomb) for j in arm.model.joints])
    if friction.any():
        # The other engines compute rigid-body motion: compare without the friction term.
        def inverse(q, qd, qdd):
            return arm.inverse_dynamics(q, qd, qdd) - _friction(arm, qd)

        def forward(q, qd, tau):
            return arm.forward_dynamics(q, qd, tau + _friction(arm, qd))

        for q, qd, qdd in states(arm.n, 20, 5):
            tau = inverse(q, qd, qdd)
            assert close(tau, oracles.pinocchio(arm.model).inverse_dynamics(q, qd, qdd))
            assert close(tau, oracles.mujoco(arm.model).inverse_dynamics(q, qd, qdd))
            assert close(forward(q, qd, tau), qdd)
        return
    _five_routes(arm.model, arm.inverse_dynamics, arm.mass_matrix, arm.forward_dynamics, 20, 6)


def _friction(arm, qd) -> np.ndarray:
    tau = []
    for joint, speed in zip(arm.model.joints, qd, strict=True):
        f = joint.friction
        step = f.coulomb[0] if speed > 0 else -f.coulomb[1] if speed < 0 else 0.0
        tau.append(f.viscous * speed + step)
    return np.array(tau)


@pytest.mark.parametrize("name", MASSIVE)
def test_skew_symmetry_and_inverse_of_each_other(name):
    arm = brazo.load(name)
    h = 1e-6
    for q, qd, qdd in states(arm.n, 5, 7):
        q = np.clip(0.4 * q, *arm.limits.T)
        C = arm.coriolis(q, qd)
        M_rate = (arm.mass_matrix(q + h * qd) - arm.mass_matrix(q - h * qd)) / (2 * h)
        skew = M_rate - 2.0 * C
        assert np.abs(skew + skew.T).max() < 2e-8 * max(1.0, np.abs(C).max())
        tau = arm.inverse_dynamics(q, qd, qdd)
        assert close(arm.forward_dynamics(q, qd, tau), qdd, 1e-9)


@pytest.mark.parametrize("name", MASSIVE)
def test_power_balance_with_friction(name):
    """dE/dt = (torque − friction) · speed at any state, E differentiated along the motion."""
    arm = brazo.load(name)
    h = 1e-5
    for q, qd, tau in states(arm.n, 20, 8):
        q = np.clip(0.3 * q, *arm.limits.T)
        qdd = arm.forward_dynamics(q, qd, tau)
        lost = np.zeros(arm.n) if name == "delta" else _friction(arm, qd)
        E = [arm.energy(q + k * h * qd, qd + k * h * qdd).sum() for k in (-2, -1, 1, 2)]
        rate = (E[0] - 8 * E[1] + 8 * E[2] - E[3]) / (12 * h)
        assert rate == pytest.approx((tau - lost) @ qd, abs=2e-8 * max(1.0, abs(E[0])))


def test_a_wrench_at_the_tool_acts_through_the_jacobian():
    for name in ("puma560", "scara1", "panda", "delta"):
        arm = brazo.load(name)
        q = arm.random_q(seed=1)
        qd, qdd = np.full(arm.n, 0.3), np.full(arm.n, -0.7)
        wrench = np.array([3.0, -2.0, 5.0, 0.4, 0.1, -0.3])
        if name == "delta":
            wrench[3:] = 0.0
        free = arm.inverse_dynamics(q, qd, qdd)
        pushed = arm.inverse_dynamics(q, qd, qdd, wrench=wrench)
        assert close(free - pushed, arm.jacobian(q).T @ wrench)
        assert close(arm.forward_dynamics(q, qd, pushed, wrench=wrench), qdd, 1e-9)


def test_gravity_of_any_direction_equals_a_tilted_base():
    arm = brazo.load("puma560")
    q, zero = arm.random_q(seed=2), np.zeros(6)
    for field in ([0, 0, -9.81], [3.0, -4.0, 5.0], [0, 0, 0]):
        lifted = arm.inverse_dynamics(q, zero, zero, gravity=field)
        base = np.concatenate([zero, -np.array(field)])
        moving = arm.inverse_dynamics(q, zero, zero, gravity=[0, 0, 0], base=base)
        assert close(lifted, moving, 1e-13)
        assert close(lifted, arm.gravity(q, gravity=field), 1e-13)


def test_a_turning_base_equals_an_extra_joint():
    """A base spinning about z is a robot with one more joint at its foot."""
    arm = brazo.load("scara1")
    q, qd, qdd = arm.random_q(seed=3), np.full(5, 0.4), np.full(5, -0.3)
    omega, alpha = 1.3, -0.8
    base = np.array([0, 0, omega, 0, 0, alpha, 0, 0, 0])
    moved = qd.copy(), qdd.copy()
    moved[0][0] += omega
    moved[1][0] += alpha
    assert close(
        arm.inverse_dynamics(q, qd, qdd, base=base), arm.inverse_dynamics(q, *moved), 1e-13
    )


def test_payload_acts_as_an_additional_body():
    arm = brazo.load("scara2")
    loaded = arm.with_payload(0.4, com=[0, 0, 0.05], inertia=[1e-3, 1e-3, 2e-4])
    q = arm.random_q(seed=4)
    extra = loaded.gravity(q) - arm.gravity(q)
    point = np.eye(4)
    point[2, 3] = 0.05
    J = arm.jacobian(q)
    lever = (arm.fk(q) @ point)[:3, 3] - arm.fk(q)[:3, 3]
    at_com = J[:3] - np.cross(lever, J[3:].T).T
    assert close(extra, -at_com.T @ (0.4 * arm.model.gravity))
    with pytest.raises(brazo.BrazoError, match="mass 0 or more"):
        arm.with_payload(-1.0)


def test_missing_inertia_is_reported():
    arm = brazo.load("rv2aj-maker")
    with pytest.raises(brazo.BrazoError, match="kinematic only: no inertia is given for link 1"):
        arm.inverse_dynamics(np.zeros(5), np.zeros(5), np.zeros(5))


def test_smooth_friction_equals_coulomb_friction_away_from_rest():
    text = "name: pin\njoints: [{a: 1, mass: 1, inertia: [1,1,1], friction: {coulomb: 2%s}}]\n"
    from brazo.formats.load import Source
    from brazo.formats.robot_yaml.robot_file import RobotFile

    def load(option):
        file = RobotFile.parse(text % option)
        return brazo.Robot(Source(file.build(), file.build))

    sharp, smooth = load(""), load(", smooth: 0.01")
    q, zero = np.zeros(1), np.zeros(1)
    for speed in (1.0, -1.0):
        a = sharp.inverse_dynamics(q, np.array([speed]), zero)
        b = smooth.inverse_dynamics(q, np.array([speed]), zero)
        assert b == pytest.approx(a, abs=2e-4)
    assert (sharp.inverse_dynamics(q, zero, zero) == smooth.inverse_dynamics(q, zero, zero)).all()
    assert smooth.inverse_dynamics(q, np.array([0.01]), zero)[0] == pytest.approx(
        sharp.gravity(q)[0] + 2 / math.sqrt(2)
    )


def test_parameters_and_payload_in_any_order():
    arm = brazo.load("scara2")
    q = arm.random_q(seed=5)
    one = arm.with_parameters(L1=0.3).with_payload(1.0).with_parameters(L2=0.22)
    other = arm.with_payload(1.0).with_parameters(L1=0.3, L2=0.22)
    assert one.parameters["L1"] == 0.3 and one.parameters["L2"] == 0.22
    assert (one.mass_matrix(q) == other.mass_matrix(q)).all()


def test_tool_mass_is_given_in_the_tool_frame():
    from brazo.formats.robot_yaml.robot_file import RobotFile

    text = """\
name: arm
joints: [{mass: 1, inertia: [1, 1, 1]}]
tool: {xyz: [0.5, 0, 0], rpy: [90deg, 0, 0], mass: 2, com: [0, 0, 0.1], inertia: [0, 0, 0]}
"""
    inertia = RobotFile.parse(text).build().bodies[1].inertia
    assert inertia.com == pytest.approx([1 / 3, -0.2 / 3, 0.0])


def test_a_wrench_needs_a_tip_that_moves(tmp_path):
    arm = brazo.load("scara1")
    from brazo.formats.urdf.writer import export_urdf

    export_urdf(arm.model, tmp_path / "arm.urdf")
    fixed = brazo.load(tmp_path / "arm.urdf", tip="base")
    q, zero = np.full(5, 0.1), np.zeros(5)
    pushed = fixed.inverse_dynamics(q, zero, zero, wrench=np.ones(6))
    assert close(pushed, fixed.inverse_dynamics(q, zero, zero))
