"""Loops without Python: the same numbers as a Python loop, the same bits alone and in a batch."""

import numpy as np
import pytest

from brazo.codegen import Graph, GraphFunction, sincos
from brazo.codegen.call_route import ROUTES, route
from brazo.codegen.loop import compile_loop
from brazo.errors import BrazoError


@pytest.fixture(autouse=True, params=ROUTES)
def on_every_route(request, monkeypatch):
    monkeypatch.setenv("BRAZO_ROUTE", request.param)
    route.cache_clear()
    yield
    route.cache_clear()


def _pendulum():
    """State (angle, speed), stiffness p, force u; the force's effect comes from a called function
    and is recorded."""
    inner = Graph()
    a, k = inner.inputs("a", 1), inner.inputs("k", 1)
    pull = GraphFunction("pull", inner, {"f": [k[0] * sincos(a[0])[0]]})
    g = Graph()
    x, p, u = g.inputs("x", 2), g.inputs("p", 1), g.inputs("u", 1)
    gain = u[0] - g.call(pull, [x[0]], p)[0][0]
    speed = x[1] + 0.01 * gain
    return compile_loop("swing", g, {"x": [x[0] + 0.01 * speed, speed], "gain": [gain]}, ["u"])


def _by_hand(x, p, u, steps):
    rows = []
    for k in range(steps):
        gain = u[min(k, len(u) - 1), 0] - p[0] * np.sin(x[0])
        speed = x[1] + 0.01 * gain
        x = np.array([x[0] + 0.01 * speed, speed])
        rows.append([*x, gain])
    return x, np.array(rows)


def _inputs(count, steps):
    rng = np.random.default_rng(count)
    shape = (count,) if count else ()
    return (
        rng.normal(size=(*shape, 2)),
        rng.uniform(1, 2, (*shape, 1)),
        rng.normal(size=(*shape, steps, 1)),
    )


def test_loop_equals_a_python_loop():
    x, p, u = _inputs(0, 200)
    run = _pendulum()(200, x=x, p=p, u=u, every=1)
    end, rows = _by_hand(x, p, u, 200)
    assert np.abs(run.x - end).max() < 1e-13 and np.abs(run.record - rows).max() < 1e-13


@pytest.mark.parametrize("count", [1, 3, 8, 21])
def test_batch_is_bit_identical_to_single_runs(count):
    loop = _pendulum()
    x, p, u = _inputs(count, 50)
    many = loop(50, x=x, p=p, u=u, every=7, threads=2)
    assert many.record.shape == (count, 7, 3)
    for i in range(count):
        one = loop(50, x=x[i], p=p[i], u=u[i], every=7)
        assert np.array_equal(one.x, many.x[i]) and np.array_equal(one.record, many.record[i])


def test_shared_inputs_are_read_by_every_run():
    loop = _pendulum()
    x, p, u = _inputs(11, 30)
    shared = loop(30, x=x, p=p[0], u=u[0])
    assert shared.record is None
    full = loop(30, x=x, p=np.tile(p[0], (11, 1)), u=np.tile(u[0], (11, 1, 1)))
    assert np.array_equal(shared.x, full.x)
    still = loop(30, x=x, p=p[0], u=u[:, :1])
    assert np.array_equal(still.x, loop(30, x=x, p=p[0], u=np.repeat(u[:, :1], 30, axis=1)).x)
    grid = loop(30, x=x, p=np.array([[[1.0]], [[2.0]]]), u=u[0])
    assert grid.x.shape == (2, 11, 2)
    assert np.array_equal(grid.x[1], loop(30, x=x, p=[2.0], u=u[0]).x)


def test_no_steps_and_no_runs_are_fine():
    loop = _pendulum()
    x, p, u = _inputs(5, 1)
    assert np.array_equal(loop(0, x=x, p=p, u=u).x, x)
    assert loop(3, x=np.empty((0, 2)), p=[1.0], u=[[0.0]], every=1).record.shape == (0, 3, 3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"x": np.zeros(3)}, r"x has shape \(3,\); expected \(\.\.\., 2\)"),
        ({"u": np.zeros((4, 1))}, r"u has shape \(4, 1\); expected \(\.\.\., 9, 1\), or"),
        ({"u": np.full((9, 1), np.nan)}, "u has values that are not numbers"),
        ({"p": ["a"]}, "p: not an array of numbers"),
        ({"x": np.zeros((2, 2)), "p": np.zeros((3, 1))}, "do not broadcast"),
        ({"every": -1}, "both must be at least 0"),
        ({"more": 1}, "pass exactly these inputs as keywords: x, p, u"),
    ],
)
def test_bad_inputs_are_named(change, words):
    good = {"x": np.zeros(2), "p": np.ones(1), "u": np.zeros((9, 1))}
    with pytest.raises(BrazoError, match=words):
        _pendulum()(9, **(good | change))


def test_step_without_next_state_is_rejected():
    g = Graph()
    x = g.inputs("x", 2)
    with pytest.raises(BrazoError, match="must have the size of the state x"):
        compile_loop("f", g, {"y": [x[0]]})
    with pytest.raises(BrazoError, match="must be inputs other than the first"):
        compile_loop("f", g, {"y": x}, streams=["x"])
