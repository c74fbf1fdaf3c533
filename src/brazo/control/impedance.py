"""Cartesian impedance: the tool behaves like a spring and damper fixed to the reference's pose.

    F = K x + D ẋ          x = (Rᵀ(p_r − p), ½ (RᵀR_r − R_rᵀR)^∨)
    τ = Jᵀ F + M(q) r̈ + C(q, q̇) ṙ + G(q) + friction(ṙ) + posture

in the tool's axes, linear then angular: pushed by an outside force f the tool gives way by K⁻¹f and
no model of the contact is needed (Hogan, 1985).  For a small turn the second part of x is the
rotation vector; for a larger one its sine, so that a half turn away is an (unstable) balance.

An arm with more joints than its tool has freedoms can still move inside: `posture` springs pull it
to the reference's joint angles, with what they would do to the tool taken out by the projection

    N = 1 − Jᵀ (J M⁻¹ Jᵀ + ε)⁻¹ J M⁻¹

which is dynamically consistent (Khatib, 1987): no acceleration of the tool comes from it.  ε is
1e-9 of the mean mobility and lets arms with fewer than six freedoms, and singular poses, pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from brazo.codegen.linear import dot, ldl_solve
from brazo.control.bandwidth import joint_inertia, pd_gains
from brazo.control.base import one_of, per_joint
from brazo.control.compiled import CompiledController, Signals, State, Vector
from brazo.control.gains import Gain
from brazo.dynamics.vectors import add
from brazo.kinematics.forward import rotate, rotate_back, subtract
from brazo.robot import Robot

AXES = ("x", "y", "z", "rx", "ry", "rz")
_REGULAR = 1e-9
_SAMPLES = 64


class CartesianImpedance(CompiledController):
    """Stiffness and damping of the tool, in its own axes or (`frame="base"`) in the base's.

    `wn` (rad/s) and `zeta` set what is not given, from the inertia the tool shows on average along
    each axis; an axis the tool cannot move along gets none.  `feedforward=False` leaves gravity.
    """

    uses_model = True
    GAINS = (
        Gain("stiffness", "of the tool", ("N m/rad", "N/m"), entries=AXES),
        Gain("damping", "of the tool", ("N m s/rad", "N s/m"), entries=AXES),
        Gain("posture", "stiffness of the joints where the tool does not feel it",
             ("N m/rad", "N/m")),
        Gain("posture_damping", "damping of the joints where the tool does not feel it",
             ("N m s/rad", "N s/m")),
    )  # fmt: skip
    wn: Any
    zeta: Any
    frame: Literal["tool", "base"]
    feedforward: bool

    def __init__(
        self,
        wn: float = 25.0,
        zeta: float = 1.0,
        *,
        stiffness: Any = None,
        damping: Any = None,
        posture: Any = None,
        posture_damping: Any = None,
        frame: Literal["tool", "base"] = "tool",
        feedforward: bool = True,
    ) -> None:
        super().__init__(
            stiffness=stiffness,
            damping=damping,
            posture=posture,
            posture_damping=posture_damping,
        )
        self.wn, self.zeta, self.feedforward = wn, zeta, bool(feedforward)
        one_of(frame, ("tool", "base"), "CartesianImpedance: frame")
        self.frame = frame
        self._redundant = False

    def default_gains(self, robot: Robot) -> Mapping[str, Any]:
        wn = per_joint(self.wn, robot, "CartesianImpedance: wn")
        zeta = per_joint(self.zeta, robot, "CartesianImpedance: zeta")
        kp, kd = pd_gains(joint_inertia(robot), 0.5 * wn, zeta)
        mass = tool_inertia(robot, self.frame)
        K, D = pd_gains(mass, wn.mean(), zeta.mean())
        return {"stiffness": K, "damping": D, "posture": kp, "posture_damping": kd}

    def prepare(self, robot: Robot) -> None:
        self._redundant = robot.n > robot.mobility
        super().prepare(robot)

    def law(self, x: Signals, gains: Mapping[str, Vector], state: State) -> tuple[Vector, State]:
        model, load = self.equations, x.tables["load"]
        (R, p), J = model.tool(x.q)
        (R_goal, p_goal), J_goal = model.tool(x.ref.q)
        away = [*subtract(p_goal, p), *_turn_between(R, R_goal)]
        rate = [dot(row, x.ref.qd) - dot(own, x.qd) for row, own in zip(J_goal, J, strict=True)]
        if self.frame == "tool":
            away, rate = _turned(rotate_back, R, away), _turned(rotate_back, R, rate)
        K, D = gains["stiffness"], gains["damping"]
        F = [K[i] * away[i] + D[i] * rate[i] for i in range(6)]
        if self.frame == "tool":
            F = _turned(rotate, R, F)
        tau = [dot([row[i] for row in J], F) for i in range(model.n)]
        if self.feedforward:
            tau = add(tau, model.passive(x.q, x.qd, x.ref.qd, x.ref.qdd, load))
            tau = add(tau, model.friction(x.ref.qd))
        else:
            tau = add(tau, model.gravity(x.q, load))
        if self._redundant:
            tau = add(tau, self._posture(x, gains, J))
        return tau, state

    def _posture(self, x: Signals, gains: Mapping[str, Vector], J: list[Vector]) -> Vector:
        """The posture's springs, without what they would do to the tool."""
        e, rate, n = x.error, x.error_rate, len(x.q)
        kp, kd = gains["posture"], gains["posture_damping"]
        pull = [kp[i] * e[i] + kd[i] * rate[i] for i in range(n)]
        M = self.equations.mass_matrix(x.q, x.tables["load"])
        *columns, moved = ldl_solve(M, *J, pull)  # M⁻¹Jᵀ, and M⁻¹ times the pull
        A = [[dot(row, column) for column in columns] for row in J]
        trace: Any = 0.0
        for i in range(6):
            trace = trace + A[i][i]
        for i in range(6):
            A[i][i] = A[i][i] + (_REGULAR / 6.0) * trace
        (force,) = ldl_solve(A, [dot(row, moved) for row in J])
        return [pull[i] - dot([row[i] for row in J], force) for i in range(n)]


def tool_inertia(robot: Robot, frame: Literal["tool", "base"]) -> np.ndarray:
    """The mean over the workspace of the inertia (6,) the tool shows along and about each axis.

    Pushed along one axis and free to give way in all, 1 / (J M⁻¹ Jᵀ)_ii; 0 where it cannot move.
    """
    q = robot.random_q(_SAMPLES, seed=0)
    J = robot.jacobian(q, frame)
    mobility = np.einsum("kij,kjl,kil->ki", J, np.linalg.inv(robot.mass_matrix(q)), J).mean(axis=0)
    free = mobility > 1e-9 * mobility.max()
    return np.divide(1.0, mobility, out=np.zeros(6), where=free)


def _turn_between(R: Vector, R_goal: Vector) -> Vector:
    """½ Σ (axis of R × axis of R_goal): sine of the angle, along the axis, in base axes."""
    total: Vector = [0.0, 0.0, 0.0]
    for k in range(3):
        a, b = R[k::3], R_goal[k::3]
        total = add(
            total,
            [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]],
        )
    return [0.5 * value for value in total]


def _turned(turn: Any, R: Vector, v: Vector) -> Vector:
    """Both halves of a six-vector, turned."""
    return [*turn(R, v[:3]), *turn(R, v[3:])]
