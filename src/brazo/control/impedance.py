"""Cartesian impedance: the tool behaves like a spring and damper attached to the reference pose.

The tool pose is (R, p) at the joint positions q, and (R_r, p_r) at the joint reference r.  K is the
stiffness and D the damping of the tool:

    F = K x + D ẋ          x = (Rᵀ(p_r − p), ½ (RᵀR_r − R_rᵀR)^∨)
    τ = Jᵀ F + M(q) r̈ + C(q, q̇) ṙ + G(q) + friction(ṙ) + posture

x and F are in tool axes, or optionally in base axes, the linear part first.  At rest, an external
force f displaces the tool by K⁻¹f (Hogan, 1985).  The controller needs no contact model.

The angular part of x is the rotation axis times the sine of the rotation angle.  For a small
rotation, this is the rotation vector.  A rotation of 180° is an unstable equilibrium.

For a redundant arm, `posture` is the torque of springs and dampers that pull the joints to r.  This
torque is multiplied by N, so that it does not act on the tool:

    N = 1 − Jᵀ (J M⁻¹ Jᵀ + ε)⁻¹ J M⁻¹

This projection is dynamically consistent: it causes no tool acceleration (Khatib, 1987).  ε is 1e-9
times the mean diagonal element of J M⁻¹ Jᵀ.  It makes the matrix invertible at singular poses and
for arms with fewer than six degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from brazo.codegen.linear import dot, ldl_solve
from brazo.control.bandwidth import joint_inertia, pd_gains
from brazo.control.base import boolean, one_of, per_joint
from brazo.control.compiled import CompiledController, ControlSignals, State, Vector
from brazo.control.gains import Gain
from brazo.dynamics.vectors import add
from brazo.kinematics.forward import rotate, rotate_back, subtract
from brazo.robot import Robot

AXES = ("x", "y", "z", "rx", "ry", "rz")
_REGULAR = 1e-9
_SAMPLES = 64


class CartesianImpedance(CompiledController):
    """Cartesian impedance controller, in tool axes or, with `frame="base"`, in base axes.

    `wn` (rad/s) and `zeta` determine the gains that are not given.  Stiffness and damping follow
    from the mean apparent inertia of the tool along each axis, and are 0 for an axis along which
    the tool cannot move.  The posture gains follow from the mean joint inertias and half of `wn`;
    they are used only for a redundant arm.  With `feedforward=False` only gravity is compensated.
    """

    uses_model = True
    GAINS = (
        Gain("stiffness", "tool stiffness", ("N m/rad", "N/m"), entries=AXES),
        Gain("damping", "tool damping", ("N m s/rad", "N s/m"), entries=AXES),
        Gain("posture", "null-space stiffness of the joints",
             ("N m/rad", "N/m")),
        Gain("posture_damping", "null-space damping of the joints",
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
        self.wn, self.zeta = wn, zeta
        self.feedforward = boolean(feedforward, "CartesianImpedance: feedforward")
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

    def law(
        self, x: ControlSignals, gains: Mapping[str, Vector], state: State
    ) -> tuple[Vector, State]:
        model, load = self.equations, x.tables["load"]
        (R, p), J = model.tool(x.q)
        (R_goal, p_goal), J_goal = model.tool(x.ref.q)
        away = [*subtract(p_goal, p), *_turn_between(R, R_goal)]
        rate = [dot(row, x.ref.qd) - dot(own, x.qd) for row, own in zip(J_goal, J, strict=True)]
        if self.frame == "tool":
            away, rate = _rotated(rotate_back, R, away), _rotated(rotate_back, R, rate)
        K, D = gains["stiffness"], gains["damping"]
        F = [K[i] * away[i] + D[i] * rate[i] for i in range(6)]
        if self.frame == "tool":
            F = _rotated(rotate, R, F)
        tau = [dot([row[i] for row in J], F) for i in range(model.n)]
        if self.feedforward:
            tau = add(tau, model.passive(x.q, x.qd, x.ref.qd, x.ref.qdd, load))
            tau = add(tau, model.friction(x.ref.qd))
        else:
            tau = add(tau, model.gravity(x.q, load))
        if self._redundant:
            tau = add(tau, self._posture(x, gains, J))
        return tau, state

    def _posture(self, x: ControlSignals, gains: Mapping[str, Vector], J: list[Vector]) -> Vector:
        """Torque `posture` (n) of the module docstring, projected by N."""
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
    """Apparent inertia (6,) of the tool along (kg) and about (kg m²) each axis of `frame`.

    The inertia is the inverse of the mean of (J M⁻¹ Jᵀ)_ii over 64 random joint positions.  It is 0
    for an axis along or about which the tool cannot move.
    """
    q = robot.random_q(_SAMPLES, seed=0)
    J = robot.jacobian(q, frame)
    mobility = np.einsum("kij,kjl,kil->ki", J, np.linalg.inv(robot.mass_matrix(q)), J).mean(axis=0)
    free = mobility > 1e-9 * mobility.max()
    return np.divide(1.0, mobility, out=np.zeros(6), where=free)


def _turn_between(R: Vector, R_goal: Vector) -> Vector:
    """Rotation axis from R to R_goal times the sine of the rotation angle, in base axes."""
    total: Vector = [0.0, 0.0, 0.0]
    for k in range(3):
        a, b = R[k::3], R_goal[k::3]
        total = add(
            total,
            [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]],
        )
    return [0.5 * value for value in total]


def _rotated(turn: Any, R: Vector, v: Vector) -> Vector:
    """Rotate both halves of a six-vector; `turn(R, v)` rotates a three-vector by R or Rᵀ."""
    return [*turn(R, v[:3]), *turn(R, v[3:])]
