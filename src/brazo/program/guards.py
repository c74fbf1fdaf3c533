"""Guards of a program in machine code: while a guard is positive, polling cannot change anything
(`brazo.simulation.idle`).

    opening     a gripper is not open enough yet           limit − (left + right)
    outside     a body is not in a chute                   max(−x, x − L, |y| − w/2, |z| − h/2)
    inside      it still is                                min(x, L − x)
    in_hand     it keeps its place in the hand             min(s² − |Δp|², tr ΔR − 1 − 2 cos φ)

The last three have a margin far above rounding: closer to a limit, `Passage` and `Monitor` decide.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from brazo.codegen import Expr, Graph, Kernel, absolute, compile_kernel, maximum, minimum

MARGIN = 1e-9  # m, m², 1


@lru_cache(maxsize=1)
def opening() -> Kernel:
    """Inputs: the two slides of a gripper, and a limit."""
    g = Graph()
    left, right = g.inputs("slides", 2)
    (limit,) = g.inputs("limit", 1)
    return compile_kernel("opening", g, {"calm": [limit - (left + right)]})


@lru_cache(maxsize=2)
def passage(inside: bool) -> Kernel:
    """Inputs: a body's position, the transform (3, 4) to a chute's frame, and its dimensions."""
    g = Graph()
    p, T, size = g.inputs("p", 3), g.inputs("T", 12), g.inputs("size", 3)
    x, y, z = (T[4 * i] * p[0] + T[4 * i + 1] * p[1] + T[4 * i + 2] * p[2] + T[4 * i + 3]
               for i in range(3))  # fmt: skip
    length, width, height = size
    if inside:
        calm = minimum(x, length - x)
    else:
        across = maximum(absolute(y) - 0.5 * width, absolute(z) - 0.5 * height)
        calm = maximum(maximum(-x, x - length), across)
    name = "passage_inside" if inside else "passage_outside"
    return compile_kernel(name, g, {"calm": [calm - MARGIN]})


@lru_cache(maxsize=1)
def in_hand() -> Kernel:
    """Inputs: positions and rotations of hand and body, pose (3, 4) of the body in the hand when it
    was gripped, and the max squared shift and min trace."""
    g = Graph()
    p, R, p_body, R_body = (g.inputs(name, k) for name, k in _HAND)
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
    calm = minimum(shift2 - moved, turned - trace) - MARGIN
    return compile_kernel("in_hand", g, {"calm": [calm]})


_HAND = (("p", 3), ("R", 9), ("p_body", 3), ("R_body", 9))


def hand_limits(shift: float, turn: float) -> np.ndarray:
    """The last input of `in_hand` for a shift (m) and a rotation (rad)."""
    return np.array([shift**2, 1.0 + 2.0 * np.cos(turn)])
