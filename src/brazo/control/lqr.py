"""Linear-quadratic regulator about a pose: optimal feedback for small deviations.

The torque τ₀ = G(q₀) holds the robot at rest at the pose q₀.  Near this pose the robot is
ẋ = A x + B u with x = (q − q₀, q̇), u = τ − τ₀ and

    A = [0 1; −M⁻¹ ∂G/∂q  −M⁻¹ F]        B = [0; M⁻¹]

F is the slope of friction at rest; a discontinuous Coulomb friction has no slope and is left out.
Coriolis terms are quadratic in q̇ and vanish.  The gain that minimises ∫ xᵀQx + uᵀRu dt is
K = R⁻¹BᵀP, where P is the solution of the algebraic Riccati equation.  The control law is

    τ = τ_r − K (q − r, q̇ − ṙ)

where r is the reference position and τ_r the feed-forward torque of the reference, or τ₀ without
feed-forward.  Q and R are diagonal: Q has a position and a velocity weight for each joint, R a
torque weight.  K is recomputed when a weight or the load changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.codegen.linear import dot
from brazo.control.bandwidth import joint_inertia
from brazo.control.base import one_of, per_joint
from brazo.control.compiled import CompiledController, ControlSignals, State, Vector
from brazo.control.equations import ControlEquations
from brazo.control.feedforward import FEEDFORWARDS, Feedforward, feedforward
from brazo.control.gains import Gain
from brazo.dynamics.reading import read_vector
from brazo.errors import BrazoError
from brazo.model.description import Friction
from brazo.robot import Robot

_DEVIATION = 0.1  # rad or m, max acceptable deviation (Bryson's rule)
MAX_JOINTS = 64  # the gain has 2n² entries: 100 joints take 10 s and 500 MiB to compile
_STEP = 1e-3  # finite difference; Richardson extrapolation has an error of h⁴


@dataclass(frozen=True, slots=True, eq=False)
class Linearisation:
    """Linear model ẋ = A x + B u of a robot at rest at the pose `q`, held by the torque `tau`."""

    q: np.ndarray
    tau: np.ndarray
    A: np.ndarray  # (2n, 2n)
    B: np.ndarray  # (2n, n)


class LQR(CompiledController):
    """LQR about `pose`: the name of a pose, joint positions (n,), or None for the first pose.

    Weights that are not given are chosen such that a single joint has the natural frequency `wn`
    (rad/s) and the damping ratio `zeta`.  An LQR cannot have a damping ratio below 0.71.
    """

    uses_model = True
    GAINS = (
        Gain("q_weight", "cost of deviation", ("1/rad²", "1/m²")),
        Gain("qd_weight", "cost of speed", ("s²/rad²", "s²/m²")),
        Gain("tau_weight", "cost of torque", ("1/(N m)²", "1/N²"), zero=False),
    )
    pose: Any
    wn: Any
    zeta: Any
    feedforward: str

    def __init__(
        self,
        pose: Any = None,
        wn: Any = 25.0,
        zeta: Any = 1.0,
        *,
        q_weight: Any = None,
        qd_weight: Any = None,
        tau_weight: Any = None,
        feedforward: Feedforward = "full",
    ) -> None:
        super().__init__(q_weight=q_weight, qd_weight=qd_weight, tau_weight=tau_weight)
        self.pose, self.wn, self.zeta = pose, wn, zeta
        self.feedforward = one_of(feedforward, FEEDFORWARDS, "LQR: feedforward")
        self._about = np.empty(0)

    def default_gains(self, robot: Robot) -> Mapping[str, Any]:
        wn, zeta = per_joint(self.wn, robot, "LQR: wn"), per_joint(self.zeta, robot, "LQR: zeta")
        if (zeta < np.sqrt(0.5)).any():
            raise BrazoError(f"LQR: zeta = {self.zeta}; it must be at least 0.7071")
        # A single joint m q̈ = u gets kp = √(qw/rw), kd² = vw/rw + 2 m kp: here m ω² and 2ζ m ω.
        unit = 1.0 / (joint_inertia(robot) * wn**2 * _DEVIATION) ** 2
        return {
            "q_weight": np.full(robot.n, _DEVIATION**-2),
            "qd_weight": (4.0 * zeta**2 - 2.0) / (wn * _DEVIATION) ** 2,
            "tau_weight": unit,
        }

    def prepare(self, robot: Robot) -> None:
        if robot.n > MAX_JOINTS:
            raise BrazoError(
                f"LQR supports at most {MAX_JOINTS} joints, but {robot.name} has {robot.n}: use "
                "ComputedTorque"
            )
        self._about = read_pose(self.pose, robot, "LQR: pose")
        super().prepare(robot)

    def linearisation(self) -> Linearisation:
        """Linear model of the robot and its load, from which the gain is computed."""
        return linearise(self.robot, self.equations, self._about, self._tables["load"])

    def tables(self) -> Mapping[str, np.ndarray]:
        from scipy.linalg import LinAlgError, solve_continuous_are

        model = self.linearisation()
        Q = np.diag(np.concatenate([self.gains["q_weight"], self.gains["qd_weight"]]))
        R = self.gains["tau_weight"]
        try:
            with np.errstate(all="ignore"):
                P = solve_continuous_are(model.A, model.B, Q, np.diag(R))
        except (LinAlgError, ValueError):
            raise self._no_solution() from None
        K = (model.B.T @ P) / R[:, None]
        poles = np.linalg.eigvals(model.A - model.B @ K)
        if not poles.real.max() < -1e-9 * max(np.abs(poles).max(), 1.0):
            raise self._no_solution()
        return {"K": K, "tau": model.tau}

    def _no_solution(self) -> BrazoError:
        weights = {name: self.gains[name] for name in ("q_weight", "qd_weight", "tau_weight")}
        free = [
            name
            for name, weight in zip(self.robot.joint_names, weights["q_weight"], strict=True)
            if weight == 0.0
        ]
        if free:
            why = f"q_weight of {', '.join(free)} is 0; give every joint a q_weight above 0"
        else:
            ranges = ", ".join(f"{k} {v.min():.3g} to {v.max():.3g}" for k, v in weights.items())
            why = f"they differ too much in size: {ranges}; use weights of similar size"
        return BrazoError(
            f"LQR: the Riccati equation has no stable solution for these weights: {why}"
        )

    def feedback(self) -> np.ndarray:
        """Current feedback gain K (n, 2n)."""
        return self._tables["K"].reshape(self.robot.n, -1).copy()

    def law(
        self, x: ControlSignals, gains: Mapping[str, Vector], state: State
    ) -> tuple[Vector, State]:
        n, K = len(x.q), x.tables["K"]
        deviation = [*x.error, *x.error_rate]
        ahead = x.tables["tau"]
        if self.feedforward != "none":
            ahead = feedforward(self.feedforward, self.equations, x)
        rows = [K[2 * n * i : 2 * n * (i + 1)] for i in range(n)]
        return [ahead[i] + dot(row, deviation) for i, row in enumerate(rows)], state


def linearise(
    robot: Robot, equations: ControlEquations, pose: np.ndarray, load: np.ndarray
) -> Linearisation:
    """Linearise a robot about a pose at rest; ∂G/∂q is computed by Richardson extrapolation."""
    n, held = robot.n, load.tolist()
    M = np.array(equations.mass_matrix(pose.tolist(), held))

    def gravity(q: np.ndarray) -> np.ndarray:
        return np.array(equations.gravity(q.tolist(), held))

    slope = np.zeros((n, n))
    for k, step in enumerate(_STEP * np.eye(n)):
        near = (gravity(pose + step) - gravity(pose - step)) / (2.0 * _STEP)
        far = (gravity(pose + 2.0 * step) - gravity(pose - 2.0 * step)) / (4.0 * _STEP)
        slope[:, k] = (4.0 * near - far) / 3.0
    A, B = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, n))
    A[:n, n:] = np.eye(n)
    A[n:, :n] = -np.linalg.solve(M, slope)
    A[n:, n:] = -np.linalg.solve(M, np.diag(_friction_slope(robot)))
    B[n:] = np.linalg.inv(M)
    return Linearisation(pose, gravity(pose), A, B)


def read_pose(pose: Any, robot: Robot, what: str) -> np.ndarray:
    """Joint positions (n,) of a pose: a name, an array (n,), or None for the robot's first pose.

    `what` names the argument in error messages.
    """
    if pose is None:
        return np.array(next(iter(robot.poses.values()), np.zeros(robot.n)), dtype=float)
    if isinstance(pose, str):
        if pose not in robot.poses:
            raise BrazoError(
                f"{what} '{pose}' does not exist; poses: {', '.join(robot.poses) or 'none'}"
            )
        return np.array(robot.poses[pose], dtype=float)
    return read_vector(pose, robot, what)


def _friction_slope(robot: Robot) -> np.ndarray:
    slope = np.zeros(robot.n)
    for i, multiplier, friction in robot.model.friction_terms:
        slope[i] += multiplier**2 * _slope(friction)
    return slope


def _slope(f: Friction) -> float:
    # Direction-dependent Coulomb friction has two slopes at rest: use their mean.
    return f.viscous + (0.5 * sum(f.coulomb) / f.smooth if f.smooth else 0.0)
