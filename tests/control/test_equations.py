"""The equations over any scalar against the compiled dynamics, and what passivity rests on."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.control.equations import TreeEquations, equations_of
from brazo.control.regressor import TreeRegressor
from brazo.dynamics.links import LinkInertia
from tests.dynamics.lagrange import Lagrange
from tests.dynamics.random_robots import random_robot


def states(n: int, count: int, seed: int):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield [rng.uniform(-1.0, 1.0, n) for _ in range(4)]


def close(a, b, tolerance=1e-11) -> bool:
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    return bool(np.abs(a - b).max() <= tolerance * max(np.abs(b).max(), 1.0))


def test_equations_equal_the_dynamics(any_robot):
    arm, eq = any_robot, equations_of(any_robot.model)
    for q, qd, v, w in states(arm.n, 4, 1):
        a, b, c, d = q.tolist(), qd.tolist(), v.tolist(), w.tolist()
        M, C, G = arm.mass_matrix(q), arm.coriolis(q, qd), arm.gravity(q)
        assert close(eq.mass_matrix(a), M)
        assert close(eq.gravity(a), G)
        assert close(eq.inverse_dynamics(a, b, d), arm.inverse_dynamics(q, qd, w))
        assert close(eq.passive(a, b, c, d), M @ w + C @ v + G)
        (R, p), J = eq.tool(a)
        T = arm.fk(q)
        assert close(np.reshape(R, (3, 3)), T[:3, :3]) and close(p, T[:3, 3])
        assert close(J, arm.jacobian(q))


def test_the_two_speed_form_is_passive(any_robot):
    """xᵀ(Ṁ − 2C)x = 0 with C extracted from the form used by the controllers, for any x, not only x
    = q̇."""
    arm, eq = any_robot, equations_of(any_robot.model)
    h = 1e-5
    for q, qd, x, _ in states(arm.n, 4, 2):
        zero = [0.0] * arm.n
        M_rate = (arm.mass_matrix(q + h * qd) - arm.mass_matrix(q - h * qd)) / (2 * h)
        G = np.array(eq.passive(q.tolist(), qd.tolist(), zero, zero))
        Cx = np.array(eq.passive(q.tolist(), qd.tolist(), x.tolist(), zero)) - G
        assert abs(x @ M_rate @ x - 2 * x @ Cx) < 1e-8 * max(1.0, np.abs(M_rate).max())


@pytest.mark.parametrize("name", ["puma560", "scara2", "panda", "delta"])
def test_a_load_is_that_of_the_robot_holding_it(name):
    arm = brazo.load(name)
    load = (2.0, (0.02, -0.01, 0.1), (0.01, 0.02, 0.015))
    held, eq = arm.with_payload(*load), equations_of(arm.model)
    vector = eq.load_vector(*load).tolist()
    for q, qd, _, w in states(arm.n, 3, 3):
        tau = eq.inverse_dynamics(q.tolist(), qd.tolist(), w.tolist(), vector)
        assert close(tau, held.inverse_dynamics(q, qd, w))
        assert close(eq.mass_matrix(q.tolist(), vector), held.mass_matrix(q))
        assert close(eq.gravity(q.tolist(), vector), held.gravity(q))


@pytest.mark.parametrize("seed", range(0, 30, 2))
def test_regressor_of_random_robots(seed):
    """Y π against Lagrange, and Yᵀ s against Y made of columns."""
    model = random_robot(seed)
    equations = TreeEquations(model)
    regressor, n = TreeRegressor(equations), model.n
    zero = [0.0] * len(regressor.values)
    for q, qd, v, w in states(n, 2, seed):
        form = regressor.form(q.tolist(), qd.tolist(), qd.tolist(), w.tolist())
        M, C, G = Lagrange(model)(q, qd)
        assert close(form.torque(regressor.values.tolist()), M @ w + C + G, 1e-9)
        form = regressor.form(q.tolist(), qd.tolist(), v.tolist(), w.tolist())
        known = np.array(form.torque(zero))
        units = np.eye(len(zero)).tolist()
        Y = np.array([np.array(form.torque(unit)) - known for unit in units]).T
        passive = equations.passive(q.tolist(), qd.tolist(), v.tolist(), w.tolist())
        assert close(Y @ regressor.values + known, passive)
        assert close(form.gradient(v.tolist()), Y.T @ v)


def test_regressor_of_shipped_robots(any_robot):
    eq = equations_of(any_robot.model)
    regressor = eq.regressor()
    for q, qd, v, w in states(any_robot.n, 3, 8):
        form = regressor.form(q.tolist(), qd.tolist(), v.tolist(), w.tolist())
        passive = eq.passive(q.tolist(), qd.tolist(), v.tolist(), w.tolist())
        assert close(form.torque(regressor.values.tolist()), passive)
        s = w.tolist()
        other = (2.0 * regressor.values + 0.1).tolist()
        change = np.array(form.torque(other)) - np.array(form.torque(regressor.values.tolist()))
        assert change @ w == pytest.approx(
            np.array(form.gradient(s)) @ (regressor.values + 0.1), rel=1e-10, abs=1e-10
        )
    assert len(regressor.names) == len(regressor.values) == len(regressor.size)
    assert (regressor.size > 0).all() and (regressor.weight > 0).all()


def test_regressor_leaves_out_what_regrouping_emptied(puma):
    regressor = equations_of(puma.model).regressor()
    assert isinstance(regressor, TreeRegressor)
    assert len(regressor.values) == 42
    for link in regressor.equations.links.links:
        moments: LinkInertia = link.inertia
        assert moments.mass == moments.first[2] == moments.second[5] == 0.0
