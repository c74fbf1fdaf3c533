"""The tool's Jacobian and its exact time derivative.

Let z be the direction of a joint's axis, o a point on this axis and p the tool point.  Then

    revolute    d/dt (z × (p − o), z) = (ż × (p − o) + z × (ṗ − ȯ), ż),   ż = ω × z
    prismatic   d/dt (z, 0)           = (ż, 0)

where ω is the angular velocity of the link before the joint.  The Jacobian of a delta robot follows
from its three rods of constant length: uᵢ·Ṗ = uᵢ·Ċᵢ, where P and Cᵢ are the ends of rod i and
uᵢ = P − Cᵢ.  The time derivative of the Jacobian follows from the derivative of this equation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from brazo.codegen import Graph, compile_kernel
from brazo.kinematics.closed_form import delta
from brazo.kinematics.forward import (
    Scalar,
    cross,
    jacobian_rows,
    posture,
    subtract,
    tool_pose,
)
from brazo.model.description import DeltaModel, Model, TreeModel

Array = np.ndarray


@lru_cache(maxsize=64)
def jacobian_rate(model: Model) -> Callable[[Array, Array], tuple[Array, Array]]:
    """Return a function of q and qd (..., n) that computes J and dJ/dt (..., 6, n) in base axes."""
    if isinstance(model, DeltaModel):
        return lambda q, qd: _delta(model, q, qd)
    tree, graph = model.require_tree(), Graph()
    q, qd = graph.inputs("q", model.n), graph.inputs("qd", model.n)
    J, Jd = _rows(tree, list(q), list(qd))
    shape = (6, model.n)
    outputs = {name: [x for row in rows for x in row] for name, rows in (("J", J), ("Jd", Jd))}
    return compile_kernel("jacobian_rate", graph, outputs, {"J": shape, "Jd": shape})


def _rows(
    model: TreeModel, q: list[Scalar], qd: list[Scalar]
) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """Rows of J and of dJ/dt, for numbers or symbolic expressions."""
    where = posture(model, q)
    p = tool_pose(model, where)[1]
    J = jacobian_rows(model, where, model.tip, p)
    pd = _times(J[:3], qd)
    Jd: list[list[Scalar]] = [[0.0] * model.n for _ in range(6)]
    body = model.tip
    while body > 0:
        joint, parent = model.bodies[body].joint, model.bodies[body].parent
        assert joint is not None
        z, o = where.axes[body - 1], where.origins[body - 1]
        motion = jacobian_rows(model, where, parent, o)
        od, w = _times(motion[:3], qd), _times(motion[3:], qd)
        zd = cross(w, z)
        if joint.kind == "revolute":
            turned = cross(zd, subtract(p, o))
            moved = cross(z, subtract(pd, od))
            column = [a + b for a, b in zip(turned, moved, strict=True)] + zd
        else:
            column = [*zd, 0.0, 0.0, 0.0]
        for row, value in zip(Jd, column, strict=True):
            row[joint.coordinate] = row[joint.coordinate] + joint.multiplier * value
        body = parent
    return J, Jd


def _times(rows: list[list[Scalar]], v: list[Scalar]) -> list[Scalar]:
    found = []
    for row in rows:
        total: Scalar = 0.0
        for a, b in zip(row, v, strict=True):
            total = total + a * b
        found.append(total)
    return found


def _delta(model: DeltaModel, q: Array, qd: Array) -> tuple[Array, Array]:
    q, qd = np.asarray(q, dtype=float), np.asarray(qd, dtype=float)
    P = delta.fk(model, q)[0][..., 0, :]
    V = delta.jacobian(model, q, P)
    s, c = np.sin(q), np.cos(q)
    azimuths = np.asarray(model.azimuths)
    out = np.stack([np.cos(azimuths), np.sin(azimuths), np.zeros(3)], axis=-1)
    up = np.array([0.0, 0.0, 1.0])
    arm = model.L1 * (c[..., None] * out + s[..., None] * up)
    C = (model.R - model.r) * out + arm
    dC = model.L1 * (-s[..., None] * out + c[..., None] * up)
    Pd = np.einsum("...ij,...j->...i", V, qd)
    u = P[..., None, :] - C
    ud = Pd[..., None, :] - dC * qd[..., None]
    # uᵢ·V = (uᵢ·dCᵢ) eᵢ; the second derivative of C by its angle is −arm.
    rate = np.sum(ud * dC, axis=-1) - np.sum(u * arm, axis=-1) * qd
    right = rate[..., None] * np.eye(3) - ud @ V
    J = np.zeros((*q.shape[:-1], 6, 3))
    Jd = np.zeros_like(J)
    J[..., :3, :] = V
    Jd[..., :3, :] = np.linalg.solve(u, right)
    return J, Jd
