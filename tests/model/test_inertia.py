"""Inertia: the rules, the solids, and what moving and joining bodies does to them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brazo.errors import BrazoError
from brazo.model.description import Inertia, frozen
from brazo.model.inertia import (
    broken_rules,
    doubts,
    merge,
    principal,
    rotated,
    shape_tensor,
    transformed,
)
from brazo.model.transforms import pose


def body(mass=2.0, com=(0.1, 0.0, 0.05), tensor=(0.02, 0.03, 0.025)):
    tensor = np.array(tensor)
    return Inertia(mass, frozen(com), frozen(np.diag(tensor) if tensor.ndim == 1 else tensor))


def cloud(seed: int, count: int = 6):
    """A few point masses, and their inertia by the definition."""
    rng = np.random.default_rng(seed)
    masses, points = rng.uniform(0.1, 1, count), rng.normal(size=(count, 3))
    return masses, points, from_points(masses, points)


def from_points(masses, points):
    com = masses @ points / masses.sum()
    d = points - com
    tensor = sum(m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in zip(masses, d, strict=True))
    return Inertia(float(masses.sum()), frozen(com), frozen(tensor))


def assert_same(a, b, tolerance=1e-14):
    assert abs(a.mass - b.mass) <= tolerance
    assert np.abs(a.com - b.com).max() <= tolerance
    assert np.abs(a.tensor - b.tensor).max() <= tolerance * max(1.0, np.abs(b.tensor).max())


def test_physical_inertia_satisfies_all_rules():
    assert broken_rules(body()) == []
    assert broken_rules(body(tensor=(0.1, 0.2, 0.3))) == []  # a flat plate
    assert broken_rules(body(mass=0.0, tensor=(0, 0, 0))) == []  # nothing there
    assert broken_rules(body(tensor=(0, 0, 0))) == []  # a point mass
    assert doubts(body()) == []


@pytest.mark.parametrize(
    ("inertia", "said"),
    [
        (body(mass=-1.0), "negative"),
        (body(mass=0.0), "mass is zero but the tensor is not"),
        (body(tensor=(0.1, 0.1, 0.21)), "triangle inequality is violated: .*0.1 \\+ 0.1 < 0.21"),
        (body(tensor=(-0.1, 0.1, 0.1)), "semidefinite: its smallest principal moment is -0.1"),
        (body(tensor=[[1, 2, 0], [2, 1, 0], [0, 0, 1]]), "not positive"),
        (body(tensor=[[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]), "not symmetric"),
        (body(mass=np.nan), "finite"),
        (body(com=(np.inf, 0, 0)), "finite"),
    ],
)
def test_violated_rule_is_named(inertia, said):
    rules = broken_rules(inertia)
    assert len(rules) == 1
    with pytest.raises(AssertionError, match=said):
        raise AssertionError(rules[0])


@pytest.mark.parametrize(
    ("inertia", "said"),
    [
        (body(mass=600.0), "600 kg is more than 500 kg"),
        (body(com=(3.0, 0, 0)), "centre of mass is 3 m"),
        (body(tensor=(9, 9, 9)), "radius of gyration 2.12 m"),
        (body(tensor=(0, 0, 0)), "point mass"),
    ],
)
def test_implausible_inertia_is_reported(inertia, said):
    assert any(said in text for text in doubts(inertia))


@pytest.mark.parametrize(
    ("shape", "sizes", "inside"),
    [
        ("box", (0.4, 0.3, 0.2), lambda p: (np.abs(p) < [0.2, 0.15, 0.1]).all(axis=1)),
        ("sphere", (0.3,), lambda p: np.linalg.norm(p, axis=1) < 0.3),
        (
            "cylinder",
            (0.2, 0.6),
            lambda p: (np.hypot(p[:, 0], p[:, 1]) < 0.2) & (np.abs(p[:, 2]) < 0.3),
        ),
        (
            "capsule",
            (0.2, 0.4),
            lambda p: (
                np.hypot(np.hypot(p[:, 0], p[:, 1]), np.maximum(np.abs(p[:, 2]) - 0.2, 0)) < 0.2
            ),
        ),
    ],
)
def test_solids_agree_with_summing_small_cubes(shape, sizes, inside):
    n = 100
    axis = (np.arange(n) + 0.5) / n - 0.5
    points = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
    points = points[inside(points)]
    d = points - points.mean(axis=0)
    second = d.T @ d / len(points)
    summed = np.trace(second) * np.eye(3) - second
    assert np.allclose(shape_tensor(shape, 3.0, sizes), 3.0 * summed, rtol=1e-2, atol=1e-12)


def test_capsule_inertia_is_between_rod_and_sphere():
    assert np.allclose(shape_tensor("capsule", 2, (0.3, 0.0)), shape_tensor("sphere", 2, (0.3,)))
    thin = shape_tensor("capsule", 2, (1e-9, 0.5))
    assert np.allclose(thin, shape_tensor("cylinder", 2, (0, 0.5)), rtol=1e-6)
    assert not shape_tensor("capsule", 1, (0, 0)).any()


def test_solids_along_another_axis():
    along = shape_tensor("cylinder", 1.0, (0.1, 0.8), axis="x")
    assert along[0, 0] < along[1, 1] == along[2, 2]
    with pytest.raises(BrazoError, match="no inertia for shape 'cone'; known: 'box'"):
        shape_tensor("cone", 1.0, (1.0,))


@pytest.mark.parametrize("seed", range(5))
def test_merged_inertia_equals_that_of_all_points(seed):
    m1, p1, a = cloud(seed)
    m2, p2, b = cloud(seed + 100)
    whole = from_points(np.concatenate([m1, m2]), np.vstack([p1, p2]))
    assert_same(merge(a, b), whole)
    assert_same(merge(b, a), whole)


@pytest.mark.parametrize("seed", range(5))
def test_transformed_inertia_equals_that_of_transformed_points(seed):
    masses, points, inertia = cloud(seed)
    T = pose((0.3, -0.2, 1.0), (0.4, 1.1, -2.0))
    moved = from_points(masses, points @ T[:3, :3].T + T[:3, 3])
    assert_same(transformed(inertia, T), moved)


def test_merge_with_massless_body_changes_nothing():
    nothing = Inertia(0.0, frozen(np.zeros(3)), frozen(np.zeros((3, 3))))
    assert_same(merge(body(), nothing), body(), 1e-16)
    assert_same(merge(nothing, nothing), nothing, 0.0)


@given(st.integers(0, 10_000))
def test_principal_moments_rebuild_the_tensor(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(3, 3))
    tensor = A + A.T
    moments, axes = principal(tensor)
    assert np.linalg.det(axes) == pytest.approx(1.0)
    assert np.all(np.diff(moments) >= 0)
    assert np.abs(rotated(np.diag(moments), axes) - tensor).max() < 1e-14
