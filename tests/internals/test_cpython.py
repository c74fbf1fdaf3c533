"""Layouts of CPython's and NumPy's objects: right here, noticed when wrong, done without."""

import numpy as np
import pytest

from brazo.codegen import Graph, compile_kernel, sincos
from brazo.codegen.call_route import route
from brazo.internals import cpython


@pytest.fixture(autouse=True)
def checked_again(monkeypatch):
    monkeypatch.delenv("BRAZO_ROUTE", raising=False)
    cached = (cpython.unusable, route)
    for function in cached:
        function.cache_clear()
    yield
    for function in cached:
        function.cache_clear()


def kernel():
    graph = Graph()
    q = graph.inputs("q", 2)
    s, c = sincos(q[0])
    return compile_kernel("polar", graph, {"p": [q[1] * c, q[1] * s]})


def test_layouts_are_valid_in_this_interpreter():
    assert cpython.unusable() is None


@pytest.mark.parametrize("field", ["TYPE", "DATA", "NDIM", "DIMS", "DESCR", "FLAGS", "SIZE"])
def test_shifted_field_is_detected(monkeypatch, field):
    monkeypatch.setattr(cpython, field, cpython.NDIM if field != "NDIM" else cpython.DATA)
    assert "an unexpected layout" in str(cpython.unusable())


def test_wrong_function_table_is_detected_before_a_call(monkeypatch):
    monkeypatch.setattr(cpython, "_NUMPY_ABI", 0x03000000)
    monkeypatch.setattr(cpython, "_PYARRAY_NEW", 10**9)  # would crash if it were called
    assert "table of C functions" in str(cpython.unusable())


def test_without_them_ctypes_gives_the_same_bits(monkeypatch):
    x = np.random.default_rng(0).normal(size=(50, 2))
    assert route() == "builtin"
    wanted = [kernel()(row) for row in x]
    monkeypatch.setattr(cpython, "unusable", lambda: "forced by the test")
    route.cache_clear()
    assert route() == "ctypes"
    assert all(np.array_equal(kernel()(row), w) for row, w in zip(x, wanted, strict=True))
