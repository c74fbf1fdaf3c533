"""Derivatives of the dynamics, and the linear model of a robot.

About a state (q₀, q̇₀) and torques τ₀, with x = (q − q₀, q̇ − q̇₀) and u = τ − τ₀, the model is

    ẋ = A x + B u + (q̇₀, q̈₀)        A = [0 1; ∂q̈/∂q ∂q̈/∂q̇]        B = [0; ∂q̈/∂τ]

At an equilibrium (q̇₀ = 0, τ₀ holds the robot) the constant term is zero.  Sharp Coulomb friction
has zero slope except for its step at q̇ = 0, which is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.errors import BrazoError

__all__ = [
    "ForwardDynamicsDerivatives",
    "InverseDynamicsDerivatives",
    "LinearModel",
    "linear_model",
    "solved_derivatives",
]


class Derivatives:
    """Three matrices of derivatives (..., n, n); iteration yields the matrices.

    The attribute `array` (3, ..., n, n) contains all three.
    """

    __slots__ = ("array",)
    array: np.ndarray
    """(3, ..., n, n)"""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self.array)

    def __len__(self) -> int:
        return 3

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.array.shape}>"

    def __reduce__(self) -> tuple:
        return type(self), (self.array,)

    @property
    def dq(self) -> np.ndarray:
        """Derivatives (..., n, n) with respect to the positions, in SI units."""
        return self.array[0]

    @property
    def dqd(self) -> np.ndarray:
        """Derivatives (..., n, n) with respect to the velocities, in SI units."""
        return self.array[1]


class InverseDynamicsDerivatives(Derivatives):
    """Derivatives of the joint torques: unpacks to `dq, dqd, dqdd`; row i for joint i."""

    __slots__ = ()

    @property
    def dqdd(self) -> np.ndarray:
        """Derivatives (..., n, n) with respect to the accelerations (SI): the mass matrix."""
        return self.array[2]


class ForwardDynamicsDerivatives(Derivatives):
    """Derivatives of the joint accelerations: unpacks to `dq, dqd, dtau`; row i for joint i."""

    __slots__ = ()

    @property
    def dtau(self) -> np.ndarray:
        """Derivatives (..., n, n) with respect to the torques (SI): the inverse mass matrix."""
        return self.array[2]


def solved_derivatives(dynamics: Any) -> Callable[..., ForwardDynamicsDerivatives]:
    """Return a function that computes the derivatives of forward dynamics.

    The function solves dense linear systems with the derivatives of inverse dynamics.  It is used
    for robots with too many joints for unrolled code.
    """

    def call(
        q: Any, qd: Any, tau: Any, out: Any = None, threads: int | None = None
    ) -> ForwardDynamicsDerivatives:
        qdd = dynamics.forward_dynamics(q, qd, tau, threads=threads)
        slopes = dynamics.kernels.inverse_dynamics_derivatives(q, qd, qdd, out=out, threads=threads)
        array, n = slopes.array, qdd.shape[-1]
        unit = np.broadcast_to(np.eye(n), slopes.dqdd.shape)
        right = np.concatenate([-slopes.dq, -slopes.dqd, unit], axis=-1)
        solved = np.linalg.solve(slopes.dqdd, right)
        for k in range(3):
            array[k] = solved[..., k * n : (k + 1) * n]
        return ForwardDynamicsDerivatives(array)

    return call


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """Linear model ẋ = A x + B u + (qd, qdd) about an operating point; unpacks to `A, B`.

    x and u are the differences from the state and torques of the operating point.
    """

    A: np.ndarray
    """(..., 2n, 2n) system matrix for the state (q, qd)."""
    B: np.ndarray
    """(..., 2n, n) input matrix for the torques."""
    q: np.ndarray
    """(..., n) position of the operating point, rad and m."""
    qd: np.ndarray
    """(..., n) velocity of the operating point."""
    tau: np.ndarray
    """(..., n) torques at the operating point, N m and N."""
    qdd: np.ndarray
    """(..., n) acceleration at the operating point; zero at an equilibrium."""
    joint_names: tuple[str, ...]
    """Names of the joints, in the order of q."""

    def __iter__(self) -> Iterator[np.ndarray]:
        yield self.A
        yield self.B

    def __repr__(self) -> str:
        n = len(self.joint_names)
        lead = "" if self.A.ndim == 2 else f" batch {self.A.shape[:-2]},"
        return f"<LinearModel:{lead} {2 * n} states, {n} inputs>"

    def to_control(self) -> Any:
        """Return the model as a `StateSpace` of python-control, whose outputs are the state.

        The constant term (qd, qdd) is left out.  Requires python-control, which
        `pip install "brazo[control]"` installs.
        """
        if self.A.ndim != 2:
            raise BrazoError(
                f"to_control: the model is a batch of shape {self.A.shape[:-2]}; linearize one "
                "operating point, q of shape (n,)"
            )
        try:
            import control
        except ImportError:
            raise BrazoError(
                'to_control needs python-control: pip install "brazo[control]"'
            ) from None
        states = [*self.joint_names, *(f"{name} rate" for name in self.joint_names)]
        size = len(states)
        return control.ss(
            self.A,
            self.B,
            np.eye(size),
            np.zeros((size, size // 2)),
            states=states,
            outputs=states,
            inputs=[f"{name} torque" for name in self.joint_names],
        )


def linear_model(robot: Any, q: Any, qd: Any = 0.0, tau: Any = None) -> LinearModel:
    """Linearise the forward dynamics of a robot; see `Robot.linearize`."""
    n = robot.n
    if np.ndim(qd) == 0 and isinstance(qd, (int, float)):
        qd = np.full(n, float(qd))
    if tau is None:
        tau = robot.inverse_dynamics(q, qd, np.zeros(n))
    slopes = robot.forward_dynamics_derivatives(q, qd, tau)
    qdd = robot.forward_dynamics(q, qd, tau)
    lead = qdd.shape[:-1]
    A, B = np.zeros((*lead, 2 * n, 2 * n)), np.zeros((*lead, 2 * n, n))
    A[..., :n, n:] = np.eye(n)
    A[..., n:, :n], A[..., n:, n:], B[..., n:, :] = slopes
    q, qd, tau = (np.array(np.broadcast_to(x, (*lead, n))) for x in (q, qd, tau))
    return LinearModel(A, B, q, qd, tau, qdd, robot.joint_names)
