"""Robots with many joints: recursions as compiled loops, against Pinocchio and straight code."""

from dataclasses import replace

import numpy as np
import pytest

import brazo
from brazo.codegen import Graph
from brazo.codegen.call_route import ROUTES, route
from brazo.codegen.loop import compile_loop
from brazo.dynamics import kernels as kernels_module
from brazo.dynamics.integrators import held_torque_step
from brazo.dynamics.kernels import TreeDynamicsKernels
from brazo.dynamics.looped import LoopedDynamics
from brazo.formats.load import Source
from brazo.model.description import TreeModel
from tests import oracles
from tests.dynamics.random_robots import random_inertia, random_robot
from tests.formats.foreign import foreign


def random_tree(seed: int, joints: int) -> TreeModel:
    """A chain whose bodies branch off at random, depth first as required by Pinocchio."""
    rng = np.random.default_rng(seed)
    chain = random_robot(seed, joints)
    bodies = list(chain.bodies)
    path = [0]
    for i in range(1, joints + 1):
        path = path[: int(rng.integers(max(1, len(path) - 3), len(path) + 1))]
        bodies[i] = replace(bodies[i], parent=path[-1])
        path.append(i)
    return replace(chain, bodies=tuple(bodies), tip=joints - 3)


def dual_panda(mimics: bool) -> TreeModel:
    """Two arms with hands whose fingers mimic each other; the file has no inertia, so give some."""
    rng = np.random.default_rng(3)
    model = foreign("dual_panda_example.urdf.xacro")
    bodies = [replace(b, inertia=random_inertia(rng) if b.joint else None) for b in model.bodies]
    if not mimics:
        for i, body in enumerate(bodies[1:]):
            joint = replace(body.joint, coordinate=i, multiplier=1.0, offset=0.0)
            bodies[i + 1] = replace(body, joint=joint)
    return replace(model, bodies=tuple(bodies), poses={})


MODELS = {
    "chain of 20": random_robot(20, 20),
    "chain of 30": random_robot(30, 30),
    "tree of 24": random_tree(24, 24),
    "two arms": dual_panda(mimics=False),
    "two arms, coupled fingers": dual_panda(mimics=True),
}


def close(a, b, tolerance=1e-12) -> bool:
    return bool(np.abs(a - b).max() <= tolerance * max(np.abs(b).max(), 1e-3))


def states(n, count, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield rng.uniform(-2, 2, n), rng.uniform(-2, 2, n), rng.uniform(-5, 5, n)


@pytest.fixture(scope="module", params=MODELS)
def case(request):
    model = MODELS[request.param]
    kernels = TreeDynamicsKernels(model)
    assert isinstance(kernels.rigid, LoopedDynamics)
    return model, kernels, oracles.Pinocchio(model)


def armature(model) -> np.ndarray:
    total = np.zeros(model.n)
    for joint in model.joints:
        total[joint.coordinate] += joint.multiplier**2 * joint.drive.armature
    return total


def test_it_agrees_with_pinocchio(case):
    model, kernels, engine = case
    for q, qd, qdd in states(model.n, 5):
        tau = kernels.inverse_dynamics(q, qd, qdd)
        assert close(tau, engine.inverse_dynamics(q, qd, qdd))
        M = kernels.mass_matrix(q)
        assert close(M, engine.mass_matrix(q))
        found = kernels.forward_dynamics(q, qd, tau)
        assert close(found, qdd, 1e-13 * np.linalg.cond(M))
        assert close(M @ found, M @ qdd)


def test_coriolis_and_gravity_are_parts_of_the_whole(case):
    model, kernels, _ = case
    h = 1e-6
    for q, qd, _ in states(model.n, 2):
        C, G = kernels.coriolis(q, qd), kernels.gravity(q)
        assert close(C @ qd + G, kernels.inverse_dynamics(q, qd, np.zeros(model.n)), 1e-11)
        M_rate = (kernels.mass_matrix(q + h * qd) - kernels.mass_matrix(q - h * qd)) / (2 * h)
        skew = M_rate - 2.0 * C
        assert np.abs(skew + skew.T).max() < 2e-8 * max(1.0, np.abs(C).max())


def test_wrench_and_gravity_of_any_direction(case):
    model, kernels, engine = case
    base = np.zeros(9)
    for q, qd, qdd in states(model.n, 2):
        wrench, field = np.array([3.0, -2, 5, 0.4, 0.1, -0.3]), np.array([1.0, 2, -3])
        with_it = kernels.inverse_dynamics_full(q, qd, qdd, wrench, model.gravity, base)
        free = kernels.inverse_dynamics(q, qd, qdd)
        assert close(free - with_it, engine.jacobian(q).T @ wrench, 1e-10)
        tau = kernels.inverse_dynamics_full(q, qd, qdd, wrench, field, base)
        M = kernels.mass_matrix(q)
        found = kernels.forward_dynamics_full(q, qd, tau, wrench, field)
        assert close(M @ found, M @ qdd, 1e-11)


def test_a_wrench_on_a_tool_of_the_base_loads_no_joint():
    kernels = TreeDynamicsKernels(replace(random_robot(13, 13), tip=0))
    assert isinstance(kernels.rigid, LoopedDynamics)
    wrench, base = np.array([3.0, -2, 5, 0.4, 0.1, -0.3]), np.zeros(9)
    for q, qd, qdd in states(13, 2):
        field = kernels.model.gravity
        found = kernels.inverse_dynamics_full(q, qd, qdd, wrench, field, base)
        assert close(found, kernels.inverse_dynamics(q, qd, qdd))
        found = kernels.forward_dynamics_full(q, qd, qdd, wrench, field)
        assert close(found, kernels.forward_dynamics(q, qd, qdd))


def test_a_batch_has_the_bits_of_each_row(case):
    model, kernels, _ = case
    q, qd, x = (np.array(v) for v in zip(*states(model.n, 13), strict=True))
    for kernel in (kernels.inverse_dynamics, kernels.forward_dynamics):
        rows = kernel(q, qd, x)
        assert all(np.array_equal(rows[i], kernel(q[i], qd[i], x[i])) for i in range(13))
    M = kernels.mass_matrix(q)
    assert all(np.array_equal(M[i], kernels.mass_matrix(q[i])) for i in range(13))


@pytest.mark.parametrize("way", ROUTES)
def test_looped_and_unrolled_code_agree(monkeypatch, way):
    monkeypatch.setenv("BRAZO_ROUTE", way)
    route.cache_clear()
    model = random_robot(4, 6)
    straight = TreeDynamicsKernels(model)
    monkeypatch.setattr(kernels_module, "MOST_STRAIGHT", 0)
    monkeypatch.setattr(kernels_module, "MOST_CHRISTOFFEL", 0)
    looped = TreeDynamicsKernels(model)
    for q, qd, x in states(6, 3):
        for name in ("inverse_dynamics", "forward_dynamics"):
            assert close(getattr(looped, name)(q, qd, x), getattr(straight, name)(q, qd, x))
        assert close(looped.mass_matrix(q), straight.mass_matrix(q))
        assert close(looped.coriolis(q, qd), straight.coriolis(q, qd), 1e-11)
        assert close(looped.gravity(q), straight.gravity(q))
    rows = np.array([q for q, _, _ in states(6, 9)])
    assert close(looped.mass_matrix(rows), straight.mass_matrix(rows))
    route.cache_clear()


def test_a_long_chain_moves_in_a_native_loop():
    """Forty joints: more state than the lanes' stack, a Runge-Kutta loop around a sweep."""
    model = random_robot(40, 40)
    arm = brazo.Robot(Source(model, lambda values: model))
    q0 = np.linspace(-1, 1, 40)
    g = Graph()
    x, tau, (dt,) = g.inputs("x", 80), g.inputs("tau", 40), g.inputs("dt", 1)
    moved = held_torque_step(g, arm.dynamics.motion, x[:40], x[40:], tau, dt)
    loop = compile_loop("free", g, {"x": [*moved[0], *moved[1]]})
    start = np.tile(np.concatenate([q0, np.zeros(40)]), (9, 1))
    end = loop(20, x=start, tau=np.zeros(40), dt=[1e-4]).x[:, :40]
    step, q, qd = arm.dynamics.rk4_step, q0, np.zeros(40)
    for _ in range(20):
        q, qd = step(q, qd, np.zeros(40), np.array([1e-4]))
    assert np.abs(end - q).max() < 1e-12 and np.ptp(end, axis=0).max() == 0.0
