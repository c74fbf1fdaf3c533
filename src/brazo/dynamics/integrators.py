"""The classic fourth-order Runge–Kutta step, for any scalar type.

k₁ = f(x)   k₂ = f(x + h/2 k₁)   k₃ = f(x + h/2 k₂)   k₄ = f(x + h k₃)
x ← x + h/6 (k₁ + 2 k₂ + 2 k₃ + k₄)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from brazo.codegen import Function, Graph

Scalar = Any
Vector = list[Scalar]


def rk4(rate: Callable[[Vector], Vector], x: Vector, h: Scalar) -> Vector:
    """One classic Runge–Kutta step of ẋ = rate(x)."""

    def moved(k: Vector, by: Scalar) -> Vector:
        return [a + by * b for a, b in zip(x, k, strict=True)]

    half, sixth = 0.5 * h, h / 6.0
    k1 = rate(x)
    k2 = rate(moved(k1, half))
    k3 = rate(moved(k2, half))
    k4 = rate(moved(k3, h))
    return [
        a + sixth * ((p + s) + 2.0 * (q + r))
        for a, p, q, r, s in zip(x, k1, k2, k3, k4, strict=True)
    ]


def held_torque_step(
    g: Graph, motion: Function, q: Vector, qd: Vector, tau: Vector, dt: Scalar, *constants: Vector
) -> tuple[Vector, Vector]:
    """Return q and qd after one Runge–Kutta step of q̈ = motion(q, q̇, τ, constants…) on a graph.

    τ is constant during the step.
    """
    n = len(q)

    def rate(x: Vector) -> Vector:
        return [*x[n:], *g.call(motion, x[:n], x[n:], tau, *constants)[0]]

    x = rk4(rate, [*q, *qd], dt)
    return x[:n], x[n:]


def retrace(
    forward: Callable[..., np.ndarray],
    q: np.ndarray,
    qd: np.ndarray,
    tau: np.ndarray,
    dt: np.ndarray,
) -> None:
    """Repeat a Runge–Kutta step whose result was not finite, to raise an error with the reason.

    The forward dynamics `forward(q, qd, tau)` raise this error in the stage that fails.
    """
    n = len(q)

    def rate(x: Vector) -> Vector:
        if not np.isfinite(x).all():
            return x
        return [*x[n:], *forward(np.array(x[:n]), np.array(x[n:]), tau).tolist()]

    rk4(rate, [*q.tolist(), *qd.tolist()], float(dt[0]))
