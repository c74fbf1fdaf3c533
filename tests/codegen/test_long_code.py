"""Kernels of very long code: how it is divided, and that its values stay the same."""

from __future__ import annotations

import re
import threading

import numpy as np
import pytest

from brazo.codegen import Graph, GraphFunction, compile_kernel, jit
from brazo.codegen.checkpoint import checkpoints
from brazo.codegen.emitter import LONG_BLOCK
from brazo.codegen.ring import sincos


@pytest.fixture(autouse=True)
def uncached(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAZO_CACHE_DIR", str(tmp_path))


def products(turns: int):
    """The sines and cosines of the partial sums of many angles, from those of the angles."""
    g = Graph()
    q = g.inputs("q", turns)
    s, c = sincos(q[0])
    outputs = [s, c]
    for angle in q[1:]:
        a, b = sincos(angle)
        s, c = s * b + c * a, c * b - s * a
        outputs += [s, c]
    return compile_kernel("products", g, {"x": outputs})


def expected(q):
    total = np.cumsum(q, axis=-1)
    return np.stack([np.sin(total), np.cos(total)], axis=-1).reshape(*q.shape[:-1], -1)


def test_no_basic_block_is_long():
    blocks = re.split(r"^\w[\w.]*:$", products(600).llvm_ir(), flags=re.MULTILINE)
    longest = max(block.count("\n") for block in blocks)
    assert LONG_BLOCK < longest < 2 * LONG_BLOCK


@pytest.mark.parametrize("optimised", [True, False])
def test_divided_code_computes_the_same_values(monkeypatch, optimised):
    kernel = products(300)
    monkeypatch.setattr(jit, "LONG_IR", len(kernel.llvm_ir()) - (0 if optimised else 1))
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (21, 300))
    x = kernel(q)
    assert np.abs(x - expected(q)).max() < 1e-12
    assert np.array_equal(x, [kernel(row) for row in q])  # lanes and single rows: the same bits


def test_work_can_be_ended_before_a_kernel_is_compiled():
    class Ended(Exception):
        pass

    def check():
        raise Ended

    kernel = products(3)
    with checkpoints(check), pytest.raises(Ended):
        kernel(np.zeros(3))
    assert np.array_equal(kernel(np.zeros(3)), [0.0, 1.0] * 3)
    with checkpoints(check):
        kernel(np.zeros(3))  # nothing to compile


def test_a_batch_of_large_results_fits_on_a_small_stack():
    g = Graph()
    a, b = g.inputs("a", 1)[0], g.inputs("b", 1)[0]
    many = GraphFunction("many", g, {"x": [a + b, a * b] * 5000})
    outer = Graph()
    (results,) = outer.call(many, outer.inputs("a", 1), outer.inputs("b", 1))
    kernel = compile_kernel("large", outer, {"x": results})
    given = np.random.default_rng(0).uniform(-1.0, 1.0, (2, 19, 1))
    found = []
    before = threading.stack_size(512 * 1024)  # of threads on macOS
    try:
        thread = threading.Thread(target=lambda: found.append(kernel(*given)))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    pair = np.concatenate([given[0] + given[1], given[0] * given[1]], axis=1)
    assert np.array_equal(found[0], np.tile(pair, 5000))
