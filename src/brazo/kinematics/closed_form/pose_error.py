"""Pose error between the tool of a chain and a target, and the Newton step that reduces it.

In this module a *turn* is (cos, sin) of a revolute joint, or the value of a prismatic joint. Closed
forms return (cos, sin), so their errors are computed without evaluating sines of angles. A target
(12) consists of nine scalars of the rotation, row by row, and three of the position.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from brazo.codegen import Graph, GraphFunction
from brazo.codegen.linear import dot, ldl_solve
from brazo.codegen.ring import maximum, minimum, sqrt, where
from brazo.kinematics.chain import Chain
from brazo.kinematics.closed_form.pairs import Pair, of_angle
from brazo.kinematics.forward import Pose, compose, cross, subtract

Array = np.ndarray
Scalar = Any
Turn = Pair | Scalar
Errors = tuple[Scalar, Scalar, Scalar]

# asin x = x + x z P(z), z = x² ≤ 1/4, by interpolation at Chebyshev points: relative error 6e-17.
_ARC_SINE = (
    0.1666666666666665,
    0.07500000000020764,
    0.044642857103423646,
    0.03038194736709848,
    0.02237204763174451,
    0.017355259955786323,
    0.013929652902326633,
    0.011875494382636922,
    0.0078029494773533175,
    0.01603551434914882,
    -0.010749050339697808,
    0.028169218060881414,
)


def turns_of(kinds: Sequence[str], x: Sequence[Scalar]) -> list[Turn]:
    """Return (cos, sin) of each revolute joint value in x, and each prismatic value unchanged."""
    return [
        value if kind == "prismatic" else of_angle(value)
        for kind, value in zip(kinds, x, strict=True)
    ]


def chain_frames(chain: Chain, turns: Sequence[Turn]) -> tuple[list[Pose], Pose]:
    """Return the poses of frames 1 to n and of the tool in the base frame.

    `turns` contains (cos, sin) of each revolute joint and the value of each prismatic joint.
    """
    pose = _constant(chain.X[0])
    frames = []
    for kind, turn, X in zip(chain.kinds, turns, chain.X[1:], strict=True):
        R, p = pose
        if kind == "revolute":
            c, s = turn
            x = [c * R[3 * k] + s * R[3 * k + 1] for k in range(3)]
            y = [c * R[3 * k + 1] - s * R[3 * k] for k in range(3)]
            pose = [v for k in range(3) for v in (x[k], y[k], R[3 * k + 2])], p
        else:
            pose = R, [p[k] + turn * R[3 * k + 2] for k in range(3)]
        frames.append(pose)
        pose = compose(pose, _constant(X))
    return frames, pose


def chain_errors(chain: Chain, turns: Sequence[Turn], p: Sequence[Scalar]) -> Errors:
    """Return the three errors of `errors_of` for the tool of a serial chain and a target p (12)."""
    _, pose = chain_frames(chain, turns)
    return errors_of(pose, p, chain.size)


def errors_of(pose: Pose, p: Sequence[Scalar], size: float) -> Errors:
    """Return three errors of a pose relative to a target p (12).

    1. the larger of position error / size and 2 sin(orientation error / 2);
    2. the position error (m);
    3. the sine of half the orientation error.
    """
    R, point = pose
    gap, turn = subtract(point, p[9:]), subtract(R, p[:9])
    # |Ra − Rb| = 2√2 sin(angle/2) in the Frobenius norm.
    position, chord = sqrt(dot(gap, gap)), sqrt(dot(turn, turn) * 0.125)
    return maximum(position * (1.0 / size), 2.0 * chord), position, chord


def check(
    kinds: Sequence[str], errors: Callable[[list[Turn], list[Scalar]], Errors]
) -> GraphFunction:
    """Make the graph function (x, p) -> (miss, more), which computes the errors of a pose.

    x are the joint values and p (12) is the target. `miss` is the first of the three scalars that
    `errors` returns, and `more` contains the other two.
    """
    graph = Graph()
    x, p = graph.inputs("x", len(kinds)), graph.inputs("p", 12)
    miss, *more = errors(turns_of(kinds, x), p)
    return GraphFunction("check", graph, {"miss": [miss], "more": more})


def newton_step(chain: Chain) -> GraphFunction:
    """Make the graph function (x, p, caution) -> trial, which takes two damped Newton steps.

    x are joint values, p (12) is the target, and `trial` are the joint values after the steps. Both
    steps use the Jacobian at x. The damping is the norm of the error times `caution`. Near a
    singularity the first step is long in one direction and has second-order errors in the other
    directions. The second step reduces these errors; without it, the trial would be rejected.
    """
    graph = Graph()
    n = chain.n
    x, p = graph.inputs("x", n), graph.inputs("p", 12)
    (caution,) = graph.inputs("caution", 1)
    frames, (R, point) = chain_frames(chain, turns_of(chain.kinds, x))
    scale = 1.0 / chain.size
    columns = []
    for (S, origin), kind in zip(frames, chain.kinds, strict=True):
        z = [S[2], S[5], S[8]]
        arm = cross(z, subtract(point, origin)) if kind == "revolute" else z
        turn = z if kind == "revolute" else [0.0, 0.0, 0.0]
        columns.append([*(v * scale for v in arm), *turn])
    error = _away((R, point), p, scale)
    damping = dot(error, error) * caution * caution
    A = [[dot(columns[i], columns[j]) for j in range(i + 1)] for i in range(n)]
    for i in range(n):
        A[i][i] = A[i][i] + damping
    (step,) = ldl_solve(A, [dot(column, error) for column in columns])
    trial = [a + b for a, b in zip(x, step, strict=True)]
    _, pose = chain_frames(chain, turns_of(chain.kinds, trial))
    error = _away(pose, p, scale)
    (step,) = ldl_solve(A, [dot(column, error) for column in columns])
    trial = [a + b for a, b in zip(trial, step, strict=True)]
    return GraphFunction("newton", graph, {"trial": trial})


def _away(pose: Pose, p: Sequence[Scalar], scale: float) -> list[Scalar]:
    """Return the error vector (6) from a pose to a target p (12).

    It contains the displacement times `scale`, then the rotation axis times the sine of the angle.
    """
    R, point = pose
    E = [[dot(p[3 * i : 3 * i + 3], R[3 * j : 3 * j + 3]) for j in range(3)] for i in range(3)]
    rotation = [(E[2][1] - E[1][2]) * 0.5, (E[0][2] - E[2][0]) * 0.5, (E[1][0] - E[0][1]) * 0.5]
    return [*(v * scale for v in subtract(p[9:], point)), *rotation]


def angle_of_chord(chord: Scalar) -> Scalar:
    """Return 2 asin(chord) in rad, the angle whose half has the sine `chord`; π if chord > 1."""
    half = minimum(chord, 1.0)
    large = half - 0.5
    z = where(large, 0.5 * (1.0 - half), half * half)
    x = where(large, sqrt(z), half)
    series: Scalar = _ARC_SINE[-1]
    for c in _ARC_SINE[-2::-1]:
        series = series * z + c
    arc = x + (x * z) * series
    return where(large, math.pi - 4.0 * arc, 2.0 * arc)


def _constant(T: Array) -> Pose:
    """Convert a 4 × 4 array to a pose; rotation entries within rounding of 0 or ±1 become exact."""
    R = T[:3, :3]
    R = np.where(np.abs(R) < 2e-16, 0.0, np.where(np.abs(np.abs(R) - 1.0) < 4e-16, np.sign(R), R))
    return R.ravel().tolist(), T[:3, 3].tolist()
