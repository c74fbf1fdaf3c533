"""Conditions of the monitor of a program; while all of them hold, it need not be updated.

A condition holds while its function is positive.  For `outside`, (x, y, z) is the position of the
body in the frame of a chute with length L, width w and height h.  For `in_hand`, Δp and ΔR are the
changes of the body's position and orientation in the hand, and s and φ are the largest allowed
shift and angle.

    outside     a body is not in a chute               max(−x, x − L, |y| − w/2, |z| − h/2)
    in_hand     a body keeps its pose in the hand      min(s² − |Δp|², tr ΔR − 1 − 2 cos φ)

A small margin (`MARGIN`), far above rounding errors, is subtracted from each function.  When a
condition does not hold, the monitor is updated at regular intervals.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from brazo.codegen import Expr, Graph, Kernel, absolute, compile_kernel, maximum, minimum
from brazo.simulation.conditions import Condition

Array = np.ndarray
MARGIN = 1e-9  # m, m², 1


def outside(
    position: Array, chute_from_world: Array, size: tuple[float, float, float]
) -> Condition:
    """Return the condition that a body is not in a chute.

    `position` (3,) is the position of the body in the world.  `chute_from_world` (4, 4) transforms
    it to the frame of the chute.  `size` is the length, width and height of the chute (m).
    """
    return Condition(_outside(), (position, chute_from_world[:3].ravel(), np.array(size)))


def in_hand(
    hand: tuple[Array, Array], body: tuple[Array, Array], T: Array, shift: float, turn: float
) -> Condition:
    """Return the condition that a body stays near its pose T (3, 4) in the hand.

    `shift` (m) and `turn` (rad) are the largest allowed changes of position and orientation.
    `hand` and `body` are poses in the world: a position (3,) and a rotation matrix (9,).
    """
    limits = np.array([shift**2, 1.0 + 2.0 * np.cos(turn)])
    return Condition(_in_hand(), (*hand, *body, T.ravel(), limits))


@lru_cache(maxsize=1)
def _outside() -> Kernel:
    g = Graph()
    p, T, (length, width, height) = g.inputs("p", 3), g.inputs("T", 12), g.inputs("size", 3)
    x, y, z = (
        T[4 * i] * p[0] + T[4 * i + 1] * p[1] + T[4 * i + 2] * p[2] + T[4 * i + 3] for i in range(3)
    )
    across = maximum(absolute(y) - 0.5 * width, absolute(z) - 0.5 * height)
    found = maximum(maximum(-x, x - length), across)
    return compile_kernel("outside_chute", g, {"margin": [found - MARGIN]}, finite=False)


@lru_cache(maxsize=1)
def _in_hand() -> Kernel:
    g = Graph()
    p, R, p_body, R_body = (
        g.inputs(name, n) for name, n in (("p", 3), ("R", 9), ("p_body", 3), ("R_body", 9))
    )
    T, (shift2, trace) = g.inputs("T", 12), g.inputs("limits", 2)
    apart = [a - b for a, b in zip(p_body, p, strict=True)]
    moved: Expr | float = 0.0
    turned: Expr | float = 0.0
    for i in range(3):
        e = R[i] * apart[0] + R[3 + i] * apart[1] + R[6 + i] * apart[2] - T[4 * i + 3]
        moved = moved + e * e
        for k in range(3):
            r = R[i] * R_body[k] + R[3 + i] * R_body[3 + k] + R[6 + i] * R_body[6 + k]
            turned = turned + r * T[4 * i + k]
    found = minimum(shift2 - moved, turned - trace)
    return compile_kernel("kept_in_hand", g, {"margin": [found - MARGIN]}, finite=False)
