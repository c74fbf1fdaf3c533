"""Real zeros of trigonometric polynomials, against polynomials made from known zeros."""

from __future__ import annotations

import math

import numpy as np
import pytest

from brazo.codegen import compile_kernel
from brazo.codegen.graph import Graph
from brazo.codegen.zeros import TrigonometricZeros, zero_function

DEGREE = 8
ZEROS = TrigonometricZeros(DEGREE, 1e-15)
_ANGLES = 2 * math.pi * np.arange(64) / 64


def wave_of(zeros, complex_pairs):
    """Coefficients of the product of sin((x − zero)/2) and of pairs off the real axis."""

    def value(x):
        f = np.prod(np.sin(0.5 * (x[:, None] - zeros)), axis=1)
        for at, off in complex_pairs:
            f = f * (math.cosh(off) - np.cos(x - at))
        return f

    f = value(_ANGLES)
    k = np.arange(1, DEGREE + 1)[:, None] * _ANGLES
    wave = np.concatenate([[f.mean()], np.cos(k) @ f / 32, np.sin(k) @ f / 32])
    return wave / np.abs(f).max()


def refined(brackets, wave):
    graph = Graph()
    w, b = graph.inputs("w", 17), graph.inputs("b", 2)
    angle, _ = graph.call(zero_function("zero", DEGREE), w, b)
    return compile_kernel("test_zero", graph, {"x": angle})(wave, brackets)[:, 0]


def test_every_zero_of_many_polynomials_is_bracketed_once():
    rng = np.random.default_rng(0)
    known, waves = [], []
    for i in range(400):
        count = 2 * int(rng.integers(0, 9))
        zeros = np.sort(rng.uniform(0, 2 * math.pi, count))
        if i % 4 == 0 and count > 3:  # a cluster of four
            zeros[:4] = np.sort(3.0 + 0.02 * rng.random(4))
        pairs = [(rng.uniform(0, 6), rng.uniform(0.1, 1)) for _ in range((16 - count) // 2)]
        known.append(np.sort(zeros))
        waves.append(wave_of(zeros, pairs))
    waves = np.array(waves)
    found = ZEROS(waves)
    x = refined(found.ends, waves[found.rows])
    for i, zeros in enumerate(known):
        own = np.sort(x[found.rows == i])
        gaps = np.diff(zeros, append=zeros[:1] + 2 * math.pi) if len(zeros) else np.ones(1)
        if gaps.min() < 1e-3 or found.flat[i]:
            assert len(own) >= len(zeros) or found.flat[i]
            continue
        assert len(own) == len(zeros), i
        np.testing.assert_allclose(own, zeros, atol=2e-5)  # a zero of a cluster is ill-conditioned


def test_a_pair_that_has_just_vanished_is_reported_as_a_double_zero():
    wave = wave_of(np.array([1.0, 4.0]), [(2.5, 1e-4), *[(5.0, 0.8)] * 6])
    found = ZEROS(wave[None])
    assert len(found.rows) == 4
    assert bool(found.close[0])
    double = found.ends[np.abs(found.ends[:, 0] - 2.5) < 0.01]
    np.testing.assert_allclose(double, 2.5, atol=1e-6)


def test_a_polynomial_without_zeros_has_no_brackets():
    wave = np.zeros((3, 17))
    wave[:, 0], wave[:, 3] = 1.0, 0.5
    found = ZEROS(wave)
    assert len(found.rows) == 0
    assert not found.flat.any()


def test_a_flat_polynomial_is_marked():
    wave = wave_of(np.full(16, 3.0) + 1e-3 * np.arange(16), [])
    assert ZEROS(wave[None]).flat[0]


def test_the_interpreted_route_finds_the_same_brackets(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(1)
    waves = np.array([wave_of(rng.uniform(0, 6.28, 10), [(1.0, 0.5)] * 3) for _ in range(2)])
    interpreted = TrigonometricZeros(DEGREE, 1e-15)
    interpreted._native = interpreted._interpreted
    a, b = ZEROS(waves), interpreted(waves)
    np.testing.assert_array_equal(a.rows, b.rows)
    np.testing.assert_allclose(a.ends, b.ends, atol=1e-9)
