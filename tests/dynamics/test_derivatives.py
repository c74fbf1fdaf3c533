"""Derivatives of the dynamics against Pinocchio, complex steps and differences in long double."""

from __future__ import annotations

import pickle
import sys
import weakref

import numpy as np
import pytest

import brazo
from brazo.codegen.call_route import ROUTES, route
from brazo.dynamics import dynamics_of
from brazo.dynamics.delta import DeltaDynamics
from brazo.dynamics.kernels import TreeDynamicsKernels
from brazo.dynamics.tree import TreeDynamics
from tests import oracles
from tests.dynamics.random_robots import random_robot
from tests.dynamics.test_looped import random_tree


def relative(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-9))


def state(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.uniform(-2, 2, n), rng.uniform(-2, 2, n), rng.uniform(-5, 5, n)


def complex_steps(forces, at: tuple[np.ndarray, ...], which: int) -> np.ndarray:
    """The derivative by imaginary steps: no difference of close numbers, exact to rounding."""
    columns = []
    for step in 1e-30j * np.eye(len(at[which])):
        moved = [x + step if k == which else x for k, x in enumerate(at)]
        columns.append(np.imag(forces(*(list(x) for x in moved))) / 1e-30)
    return np.array(columns, dtype=float).T


def differences(function, at: tuple[np.ndarray, ...], which: int) -> np.ndarray:
    """Central differences of order six in long double."""
    h, columns = np.longdouble(1e-3), []
    for unit in np.eye(len(at[which]), dtype=np.longdouble):

        def slope(step, unit=unit):
            ends = []
            for sign in (1, -1):
                moved = [np.array(x, dtype=np.longdouble) for x in at]
                moved[which] = moved[which] + sign * step * unit
                ends.append(function(*moved))
            return (ends[0] - ends[1]) / (2 * step)

        columns.append((64 * slope(h / 4) - 20 * slope(h / 2) + slope(h)) / 45)
    return np.array(columns).T.astype(float)


CASES = {
    "puma560": lambda: brazo.load("puma560").model,
    "scara2": lambda: brazo.load("scara2").model,
    "random, 5 joints": lambda: random_robot(3, 5),
    "tree of 4": lambda: random_tree(7, 4),
    "chain of 16, looped": lambda: random_robot(16, 16),
}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    model = CASES[request.param]()
    return model, TreeDynamics(model)


def test_inverse_dynamics_as_pinocchio(case):
    model, dynamics = case
    engine = oracles.Pinocchio(model)
    q, qd, qdd = state(model.n)
    dq, dqd, M = (
        np.array(x)
        for x in engine.pin.computeRNEADerivatives(engine.robot, engine.data, q, qd, qdd)
    )
    ours = dynamics.inverse_dynamics_derivatives(q, qd, qdd)
    damping = np.diag([joint.friction.viscous for joint in model.joints])
    assert relative(ours.dq, dq) < 1e-12
    assert relative(ours.dqd, dqd + damping) < 1e-12
    assert relative(ours.dqdd, np.triu(M) + np.triu(M, 1).T) < 1e-12


def test_forward_dynamics_as_pinocchio(case):
    model, dynamics = case
    engine = oracles.Pinocchio(model)
    q, qd, tau = state(model.n, 1)
    friction = np.array([joint.friction.viscous for joint in model.joints])
    given = tau - friction * qd  # Pinocchio has no friction here
    dq, dqd, dtau = (
        np.array(x)
        for x in engine.pin.computeABADerivatives(engine.robot, engine.data, q, qd, given)
    )
    dtau = np.triu(dtau) + np.triu(dtau, 1).T
    ours = dynamics.forward_dynamics_derivatives(q, qd, tau)
    # M of the Puma has a condition number of 1e4; rounding is amplified by as much.
    assert relative(ours.dq, dq) < 1e-10
    assert relative(ours.dqd, dqd - dtau * friction) < 1e-10
    assert relative(ours.dtau, dtau) < 1e-10


@pytest.mark.parametrize(
    "model", [brazo.load("puma560").model, random_robot(3, 5)], ids=lambda model: model.name
)
def test_inverse_dynamics_as_complex_steps(model):
    kernels, at = TreeDynamicsKernels(model), state(model.n, 2)
    for slopes, which in zip(kernels.inverse_dynamics_derivatives(*at), range(3), strict=True):
        assert relative(slopes, complex_steps(kernels.forces, at, which)) < 1e-13


@pytest.mark.parametrize("name", ["puma560-drives", "delta"])
def test_as_differences_in_long_double(name):
    """With friction and motors, and the Delta's loops."""
    dynamics = dynamics_of(brazo.load(name).model)
    q, qd, qdd = (0.2 * x for x in state(dynamics.n, 3))
    tau = dynamics.inverse_dynamics(q, qd, qdd)
    if isinstance(dynamics, DeltaDynamics):
        inverse, forward = dynamics._inverse, dynamics._forward
    else:
        inverse, forward = dynamics.kernels.inverse_dynamics, dynamics.kernels.forward_dynamics
    for which, slopes in enumerate(dynamics.inverse_dynamics_derivatives(q, qd, qdd)):
        assert relative(slopes, differences(inverse.reference, (q, qd, qdd), which)) < 1e-10
    for which, slopes in enumerate(dynamics.forward_dynamics_derivatives(q, qd, tau)):
        assert relative(slopes, differences(forward.reference, (q, qd, tau), which)) < 1e-9


def test_the_slope_of_smooth_friction(tmp_path):
    file = tmp_path / "pendulum.yaml"
    file.write_text(
        "name: pendulum\n"
        "joints:\n"
        "  - {type: revolute, a: 0.5, mass: 1.0, com: [-0.25, 0, 0], inertia: [0.01, 0.02, 0.02],\n"
        "     friction: {viscous: 0.3, coulomb: [0.4, 0.2], smooth: 0.05}}\n",
        encoding="utf-8",
    )
    arm = brazo.load(file)
    for speed in (0.02, -0.07, 0.3):
        qd, h = np.array([speed]), 1e-5
        slope = arm.inverse_dynamics_derivatives([0.2], qd, [0.0]).dqd[0, 0]
        ends = [arm.inverse_dynamics([0.2], qd + s * h, [0.0])[0] for s in (1, -1)]
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-7)


def test_batches_broadcast_and_equal_single_calls():
    arm = brazo.load("puma560")
    q, qd, tau = (np.stack([x, 0.5 * x, -x]) for x in state(6))
    batch = arm.forward_dynamics_derivatives(q[:, None], qd, tau)
    assert len(batch) == 3 and [x.shape for x in batch] == [(3, 3, 6, 6)] * 3
    one = arm.forward_dynamics_derivatives(q[1], qd[2], tau[2])
    for whole, part in zip(batch, one, strict=True):
        assert np.array_equal(whole[1, 2], part)
    few = arm.forward_dynamics_derivatives(q, qd, tau)  # in machine code
    for whole, part in zip(few, arm.forward_dynamics_derivatives(q[2], qd[2], tau[2]), strict=True):
        assert whole.flags.c_contiguous and np.array_equal(whole[2], part)


@pytest.mark.parametrize("lead", [(), (3,), (3, 1)])
def test_results_into_a_given_array(lead):
    arm = brazo.load("puma560")
    q, qd, qdd = (np.broadcast_to(x, (*lead, 6)).copy() for x in state(6))
    expected = arm.inverse_dynamics_derivatives(q, qd, qdd)
    out = np.empty((3, *lead, 6, 6))
    again = arm.inverse_dynamics_derivatives(q, qd, qdd, out=out)
    assert again.array is out and np.array_equal(out, expected.array)
    assert np.array_equal(again.dqdd, expected.dqdd) and again.dq.base is out
    with pytest.raises(brazo.BrazoError, match="expected a writeable C-contiguous float64 array"):
        arm.inverse_dynamics_derivatives(q, qd, qdd, out=out[:2])


def test_results_are_freed():
    arm, at = brazo.load("puma560"), state(6)
    result = arm.inverse_dynamics_derivatives(*at)
    kind, alive, out = type(result), weakref.ref(result.array), np.empty((3, 6, 6))
    del result
    freed = alive() is None  # not in an assertion, which would keep a reference
    before = sys.getrefcount(kind), sys.getrefcount(out)
    for _ in range(100):
        arm.inverse_dynamics_derivatives(*at)
        arm.inverse_dynamics_derivatives(*at, out=out)
    after = sys.getrefcount(kind), sys.getrefcount(out)
    assert freed and after == before


def test_results_are_pickled():
    result = brazo.load("puma560").inverse_dynamics_derivatives(*state(6))
    copied = pickle.loads(pickle.dumps(result))
    assert type(copied) is type(result) and np.array_equal(copied.array, result.array)


@pytest.mark.parametrize("other", [name for name in ROUTES if name != "builtin"])
def test_other_routes_give_the_same(other, monkeypatch):
    at = state(6)
    expected = TreeDynamics(brazo.load("puma560").model).inverse_dynamics_derivatives(*at)
    monkeypatch.setenv("BRAZO_ROUTE", other)
    route.cache_clear()
    try:
        got = TreeDynamics(brazo.load("puma560").model).inverse_dynamics_derivatives(*at)
    finally:
        monkeypatch.undo()
        route.cache_clear()
    assert type(got) is type(expected)
    assert np.allclose(got.array, expected.array, rtol=0, atol=1e-13)


def test_bad_input_is_named():
    arm = brazo.load("puma560")
    with pytest.raises(brazo.BrazoError, match=r"qd has shape \(5,\)"):
        arm.inverse_dynamics_derivatives(np.zeros(6), np.zeros(5), np.zeros(6))
    with pytest.raises(brazo.BrazoError, match=r"q\[2\] is nan"):
        arm.forward_dynamics_derivatives([0, 0, np.nan, 0, 0, 0], np.zeros(6), np.zeros(6))
    with pytest.raises(brazo.BrazoError, match="kinematic only"):
        brazo.load("pegasus").inverse_dynamics_derivatives(*np.zeros((3, 5)))
