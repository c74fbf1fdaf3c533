"""Random serial robots: 1-7 joints, R and P, both conventions, full inertia, tilted gravity."""

from __future__ import annotations

import math

import numpy as np

from brazo.model.description import Body, Drive, Inertia, Joint, TreeModel, frozen
from brazo.model.dh import DHRow, before_after
from brazo.model.inertia import merge, transformed
from brazo.model.transforms import pose


def random_inertia(rng: np.random.Generator) -> Inertia:
    """A body of a few point masses: always possible, never special."""
    masses = rng.uniform(0.2, 2.0, 5)
    points = rng.uniform(-0.2, 0.2, (5, 3))
    com = masses @ points / masses.sum()
    d = points - com
    tensor = np.einsum("i,i,jk->jk", masses, (d * d).sum(1), np.eye(3)) - (masses * d.T) @ d
    return Inertia(float(masses.sum()), frozen(com), frozen(tensor))


def random_robot(seed: int, joints: int | None = None) -> TreeModel:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8)) if joints is None else joints
    convention = "standard" if rng.random() < 0.5 else "modified"
    rows = [
        DHRow(
            kind="prismatic" if rng.random() < 0.3 else "revolute",
            theta=rng.uniform(-3, 3),
            d=rng.uniform(-0.4, 0.4),
            a=rng.uniform(-0.4, 0.4),
            alpha=rng.choice([rng.uniform(-3, 3), math.pi / 2, -math.pi / 2, 0.0]),
            offset=rng.uniform(-0.5, 0.5),
        )
        for _ in range(n)
    ]
    bodies = [Body("base")]
    base = pose(rng.uniform(-0.3, 0.3, 3), rng.uniform(-1, 1, 3))
    for i, row in enumerate(rows):
        before, after = before_after(row, convention)
        joint = Joint(
            name=f"joint {i + 1}",
            kind=row.kind,
            coordinate=i,
            before=frozen(base @ before if i == 0 else before),
            after=frozen(after),
            drive=Drive(gear=float(rng.uniform(1, 50)), motor_inertia=float(rng.uniform(0, 1e-4))),
        )
        bodies.append(Body(f"link {i + 1}", i, joint, random_inertia(rng)))
    tool = pose(rng.uniform(-0.2, 0.2, 3), rng.uniform(-2, 2, 3))
    last = bodies[-1]
    assert last.inertia is not None
    loaded = merge(last.inertia, transformed(random_inertia(rng), tool))
    bodies[-1] = Body(last.name, last.parent, last.joint, loaded)
    return TreeModel(
        name=f"random-{seed}",
        bodies=tuple(bodies),
        tip=n,
        tool=frozen(tool),
        gravity=frozen(rng.uniform(-10, 10, 3)),
        convention=convention,
        dh=tuple(rows),
    )
