"""Bits do not depend on how many lanes run, on the batch, or on the CPU the code is made for."""

import ctypes
import dataclasses

import numpy as np
import pytest

from brazo.codegen import Graph, compile_kernel, maximum, minimum, sincos, sqrt, where
from brazo.codegen.jit import build, host

SIZES = (1, 2, 3, 5, 6, 7)


def _kernel(size: int):
    """Every operation there is, with rows of awkward lengths in and out."""
    g = Graph()
    x, y = g.inputs("x", size), g.inputs("y", 2)
    out = []
    for v in x:
        s, c = sincos(v)
        out += [s * y[0] - c / y[1], sqrt(v * v + 0.3) + minimum(s, c)]
        out.append(where(v - 0.5, maximum(s, y[0]), -c) * 0.1 + v)
    return compile_kernel(f"rows{size}", g, {"a": out, "b": [out[0] + out[1]]})


def _run(kernel, ir, target, X, Y):
    """The batch function of some IR, called without any Python of the kernel's own."""
    library = build(ir, target)
    pointer, integer = ctypes.c_void_p, ctypes.c_int64
    kind = ctypes.CFUNCTYPE(
        ctypes.c_double, integer, pointer, integer, pointer, integer, pointer, pointer
    )
    function = kind(library.address(f"{kernel.name}_many"))
    n_a = len(kernel.outputs["a"])
    a, b = np.full((len(X) + 1, n_a), 7.0), np.full((len(X) + 1, 1), 7.0)
    steps = X.shape[1], (0 if len(Y) == 1 else 2)
    addresses = [v.__array_interface__["data"][0] for v in (X, Y, a, b)]
    flag = function(len(X), addresses[0], steps[0], addresses[1], steps[1], *addresses[2:])
    assert flag == 0.0
    assert (a[-1] == 7.0).all() and b[-1] == 7.0  # nothing is written past the last row
    return np.hstack([a, b])[:-1]


def _baseline():
    here = host()
    cpu = "x86-64" if here.triple.startswith("x86_64") else "generic"
    return dataclasses.replace(here, cpu=cpu, features="")


@pytest.mark.parametrize("size", SIZES)
def test_bits_are_the_same_for_any_lanes_rows_and_cpu(size):
    kernel = _kernel(size)
    rng = np.random.default_rng(size)
    X, Y = rng.uniform(-9, 9, (29, size)), rng.uniform(1, 2, (29, 2))
    single = np.array([np.concatenate(kernel(x, y)) for x, y in zip(X, Y, strict=True)])
    for width in (4, 8):
        for target in (host(), _baseline()):
            assert np.array_equal(_run(kernel, kernel.llvm_ir(width), target, X, Y), single)
    for rows in (0, 1, 3, 4, 7, 8, 9, 16):
        part = _run(kernel, kernel.llvm_ir(8), host(), X[:rows].copy(), Y[:rows].copy())
        assert np.array_equal(part, single[:rows])


def test_an_input_all_rows_share_is_read_in_place():
    kernel = _kernel(3)
    rng = np.random.default_rng(1)
    X, Y = rng.uniform(-9, 9, (21, 3)), rng.uniform(1, 2, (1, 2))
    shared = _run(kernel, kernel.llvm_ir(), host(), X, Y)
    assert np.array_equal(shared, np.hstack(kernel(X, np.repeat(Y, 21, axis=0))))
    assert np.array_equal(shared, np.hstack(kernel(X, Y[0])))


def test_nothing_is_contracted():
    """a*b + c keeps the rounding of the product, unlike a fused multiply-add."""
    g = Graph()
    a, b, c = g.inputs("x", 3)
    f = compile_kernel("no_fma", g, {"y": [a * b + c]})
    x = 1.0 + 2.0**-30
    assert f([x, x, -(x * x)])[0] == 0.0
    assert (f(np.tile([x, x, -(x * x)], (20, 1))) == 0.0).all()
