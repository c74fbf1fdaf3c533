"""Kernels with fused multiply-adds, without lanes, and the extrema of values that are not plain."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from brazo.codegen import Graph, compile_kernel, sincos
from brazo.codegen.ring import absolute, maximum, minimum


def _outputs(graph: Graph) -> list:
    a, b, c = graph.inputs("x", 3)
    s, _ = sincos(a * b + c)
    return [a * b + c, c - a * b, a * b - c, (a * b) * c + a * b, s]


def test_products_used_once_are_not_rounded() -> None:
    graph = Graph()
    kernel = compile_kernel("fused", graph, {"r": _outputs(graph)}, fused=True)
    plain_graph = Graph()
    plain = compile_kernel("plain", plain_graph, {"r": _outputs(plain_graph)})
    graph = Graph()
    a, b, c = graph.inputs("x", 3)
    single = compile_kernel("single", graph, {"r": [a * b + c]}, fused=True)
    x = np.random.default_rng(0).uniform(-2, 2, (43, 3))
    found = kernel(x)
    assert np.array_equal(found, [kernel(row) for row in x])
    # a·b is used by several sums, so only (a·b)·c is fused.
    assert np.array_equal(found[:, :3], plain(x)[:, :3])
    exact = [float(Fraction(a) * Fraction(b) + Fraction(c)) for a, b, c in x.tolist()]
    assert np.array_equal(single(x)[:, 0], exact)
    assert (exact != found[:, 0]).any()


def test_rows_of_a_kernel_without_lanes_run_one_after_another() -> None:
    graph = Graph()
    kernel = compile_kernel("narrow", graph, {"r": _outputs(graph)}, lanes=False)
    graph = Graph()
    wide = compile_kernel("narrow", graph, {"r": _outputs(graph)})
    x = np.random.default_rng(1).uniform(-2, 2, (21, 3))
    assert np.array_equal(kernel(x), wide(x)) and np.array_equal(kernel(x[0]), wide(x)[0])
    assert "<8 x double> @llvm" not in kernel.llvm_ir() and len(kernel.llvm_ir()) < len(
        wide.llvm_ir()
    )


def test_extrema_of_nan_are_nan() -> None:
    graph = Graph()
    a, b = graph.inputs("x", 2)
    outputs = [minimum(a, b), maximum(a, b), absolute(a), maximum(-b, b)]
    kernel = compile_kernel("extrema", graph, {"r": outputs}, finite=False)
    nan = np.nan
    x = np.array([[1, 2], [2, 1], [nan, 1], [1, nan], [-3, 0], [0, -3], [-np.inf, np.inf]] * 3)
    expected = [
        np.minimum(x[:, 0], x[:, 1]),
        np.maximum(x[:, 0], x[:, 1]),
        np.abs(x[:, 0]),
        np.abs(x[:, 1]),
    ]
    np.testing.assert_array_equal(kernel(x), np.stack(expected, axis=1))
    np.testing.assert_array_equal([kernel(row) for row in x], kernel(x))
