"""Two arms for tuning and testing the solver: forward kinematics and Jacobian over any scalar.

A frame is (R, p): three rows of three, and three. Rows of the residual: position, then rotation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from brazo.codegen import Graph, ring
from brazo.codegen.linear import dot


@dataclass(frozen=True)
class Arm:
    name: str
    modified: bool  # Craig's convention; otherwise Denavit and Hartenberg's own
    a: tuple[float, ...]
    alpha: tuple[float, ...]
    d: tuple[float, ...]
    tool: tuple[float, float]  # Rz(angle) Tz(length) after the last frame
    limits: np.ndarray

    @property
    def n(self) -> int:
        return len(self.a)


_H = math.pi / 2
PUMA = Arm(
    "puma",
    modified=False,
    a=(0, 0.4318, 0.0203, 0, 0, 0),
    alpha=(_H, 0, -_H, _H, -_H, 0),
    d=(0.67183, 0, 0.15005, 0.4318, 0, 0),
    tool=(0.0, 0.0),
    limits=np.radians([[-160, 160], [-45, 225], [-225, 45], [-110, 170], [-100, 100], [-266, 266]]),
)
PANDA = Arm(
    "panda",
    modified=True,
    a=(0, 0, 0, 0.0825, -0.0825, 0, 0.088),
    alpha=(0, -_H, _H, _H, -_H, _H, _H),
    d=(0.333, 0, 0.316, 0, 0.384, 0, 0.107),
    tool=(-math.pi / 4, 0.1034),
    limits=np.array(
        [
            [-2.8973, 2.8973],
            [-1.7628, 1.7628],
            [-2.8973, 2.8973],
            [-3.0718, -0.0698],
            [-2.8973, 2.8973],
            [-0.0175, 3.7525],
            [-2.8973, 2.8973],
        ]
    ),
)


def frames(arm: Arm, q):
    """Each joint's axis and origin in the base, and the tool frame: [(z, o), ...], (R, p)."""
    R = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    p = [0.0, 0.0, 0.0]
    axes = []
    for i in range(arm.n):
        if arm.modified:
            R, p = _translate(R, p, 0, arm.a[i])
            R = _rotate_x(R, arm.alpha[i])
            axes.append(([row[2] for row in R], p))
            R = _rotate_z(R, *ring.sincos(q[i]))
            R, p = _translate(R, p, 2, arm.d[i])
        else:
            axes.append(([row[2] for row in R], p))
            R = _rotate_z(R, *ring.sincos(q[i]))
            R, p = _translate(R, p, 2, arm.d[i])
            R, p = _translate(R, p, 0, arm.a[i])
            R = _rotate_x(R, arm.alpha[i])
    R = _rotate_z(R, *_exact_sincos(arm.tool[0]))
    R, p = _translate(R, p, 2, arm.tool[1])
    return axes, (R, p)


def jacobian(axes, tool):
    """Rows: linear velocity of the tool, then angular velocity, both in the base."""
    _, p = tool
    columns = []
    for z, o in axes:
        columns.append([*_cross(z, [a - b for a, b in zip(p, o, strict=True)]), *z])
    return [[c[row] for c in columns] for row in range(6)]


def pose(arm: Arm, q) -> np.ndarray:
    """(12,): position, then the rotation row by row, from floats."""
    _, (R, p) = frames(arm, [float(v) for v in q])
    return np.array([*p, *R[0], *R[1], *R[2]])


def ik_graph(arm: Arm):
    """The pose problem as (graph, e, J, cost): inputs x (joints) and p (position, rotation
    rows)."""
    g = Graph()
    q = g.inputs("x", arm.n)
    target = g.inputs("p", 12)
    axes, (R, p) = frames(arm, q)
    Rt = [target[3 + 3 * i : 6 + 3 * i] for i in range(3)]
    turn, rotation_cost = rotation_residual(R, Rt)
    shift = [p[i] - target[i] for i in range(3)]
    J = jacobian(axes, (R, p))
    return g, [*shift, *turn], J, 0.5 * dot(shift, shift) + rotation_cost


def rotation_residual(R, Rt):
    """``2 sin(theta/2) axis`` of ``R Rt^T`` and the cost ``4 (1 - cos(theta/2))``.

    With the angular-velocity Jacobian, ``J^T e`` is exactly the gradient of that cost, which has no
    stationary point but the solution. Near a half turn, where sin(theta) vanishes, the size of each
    component comes from the diagonal, so that the residual is never mistaken for zero.
    """
    E = [[dot(R[i], Rt[j]) for j in range(3)] for i in range(3)]
    v = [(E[2][1] - E[1][2]) * 0.5, (E[0][2] - E[2][0]) * 0.5, (E[1][0] - E[0][1]) * 0.5]
    trace = E[0][0] + E[1][1] + E[2][2]
    h = ring.sqrt(ring.maximum(1.0 + trace, 0.0)) * 0.5  # cos(theta/2)
    near = [x / ring.maximum(h, 0.1) for x in v]
    size = [ring.sqrt(ring.maximum(1.0 + 2.0 * E[i][i] - trace, 0.0)) for i in range(3)]
    far = [ring.where(v[i], size[i], -size[i]) for i in range(3)]
    e = [ring.where(trace, n, f) for n, f in zip(near, far, strict=True)]
    return e, dot(e, e) / (1.0 + h)


def _exact_sincos(angle: float) -> tuple[float, float]:
    """Quarter turns give 0 and 1 exactly, so that the graph folds them."""
    quarter = angle / _H
    if quarter == round(quarter):
        return [(0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0)][round(quarter) % 4]
    return math.sin(angle), math.cos(angle)


def _rotate_z(R, s, c):
    return [[r[0] * c + r[1] * s, r[1] * c - r[0] * s, r[2]] for r in R]


def _rotate_x(R, alpha):
    s, c = _exact_sincos(alpha)
    return [[r[0], r[1] * c + r[2] * s, r[2] * c - r[1] * s] for r in R]


def _translate(R, p, axis, length):
    return R, [p[i] + R[i][axis] * length for i in range(3)]


def _cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
