"""Numeric inverse kinematics of any tree robot: compiled damped least squares with restarts.

The residual e has six rows: the position error p − p* of the tool, and the rotation error
2 sin(θ/2)·axis, where θ is the angle of the error. Each row is multiplied by a weight, w_p for
position and w_r for rotation. A row with weight 0 is free; (1,1,1,0,0,0) solves the position only.
If J is the geometric Jacobian with the same weights, Jᵀe is the exact gradient of

    ½ |w_p (p − p*)|² + 4 w_r² (1 − cos(θ/2)),

whose only stationary point in θ is the target, θ = 0. The antisymmetric part of the error's
rotation matrix vanishes at θ = 180°, so above 120° the residual is computed from the diagonal.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from brazo.codegen import Graph, Kernel, compile_kernel, ring
from brazo.codegen.linear import dot
from brazo.codegen.solver import Solution, Solver, compile_solver
from brazo.kinematics.closed_form.compiled import cleaned
from brazo.kinematics.forward import Scalar, jacobian_rows, posture, tool_pose
from brazo.kinematics.result import Branch, IKResult
from brazo.model.description import TreeModel

METHOD = "numeric, damped least squares"
ATTEMPTS = 100
ITERATIONS = 30


class NumericIK:
    """Numeric IK solver for one robot; the unknowns are the values of joints that move the tool."""

    def __init__(self, model: TreeModel, limits: np.ndarray, box: np.ndarray) -> None:
        self.coordinates = tip_coordinates(model)
        self.solver = _compile(model, list(self.coordinates), limits, box)

    def __call__(
        self,
        T: np.ndarray,
        q0: np.ndarray | None = None,
        weights: np.ndarray | None = None,
        tolerance: float = 1e-9,
        seed: int = 0,
        attempts: int = ATTEMPTS,
    ) -> Solution:
        """Solve for poses T (..., 4, 4) from start values q0 (..., n).

        `weights` (6,) multiply the position and rotation errors; None means 1. `tolerance` (m and
        rad) applies to the weighted errors. `attempts` is the max number of starting points.
        `Solution.x` contains only the values of the joints that move the tool.
        """
        lead = T.shape[:-2]
        p = np.empty((*lead, 18))
        p[..., :3] = T[..., :3, 3]
        p[..., 3:12] = T[..., :3, :3].reshape(*lead, 9)
        p[..., 12:] = 1.0 if weights is None else weights
        x0 = None if q0 is None else np.asarray(q0, dtype=float)[..., list(self.coordinates)]
        return self.solver(
            p,
            x0,
            tol_first=tolerance,
            tol_rest=tolerance,
            attempts=attempts,
            iterations=ITERATIONS,
            seed=seed,
        )

    def fast(
        self, reference: np.ndarray, others: Callable[..., Any]
    ) -> Callable[[Any, Any], IKResult | None]:
        """Return a fast IK function (T, q0) for calls without options.

        T must be a pose (4, 4) as a float64 array. The function returns None if the general
        function `brazo.kinematics.ik.solve` is needed instead. `others(T, one)` returns all
        branches of the pose T; `one` is the `Branch` that was found. `reference` (n,) contains the
        start values for calls without q0.
        """
        used, n = list(self.coordinates), len(reference)
        whole = used == list(range(n))
        prepare = _prepared().entry
        local = threading.local()
        double = np.dtype(float)

        def solve(T: Any, q0: Any) -> IKResult | None:
            if type(T) is not np.ndarray or T.shape != (4, 4) or T.dtype is not double:
                return None
            if q0 is None:
                start = reference
            elif type(q0) is np.ndarray and q0.shape == reference.shape and q0.dtype is double:
                start = q0
            else:
                return None
            problem, rigid = prepare(T.reshape(16))
            if rigid[0] != 1.0:
                return None
            solver = getattr(local, "solver", None)
            if solver is None:
                # Only a few attempts: if they fail, the general method starts again.
                settings = {"tol_first": 1e-9, "tol_rest": 1e-9, "iterations": ITERATIONS}
                solver = local.solver = self.solver.plain(**settings, attempts=10, polish=1)
            solver.p[:] = problem
            solver.x0[:] = start if whole else start[used]
            x, (status, _, first, rest, iterations, _) = solver()
            if status <= 0.0:
                return None
            q = x
            if not whole:
                q = np.array(start)
                q[used] = x
            position = math.sqrt(first)
            orientation = 2.0 * math.asin(min(0.5 * math.sqrt(rest), 1.0))
            one = Branch(q, "", True, (), position, orientation)
            return IKResult(
                q,
                True,
                "",
                one.residual,
                lambda: others(_pose(problem), one),
                None,
                METHOD,
                int(iterations),
            )

        return solve


def _pose(problem: np.ndarray) -> np.ndarray:
    """Return the target pose (4, 4) that is contained in the solver's parameters (18)."""
    T = np.eye(4)
    T[:3, 3] = problem[:3]
    T[:3, :3] = problem[3:12].reshape(3, 3)
    return T


@cache
def _prepared() -> Kernel:
    """Kernel T (16) -> solver parameters (18), and 1 if T is a pose, otherwise 0.

    The parameters are the position, the rotation and six weights of 1.
    """
    graph = Graph()
    T = graph.inputs("T", 16)
    R, rigid = cleaned([*T[0:3], *T[4:7], *T[8:11]], T[12:])
    outputs = {"p": [T[3], T[7], T[11], *R, *[1.0] * 6], "rigid": [rigid]}
    return compile_kernel("ik_target", graph, outputs, finite=False)


def tip_coordinates(model: TreeModel) -> tuple[int, ...]:
    """Return the indices in q of the joints between base and tool, base first."""
    found: list[int] = []
    body = model.tip
    while body > 0:
        joint = model.bodies[body].joint
        assert joint is not None
        if joint.coordinate not in found:
            found.append(joint.coordinate)
        body = model.bodies[body].parent
    return tuple(reversed(found))


def rotation_residual(R: list[Scalar], target: list[Scalar]) -> tuple[list[Scalar], Scalar]:
    """Return 2 sin(θ/2)·axis and cos(θ/2) of the rotation R R*ᵀ, where R* is the target.

    R and the target have nine scalars each, row by row.
    """
    E = [[dot(R[3 * i : 3 * i + 3], target[3 * j : 3 * j + 3]) for j in range(3)] for i in range(3)]
    v = [
        (E[2][1] - E[1][2]) * 0.5,
        (E[0][2] - E[2][0]) * 0.5,
        (E[1][0] - E[0][1]) * 0.5,
    ]
    trace = E[0][0] + E[1][1] + E[2][2]
    half_cosine = ring.sqrt(ring.maximum(1.0 + trace, 0.0)) * 0.5
    near = [x / ring.maximum(half_cosine, 0.1) for x in v]
    size = [ring.sqrt(ring.maximum(1.0 + 2.0 * E[i][i] - trace, 0.0)) for i in range(3)]
    far = [ring.where(v[i], size[i], -size[i]) for i in range(3)]
    return [ring.where(trace, a, b) for a, b in zip(near, far, strict=True)], half_cosine


def _compile(model: TreeModel, used: list[int], limits: np.ndarray, box: np.ndarray) -> Solver:
    graph = Graph()
    x = graph.inputs("x", len(used))
    p = graph.inputs("p", 18)
    target, target_R, weights = p[:3], p[3:12], p[12:]
    q: list[Scalar] = [0.0] * model.n
    for i, coordinate in enumerate(used):
        q[coordinate] = x[i]
    where = posture(model, q)
    R, point = tool_pose(model, where)
    shift = [w * (a - b) for w, a, b in zip(weights[:3], point, target, strict=True)]
    turn, half_cosine = rotation_residual(R, target_R)
    turn = [w * e for w, e in zip(weights[3:], turn, strict=True)]
    J = [
        [w * row[coordinate] for coordinate in used]
        for w, row in zip(weights, jacobian_rows(model, where, model.tip, point), strict=True)
    ]
    joints = model.coordinates
    periodic = [
        joints[c].kind == "revolute" and np.isfinite(limits[c, 0]) == np.isfinite(limits[c, 1])
        for c in used
    ]
    return compile_solver(
        "inverse_kinematics",
        graph,
        [*shift, *turn],
        J,
        limits[used, 0],
        limits[used, 1],
        split=3,
        periodic=[bool(x) for x in periodic],
        sample=box[used].T,
        cost=0.5 * dot(shift, shift) + dot(turn, turn) / (1.0 + half_cosine),
    )
