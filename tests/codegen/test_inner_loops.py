"""Functions with loops and branches inside kernels: refinement, sets side by side, guards, the
minimum on a circle."""

from __future__ import annotations

import math

import numpy as np
import pytest

from brazo.codegen import (
    Graph,
    GraphFunction,
    Guarded,
    Refinement,
    Vectorized,
    atan2,
    compile_kernel,
    sincos,
)
from brazo.codegen.circle import CircleMinimum
from brazo.codegen.ring import absolute, sqrt


def _cube_root() -> Refinement:
    """x with x³ = p by Newton steps, from a start within 1."""
    graph = Graph()
    (x,), (p,) = graph.inputs("x", 1), graph.inputs("p", 1)
    miss = absolute(x * x * x - p)
    check = GraphFunction("residue", graph, {"miss": [miss], "more": [2.0 * x]})
    graph = Graph()
    (x,), (p,), (caution,) = graph.inputs("x", 1), graph.inputs("p", 1), graph.inputs("caution", 1)
    trial = x - (x * x * x - p) / (3.0 * x * x * caution)
    step = GraphFunction("towards", graph, {"trial": [trial]})
    return Refinement("cube_root", check, step, 1e-12, 1e3, steps=20)


def _kernel(function: Refinement):
    graph = Graph()
    start, p = graph.inputs("start", 1), graph.inputs("p", 1)
    x, miss, more = graph.call(function, start, p)
    return compile_kernel("roots", graph, {"r": [*x, *miss, *more]})


def test_refinement_converges_in_every_lane() -> None:
    function = _cube_root()
    kernel = _kernel(function)
    p = np.random.default_rng(0).uniform(0.5, 60.0, (37, 1))
    start = p ** (1 / 3) + np.random.default_rng(1).uniform(-0.3, 0.5, p.shape)
    found = kernel(start, p)
    np.testing.assert_allclose(found[:, 0], np.cbrt(p[:, 0]), rtol=1e-13)
    np.testing.assert_allclose(found[:, 2], 2 * np.cbrt(p[:, 0]), rtol=1e-13)
    # The bits of a row do not depend on its neighbours, whose lanes may take more steps.
    alone = np.array([kernel(a, b) for a, b in zip(start, p, strict=True)])
    assert np.array_equal(found, alone)
    plain = np.stack(function.evaluate([start[:, 0], p[:, 0]]), axis=1)
    np.testing.assert_allclose(plain, found, rtol=1e-12, atol=1e-12)


def test_solved_and_hopeless_lanes_are_unchanged() -> None:
    kernel = _kernel(_cube_root())
    rows = kernel(np.array([[2.0], [30.0], [2.5]]), np.array([[8.0], [8.0], [8.0]]))
    assert rows[0].tolist() == [2.0, 0.0, 4.0] and rows[1, 0] == 30.0
    assert rows[2, 0] == pytest.approx(2.0, abs=1e-12)


@pytest.mark.parametrize("count", [1, 2, 3, 6, 8, 16])
def test_parallel_and_sequential_sets_agree(count: int) -> None:
    graph = Graph()
    a, (b,) = graph.inputs("a", 2), graph.inputs("b", 1)
    s, _ = sincos(a[0])
    function = GraphFunction("one", graph, {"x": [s * b + a[1], atan2(a[1], b)], "y": [sqrt(b)]})
    across = Vectorized("all", function, count)
    graph = Graph()
    a, b = graph.inputs("a", 2 * count), graph.inputs("b", count)
    x, y = graph.call(across, a, b)
    kernel = compile_kernel("sets", graph, {"r": [*x, *y]})
    rng = np.random.default_rng(count)
    A, B = rng.uniform(-3, 3, (19, 2 * count)), rng.uniform(0.1, 3, (19, count))
    first, second = A[:, :count], A[:, count:]
    expected = np.hstack([np.sin(first) * B + second, np.arctan2(second, B), np.sqrt(B)])
    many = kernel(A, B)
    np.testing.assert_allclose(many, expected, rtol=1e-14, atol=1e-15)
    assert np.array_equal(many, [kernel(u, v) for u, v in zip(A, B, strict=True)])
    plain = across.evaluate([*A.T, *B.T])
    np.testing.assert_allclose(np.stack(plain, axis=1), expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("count", [1, 5, 8, 11])
def test_inputs_that_sets_share_are_given_once(count: int) -> None:
    graph = Graph()
    (a,), b = graph.inputs("a", 1), graph.inputs("b", 2)
    function = GraphFunction("one", graph, {"x": [a * b[0] + b[1]]})
    across = Vectorized("all", function, count, shared=("b",))
    graph = Graph()
    a, b = graph.inputs("a", count), graph.inputs("b", 2)
    (x,) = graph.call(across, a, b)
    kernel = compile_kernel("sets", graph, {"r": x})
    rng = np.random.default_rng(count)
    A, B = rng.uniform(-3, 3, (19, count)), rng.uniform(-3, 3, (19, 2))
    expected = A * B[:, :1] + B[:, 1:]
    assert np.array_equal(kernel(A, B), expected)
    assert np.array_equal([kernel(u, v) for u, v in zip(A, B, strict=True)], expected)
    assert np.array_equal(np.stack(across.evaluate([*A.T, *B.T]), axis=1), expected)


def test_guard_replaces_only_sets_that_need_it() -> None:
    """Two sets of two values; those of a set with need ≥ 0 become roots times p."""
    graph = Graph()
    x, (p,) = graph.inputs("x", 2), graph.inputs("p", 1)
    better = GraphFunction("better", graph, {"x": [sqrt(x[0]) * p, sqrt(x[1]) * p]})
    guarded = Guarded("some", Vectorized("each", better, 2, shared=("p",)), 2)
    graph = Graph()
    x, p, need = graph.inputs("x", 4), graph.inputs("p", 1), graph.inputs("need", 2)
    kernel = compile_kernel("guarded", graph, {"x": graph.call(guarded, x, p, need)[0]})
    rng = np.random.default_rng(0)
    X, P, N = rng.uniform(1, 4, (41, 4)), rng.uniform(1, 2, (41, 1)), rng.uniform(-3, 1, (41, 2))
    N[:16] = -1.0  # whole vectors that need nothing
    N[16, 0] = 0.0
    expected = np.where(np.tile(N >= 0, 2), np.sqrt(X) * P, X)
    assert np.array_equal(kernel(X, P, N), expected)
    assert np.array_equal([kernel(*row) for row in zip(X, P, N, strict=True)], expected)
    assert np.array_equal(np.stack(guarded.evaluate([*X.T, *P.T, *N.T]), axis=1), expected)
    one = guarded.evaluate([*X[16], *P[16], *N[16]])
    assert np.array_equal(one, expected[16])
    untouched = guarded.evaluate([*X[0], *P[0], *N[0]])
    assert np.array_equal(untouched, X[0])


def test_the_minimum_on_the_circle_is_the_lowest_of_two() -> None:
    graph = Graph()
    (x,), p = graph.inputs("x", 1), graph.inputs("p", 2)
    _, once = sincos(x - p[0])
    _, twice = sincos(2.0 * (x - p[1]))
    function = GraphFunction("height", graph, {"f": [-once - 1.5 * twice]})
    search = CircleMinimum("lowest", function)
    graph = Graph()
    x, need, p = graph.inputs("x", 1), graph.inputs("need", 1), graph.inputs("p", 2)
    kernel = compile_kernel("minimum", graph, {"x": graph.call(search, x, need, p)[0]})
    rng = np.random.default_rng(2)
    shifts = rng.uniform(-3, 3, (21, 2))
    start = np.zeros((21, 1))
    need = np.where(np.arange(21)[:, None] % 3 == 0, -1.0, 1.0)
    found = kernel(start, need, shifts)
    assert (found[::3] == 0.0).all()
    fine = np.linspace(-math.pi, math.pi, 200_001)
    for row in range(21):
        if row % 3:
            f = -np.cos(fine - shifts[row, 0]) - 1.5 * np.cos(2 * (fine - shifts[row, 1]))
            gap = found[row, 0] - fine[np.argmin(f)]
            assert abs(gap - 2 * math.pi * round(gap / (2 * math.pi))) < 1e-4
    assert np.array_equal(found, [kernel(*v) for v in zip(start, need, shifts, strict=True)])
    plain = search.evaluate([start[:, 0], need[:, 0], *shifts.T])[0]
    np.testing.assert_allclose(plain, found[:, 0], atol=1e-7)
