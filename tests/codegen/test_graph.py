"""The expression graph: sharing, exact folding, and refusal of what it cannot mean."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brazo.codegen import Graph, compile_kernel, ring
from brazo.codegen.evaluation import evaluate
from brazo.codegen.graph import op_counts
from brazo.errors import BrazoError


def test_equal_expressions_are_one_node():
    g = Graph()
    a, b = g.inputs("x", 2)
    assert a + b is b + a
    assert a * b is b * a
    assert (a - b) is -(b - a)
    assert (-a) * b is a * (-b)
    assert a - b is not b - a


def test_identities_fold_to_existing_nodes():
    g = Graph()
    a, b = g.inputs("x", 2)
    zero = g.constant(0.0)
    assert a + 0 is a and 0 + a is a and a - 0 is a
    assert 1 * a is a and a / 1 is a and -(0 - a) is a
    assert a * 0 is zero and 0 / a is zero and a - a is zero
    assert -1 * a is -a and 0 - a is -a
    assert a + a is 2 * a and a / 4 is 0.25 * a
    assert a + (-b) is a - b and a - (-b) is a + b
    assert (-a).sin() is -(a.sin()) and (-a).cos() is a.cos()
    assert a.where(b, b) is b
    assert op_counts([a / 3 + a / 3]) == {"div": 1, "mul": 1}


def test_addition_is_not_reassociated():
    g = Graph()
    (a,) = g.inputs("x", 1)
    f = compile_kernel("f", g, {"y": [(a + 1e16) - 1e16]})
    assert f([1.0])[0] == (1.0 + 1e16) - 1e16 == 0.0


def test_numpy_numbers_and_object_arrays_mix_with_expressions():
    g = Graph()
    x = g.inputs("x", 2)
    assert np.float64(2.0) * x[0] is x[0] * 2.0
    assert np.longdouble(2.0) * x[0] is x[0] * 2.0
    product = np.array([[0.0, 1.0], [1.0, 0.0]]) @ np.array(x, dtype=object)
    assert product[0] is x[1] and product[1] is x[0]


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda g, a: bool(a), "truth value"),
        (lambda g, a: a / 0, "divided by the constant 0"),
        (lambda g, a: a + math.inf, "must be finite"),
        (lambda g, a: a + Graph().inputs("x", 1)[0], "two different graphs"),
        (lambda g, a: g.inputs("x", 3), "declared twice"),
        (lambda g, a: g.inputs("2x", 3), "identifier"),
        (lambda g, a: g.constant(1e300) * g.constant(1e300), "overflow"),
    ],
)
def test_invalid_operations_are_rejected(build, words):
    g = Graph()
    (a,) = g.inputs("x", 1)
    with pytest.raises(BrazoError, match=words):
        build(g, a)


# Random straight-line programs, run on the graph and on floats.
NUMBERS = st.sampled_from([0.0, 1.0, -1.0, 2.0, 0.5, -3.0, 0.1, 1e-3, 7.25])
VALUES = st.floats(-4, 4, allow_nan=False, allow_subnormal=False)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["add", "sub", "mul", "div", "neg", "sincos", "min", "max", "where", "sqrt"]
        ),
        st.integers(0, 10**6),
        st.integers(0, 10**6),
        st.integers(0, 10**6),
        NUMBERS,
    ),
    min_size=1,
    max_size=25,
)


OPERATIONS = {
    "add": lambda a, b, c: a + b,
    "sub": lambda a, b, c: a - b,
    "mul": lambda a, b, c: b * a,
    "div": lambda a, b, c: a / (b * b + 1.0),
    "neg": lambda a, b, c: -a,
    "min": lambda a, b, c: ring.minimum(a, b),
    "max": lambda a, b, c: ring.maximum(a, b),
    "where": lambda a, b, c: ring.where(a, b, c),
    "sqrt": lambda a, b, c: ring.sqrt(a * a + 1.0),
}


def _run(program, inputs, sincos=ring.sincos):
    """The program on one ring; every third step takes a plain number as its second operand."""
    pool = list(inputs)
    for op, i, j, k, number in program:
        a, b, c = (pool[n % len(pool)] for n in (i, j, k))
        if k % 3 == 0:
            b = number
        if op == "sincos":
            pool += list(sincos(a))
        else:
            pool.append(OPERATIONS[op](a, b, c))
    return pool


@settings(max_examples=300)
@given(STEPS, st.lists(VALUES, min_size=3, max_size=3))
def test_folding_keeps_every_finite_bit(program, values):
    g = Graph()
    nodes = _run(program, g.inputs("x", 3))
    expected = np.array(_run(program, values), dtype=float)
    folded = np.array(evaluate(nodes, {"x": values}), dtype=float)
    finite = np.isfinite(expected)
    assert np.array_equal(folded[finite], expected[finite])


def _compiled_sincos():
    g = Graph()
    f = compile_kernel("sincos", g, {"sc": list(ring.sincos(g.inputs("x", 1)[0]))}, finite=False)
    return lambda x: tuple(f([x]).tolist())


@settings(max_examples=25)
@given(STEPS, st.integers(0, 2**32))
def test_compiled_code_has_the_bits_of_float_arithmetic(program, seed):
    """Only the sine differs from the C library's, so the float run uses the compiled one."""
    g = Graph()
    nodes = _run(program, g.inputs("x", 3))
    f = compile_kernel("random_graph", g, {"y": nodes})
    X = np.random.default_rng(seed).uniform(-4, 4, (11, 3))
    sincos = _compiled_sincos()
    expected = np.array([_run(program, row, sincos) for row in X.tolist()], dtype=float)
    finite = np.isfinite(expected)
    assert np.array_equal(f(X)[finite], expected[finite])
    assert np.array_equal(np.array([f(row) for row in X])[finite], expected[finite])
