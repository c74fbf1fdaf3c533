"""Derivatives of graphs against difference quotients, rule by rule."""

import numpy as np
import pytest

from brazo.codegen import Graph, ring
from brazo.codegen.derivative import derivative, directional
from brazo.codegen.evaluation import evaluate
from brazo.errors import BrazoError

RULES = {
    "add": lambda x, y: x + y * y,
    "sub": lambda x, y: x * x - y,
    "mul": lambda x, y: x * y * x,
    "div": lambda x, y: x / (y * y + 1.0),
    "neg": lambda x, y: -(x * y),
    "sine": lambda x, y: (x * y).sin() * x.cos(),
    "angle": lambda x, y: ring.atan2(x * x, y),
    "root": lambda x, y: ring.sqrt(x * x + y * y),
    "choice": lambda x, y: ring.where(x - y, x * y, y * y),
    "rounding": lambda x, y: x * ring.rint(3.0 * y) - y * ring.rint(-x),
}


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_the_limit_of_differences(rule):
    g = Graph()
    x = g.inputs("x", 2)
    f = [RULES[rule](*x)]
    at, h = np.array([0.7, 0.4]), 1e-6
    for k in range(2):
        step = h * np.eye(2)[k]
        quotient = (evaluate(f, {"x": at + step})[0] - evaluate(f, {"x": at - step})[0]) / (2 * h)
        assert evaluate(derivative(f, x[k]), {"x": at})[0] == pytest.approx(quotient, abs=1e-9)


def test_rate_along_a_direction_is_the_sum_over_its_inputs():
    g = Graph()
    x, v = g.inputs("x", 2), g.inputs("v", 2)
    outputs = [rule(*x) for rule in RULES.values()]
    along = directional(outputs, dict(zip(x, v, strict=True)))
    inputs = {"x": np.array([0.7, 0.4]), "v": np.array([-0.3, 1.1])}
    parts = [evaluate(derivative(outputs, one), inputs) for one in x]
    assert evaluate(along, inputs) == pytest.approx(inputs["v"] @ np.array(parts), abs=1e-15)


def test_what_does_not_depend_on_the_input_costs_nothing():
    g = Graph()
    a, b = g.inputs("x", 2)
    count = len(g.nodes)
    assert derivative([b, 3.0, a], a) == [0.0, 0.0, 1.0]
    assert len(g.nodes) == count


def test_a_function_with_corners_has_no_derivative():
    g = Graph()
    a, b = g.inputs("x", 2)
    corner = ring.maximum(a, 1.0)
    assert derivative([corner], b) == [0.0]
    with pytest.raises(BrazoError, match="no derivative of 'max'"):
        derivative([corner], a)
