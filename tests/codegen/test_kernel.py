"""Kernels as Python sees them: shapes, broadcasting, errors, threads, and the builtin entry."""

import gc
import sys
import threading
import types

import numpy as np
import pytest

from brazo.codegen import FixedEntry, Graph, compile_kernel, sincos, threads
from brazo.codegen.call_route import ROUTES, route
from brazo.errors import BrazoError
from brazo.internals import cpython


@pytest.fixture(autouse=True, params=ROUTES)
def on_every_route(request, monkeypatch):
    """Each test runs on the builtin, through ctypes and interpreted."""
    monkeypatch.setenv("BRAZO_ROUTE", request.param)
    route.cache_clear()
    yield request.param
    route.cache_clear()


def _polar():
    """(angle, radius) and an offset to a point; and a second, two-dimensional output."""
    g = Graph()
    q, p = g.inputs("q", 2), g.inputs("p", 2)
    s, c = sincos(q[0])
    point = [c * q[1] + p[0], s * q[1] + p[1]]
    return compile_kernel("polar", g, {"point": point, "R": [c, -s, s, c]}, shapes={"R": (2, 2)})


def _sum():
    g = Graph()
    a, b = g.inputs("a", 3), g.inputs("b", 3)
    return compile_kernel("total", g, {"y": [x + y for x, y in zip(a, b, strict=True)]})


def test_one_output_is_an_array_and_several_are_a_tuple():
    assert np.array_equal(_sum()([1, 2, 3], [10, 20, 30]), [11.0, 22.0, 33.0])
    point, R = _polar()([np.pi / 2, 2.0], [1.0, 0.0])
    assert np.allclose(point, [1, 2]) and np.allclose(R, [[0, -1], [1, 0]])


def test_leading_dimensions_broadcast():
    f = _sum()
    rng = np.random.default_rng(0)
    shapes = [
        ((5, 3), (3,)),
        ((4, 1, 3), (7, 3)),
        ((2, 3, 3), (2, 3, 3)),
        ((1, 3), (6, 3)),
        ((0, 3), (3,)),
    ]
    for left, right in shapes:
        a, b = rng.normal(size=left), rng.normal(size=right)
        assert np.array_equal(f(a, b), a + b)
    point, R = _polar()(np.zeros((4, 5, 2)), np.zeros(2))
    assert point.shape == (4, 5, 2) and R.shape == (4, 5, 2, 2)


def test_any_layout_and_type_of_array_is_read():
    f = _sum()
    a = np.arange(24.0).reshape(8, 3)
    expected = f(a, a)
    for other in (np.asfortranarray(a), np.arange(24.0)[::-1][::-1].reshape(8, 3), a.astype(int)):
        assert np.array_equal(f(other, a), expected)
    assert np.array_equal(f(a[::2], a[::2]), expected[::2])
    assert np.array_equal(f(a[0].astype(">f8"), a[0].astype(np.float32)), expected[0])
    assert np.array_equal(f(a.T[:, 0], a[0]), a.T[:, 0] + a[0])


def test_out_is_written_and_returned():
    f = _sum()
    a = np.arange(30.0).reshape(10, 3)
    for x in (a, a[0].copy()):
        out = np.empty_like(x)
        assert f(x, x, out=out) is out and np.array_equal(out, 2 * x)
    pair = np.empty(2), np.empty((2, 2))
    assert _polar()([0.0, 1.0], [0.0, 0.0], out=pair) is pair
    assert np.array_equal(pair[0], [1.0, 0.0]) and np.array_equal(pair[1], np.eye(2))


def test_out_may_be_an_input_or_overlap_one():
    f = _sum()
    a, b = np.arange(3.0), np.ones(3)
    f(a, b, out=a)
    assert np.array_equal(a, [1, 2, 3])
    buffer = np.arange(33.0)
    x, shifted = buffer[:30].reshape(10, 3), buffer[3:].reshape(10, 3)
    expected = x + 1
    f(x, np.ones(3), out=shifted)
    assert np.array_equal(shifted, expected)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((np.zeros(4), np.zeros(3)), r"total: a has shape \(4,\); expected \(\.\.\., 3\)"),
        ((np.zeros(3), np.zeros((2, 5))), r"total: b has shape \(2, 5\); expected \(\.\.\., 3\)"),
        ((1.0, np.zeros(3)), r"a has shape \(\)"),
        ((np.zeros(3),), r"1 arguments given; expected a \(\.\.\., 3\), b \(\.\.\., 3\)"),
        ((np.zeros((2, 3)), np.zeros((4, 3))), r"do not broadcast: a \(2, 3\), b \(4, 3\)"),
        ((["x", "y", "z"], np.zeros(3)), "a: not an array of numbers"),
        ((np.zeros(3), np.array([0, np.nan, 0])), r"b\[1\] is nan; every value must be finite"),
        ((np.zeros((9, 3)), np.full((9, 3), np.inf)), r"b\[0, 0\] is inf"),
    ],
)
def test_bad_arguments_are_named(arguments, words):
    with pytest.raises(BrazoError, match=words):
        _sum()(*arguments)


@pytest.mark.parametrize(
    "out",
    [np.zeros(4), np.zeros(3, dtype=np.float32), np.zeros(6)[::2], [0.0, 0.0, 0.0]],
    ids=["shape", "type", "layout", "list"],
)
def test_an_unfit_out_is_refused(out):
    with pytest.raises(BrazoError, match="out"):
        _sum()(np.zeros(3), np.zeros(3), out=out)


def test_a_read_only_out_is_refused():
    out = np.zeros(3)
    out.flags.writeable = False
    with pytest.raises(BrazoError, match="writeable"):
        _sum()(np.zeros(3), np.zeros(3), out=out)
    assert (out == 0).all()


def test_a_nan_anywhere_in_a_batch_is_found():
    f = _sum()
    for row in range(21):
        a = np.zeros((21, 3))
        a[row, 2] = np.nan
        with pytest.raises(BrazoError, match=rf"a\[{row}, 2\] is nan"):
            f(a, np.zeros(3))


def test_without_the_finite_rule_nan_passes_through():
    g = Graph()
    x = g.inputs("x", 2)
    f = compile_kernel("loose", g, {"y": [x[0] + 1, x[1] + 1]}, finite=False)
    assert np.isnan(f([np.nan, 1.0])[0]) and f([np.inf, 1.0])[1] == 2.0
    assert np.isnan(f(np.array([np.nan, 1.0]))[0])


@pytest.mark.parametrize(
    ("outputs", "options", "words"),
    [
        ({}, {}, "at least one expression"),
        ({"y": []}, {}, "at least one expression"),
        ({"y": ["x"]}, {}, "expected an expression or a number, not str"),
        ({"y": [1.0, 2.0]}, {"shapes": {"y": (3,)}}, "do not fill the shape"),
    ],
)
def test_invalid_kernel_is_rejected(outputs, options, words):
    g = Graph()
    g.inputs("x", 1)
    with pytest.raises(BrazoError, match=words):
        compile_kernel("f", g, outputs, **options)


def test_reference_evaluates_the_graph_in_other_rings():
    f = _polar()
    point, R = f.reference([0.3, 2.0], [0.1, 0.2])
    compiled = f([0.3, 2.0], [0.1, 0.2])
    assert np.allclose(compiled[0], point, rtol=0, atol=4e-16) and R.shape == (2, 2)
    longer, _ = f.reference(np.array([0.3, 2.0], np.longdouble), np.zeros(2, np.longdouble))
    assert longer.dtype == np.longdouble


def test_nothing_is_compiled_before_the_first_call():
    f = _sum()
    assert f._code is None
    f(np.zeros(3), np.zeros(3))
    assert f._code is not None


def test_threads_do_not_change_the_result_of_a_large_batch():
    f = _polar()
    rng = np.random.default_rng(0)
    q, p = rng.normal(size=(130_001, 2)), rng.normal(size=(1, 2))
    point, R = f(q, p)
    for row in (0, 25_000, 65_537, 130_000):
        one = f(q[row], p[0])
        assert np.array_equal(point[row], one[0]) and np.array_equal(R[row], one[1])
    assert np.allclose(point[:, 0], np.cos(q[:, 0]) * q[:, 1] + p[0, 0], rtol=0, atol=1e-14)
    q[129_000, 1] = np.nan
    with pytest.raises(BrazoError, match=r"q\[129000, 1\] is nan"):
        f(q, p)


def test_threads_share_a_kernel():
    f = _polar()
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=(2000, 2)) for _ in range(4)]
    expected = [f(x, x)[0] for x in inputs]
    fresh = _polar()  # the first calls race to compile it
    wrong = []

    def work(x, y):
        for _ in range(20):
            if not np.array_equal(fresh(x, x)[0], y) or not np.array_equal(
                fresh(x[0], x[0])[0], y[0]
            ):
                wrong.append(1)

    threads = [
        threading.Thread(target=work, args=pair) for pair in zip(inputs, expected, strict=True)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_the_entry_is_a_builtin_where_it_can_be(on_every_route):
    assert cpython.unusable() is None
    builtin = isinstance(_sum().entry, types.BuiltinFunctionType)
    assert builtin == (on_every_route == "builtin")


def test_entry_has_the_results_and_errors_of_the_kernel():
    f = _sum().entry
    a, b, out = np.arange(3.0), np.ones(3), np.empty(3)
    assert np.array_equal(f(a, b), a + b) and f(a, b, out=out) is out
    assert np.array_equal(f(np.zeros((4, 3)), b), np.ones((4, 3)))
    assert np.array_equal(f([1, 2, 3], b), [2, 3, 4])
    with pytest.raises(BrazoError, match=r"b has shape \(2,\)"):
        f(a, np.zeros(2))
    with pytest.raises(BrazoError, match=r"a\[2\] is nan"):
        f(np.array([0, 0, np.nan]), b)
    with pytest.raises(BrazoError, match="out for y"):
        f(a, b, out=np.empty(4))
    with pytest.raises(TypeError):
        f(a, b, nonsense=out)
    with pytest.raises(BrazoError, match="0 arguments given"):
        f()


def test_entry_leaks_no_references():
    f, g = _sum().entry, _polar().entry
    a, b, out = np.arange(3.0), np.ones(3), np.empty(3)
    q = np.ones(2)
    bad = np.full(2, np.nan)
    before = [sys.getrefcount(x) for x in (a, b, out, q, bad)]
    for _ in range(100):
        f(a, b)
        f(a, b, out=out)
        g(q, q)
        with pytest.raises(BrazoError):
            g(q, bad)
    gc.collect()
    assert [sys.getrefcount(x) for x in (a, b, out, q, bad)] == before
    result = f(a, b)
    fresh = np.empty(3)
    assert sys.getrefcount(result) == sys.getrefcount(fresh) and result.flags.owndata


def test_entry_with_batches_leaks_no_references():
    f, g = _sum().entry, _polar().entry
    a, b, shared, out = np.ones((21, 3)), np.ones((21, 3)), np.arange(3.0), np.empty((21, 3))
    q, bad = np.ones((9, 2)), np.full((9, 2), np.nan)
    watched = (a, b, shared, out, q, bad)
    before = [sys.getrefcount(x) for x in watched]
    for _ in range(50):
        assert np.array_equal(f(a, b), a + b)
        assert np.array_equal(f(shared, b), shared + b)
        assert f(a, shared, out=out) is out and np.array_equal(out, a + shared)
        assert [r.shape for r in g(q, q)] == [(9, 2), (9, 2, 2)]
        with pytest.raises(BrazoError, match=r"p\[0, 0\] is nan"):
            g(q, bad)
    gc.collect()
    assert [sys.getrefcount(x) for x in watched] == before
    for left, right in (((2, 3), (4, 3)), ((2, 4), (2, 3)), ((2, 3), (2,))):
        with pytest.raises(BrazoError):
            f(np.zeros(left), np.zeros(right))
    assert f(np.zeros((0, 3)), shared).shape == (0, 3)
    assert f(np.zeros((1, 3)), np.zeros((5, 3))).shape == (5, 3)


def test_a_batch_may_be_written_over_its_input():
    f = _sum()
    rows = np.arange(99.0).reshape(33, 3)
    expected = rows + 1
    assert np.array_equal(f(rows, np.ones(3), out=rows), expected)
    shifted = np.arange(102.0)
    a, b = shifted[:99].reshape(33, 3), shifted[3:].reshape(33, 3)
    expected = a + 1
    f.entry(a, np.ones(3), out=b)
    assert np.array_equal(b, expected)


def test_the_number_of_threads_changes_no_bit():
    f = _polar()
    rng = np.random.default_rng(0)
    rows = 2 * f.rows_per_thread + 11
    q, p = rng.normal(size=(rows, 2)), rng.normal(size=(rows, 2))
    expected = f(q, p, threads=1)
    with threads(3):
        chosen = f(q, p)
    for point, R in (f(q, p), f(q, p, threads=2), f(q, p, threads=5), chosen):
        assert np.array_equal(point, expected[0]) and np.array_equal(R, expected[1])
    for bad in (0, -1, "many"):
        with pytest.raises(BrazoError, match="at least 1"):
            f(q, p, threads=bad)  # type: ignore[arg-type]


def test_the_entry_outlives_its_kernel():
    f = _sum().entry
    gc.collect()
    assert np.array_equal(f(np.ones(3), np.ones(3)), [2.0, 2.0, 2.0])
    with pytest.raises(BrazoError):
        f(np.ones(2), np.ones(3))


class Held:
    """A result with the three slots that machine code fills."""

    __slots__ = ("context", "matrix", "vector")
    context: object
    matrix: np.ndarray
    vector: np.ndarray


def test_an_entry_with_fixed_inputs_makes_its_result_object():
    g = Graph()
    x, a = g.inputs("x", 4), g.inputs("a", 2)
    outputs = {"y": [*(v * a[0] for v in x), a[1] - x[0]]}
    kernel = compile_kernel("held", g, outputs, finite=False, fixed=FixedEntry((2, 2), (1, 4)))
    a0, context, slow = np.array([3.0, 10.0]), object(), []
    entry = kernel.fixed_entry([a0], Held, ("vector", "matrix", "context"), context, slow.append)
    if route() != "builtin":
        assert entry == slow.append
        return
    a0[:] = 0.0  # the fixed inputs are copies
    X = np.array([[1.0, 2.0], [3.0, 4.0]])
    held = entry(X)
    assert type(held) is Held and held.context is context and not slow
    assert held.vector.tolist() == [3.0, 6.0, 9.0, 12.0, 9.0]
    assert held.matrix.tolist() == [[3.0, 6.0, 9.0, 12.0]] and held.matrix.base is held.vector
    held.matrix[0, 1] = 7.0
    assert held.vector[1] == 7.0
    others = [
        X + 20.0,
        np.full((2, 2), np.nan),
        X.ravel(),
        X.T,
        X.astype(np.float32),
        [[1.0]],
        None,
    ]
    for other in others:  # the last result is not positive, or the call is not plain
        assert entry(other) is None and slow.pop() is other
