"""Joint friction in the MuJoCo model.

The friction torque τ_f acts against the motion; the joint receives −τ_f.  With the dry (Coulomb)
friction torques T₊ and T₋ for positive and negative velocity, and the viscous coefficient B,

    τ_f = B q̇ + T₊ (q̇ > 0)  |  B q̇ − T₋ (q̇ < 0)

Viscous friction uses the engine's joint damping, which has the same formula.  In `contact` mode it
is integrated implicitly, so a geared drive with a large B and a small inertia is stable.  Dry
friction is modelled in three ways:

* `contact` mode: the engine's friction loss of (T₊ + T₋)/2, which models sticking, and a constant
  torque −(T₊ − T₋)/2.  In motion these two add up to −T₊ or +T₋.  At rest the joint holds any
  torque from −T₋ to T₊; below about 0.01 rad/s it sticks.
* `exact` mode: the formula, evaluated once per substep, as in the robot's analytic dynamics.  If
  the friction torque would reverse the velocity of a joint in the substep, the joint sticks.  The
  torques that bring these joints to rest are computed for all of them together, by projected
  Gauss–Seidel.
* With a `smooth` velocity v₀ in the robot file: the formula with the sign of q̇ replaced by
  q̇/√(q̇² + v₀²), in both modes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from brazo.dynamics.complementarity import projected_gauss_seidel
from brazo.formats.mjcf.engine import engine
from brazo.world.robot_elements import Member

SWEEPS = 200


class JointFriction:
    """The part of dry friction that is written to the engine's applied forces `qfrc_applied`."""

    def __init__(self, members: Sequence[Member], model: Any, *, in_engine: bool) -> None:
        formula, bias = [], []
        for member in members:
            friction = member.friction
            if not any(friction.coulomb):
                continue
            (formula if friction.smooth or not in_engine else bias).append(member)
        self._bias_dofs, self._bias = _dofs(bias, model), np.array([_skew(m) for m in bias])
        self._dofs = _dofs(formula, model)
        self.by_formula = len(self._dofs) > 0  # whether `apply` has anything to do
        self._plus = np.array([m.friction.coulomb[0] for m in formula])
        self._minus = np.array([m.friction.coulomb[1] for m in formula])
        self._smooth2 = np.array([m.friction.smooth**2 for m in formula])
        self._sharp = np.flatnonzero(self._smooth2 == 0.0)
        self._mujoco = engine()

    def start(self, data: Any) -> None:
        """Write the constant torques −(T₊ − T₋)/2 of `contact` mode to `qfrc_applied`."""
        data.qfrc_applied[self._bias_dofs] = self._bias

    def apply(self, data: Any) -> None:
        """Write −τ_f without the viscous part (see the module docstring) to `qfrc_applied`."""
        rate = data.qvel[self._dofs]
        size = np.where(rate > 0.0, self._plus, self._minus)
        speed = np.sqrt(rate * rate + self._smooth2)
        # At rest and without smoothing, rate / speed is 0/0: no friction acts.
        shape = np.divide(rate, speed, out=np.zeros_like(rate), where=speed > 0.0)
        data.qfrc_applied[self._dofs] = -size * shape

    def hold(self, model: Any, data: Any) -> None:
        """Reduce each friction torque that would reverse the velocity of its joint in this substep.

        The joint then comes to rest (it sticks).
        """
        if not len(self._sharp):
            return
        mujoco, h = self._mujoco, model.opt.timestep
        dofs = self._dofs[self._sharp]
        sliding = -data.qfrc_applied[dofs]
        data.qfrc_applied[dofs] = 0.0
        warm = data.qacc_warmstart.copy()
        mujoco.mj_forward(model, data)
        data.qacc_warmstart[:] = warm
        units, answers = np.zeros((len(dofs), model.nv)), np.zeros((len(dofs), model.nv))
        units[np.arange(len(dofs)), dofs] = 1.0
        mujoco.mj_solveM(model, data, answers, units)
        A = answers[:, dofs]
        a = data.qvel[dofs] / h + data.qacc[dofs]  # velocity after a frictionless step, over h
        f, after = sliding, a - A @ sliding
        resting = (sliding == 0.0) | (after * sliding <= 0.0)
        if resting.any():
            low, high = -self._minus[self._sharp], self._plus[self._sharp]
            f = _complementary(a, A, low, high, sliding, resting)
        data.qfrc_applied[dofs] = -f


def _complementary(
    a: np.ndarray,
    A: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    sliding: np.ndarray,
    sticking: np.ndarray,
) -> np.ndarray:
    """Return the friction torques f in [low, high] that solve a linear complementarity problem.

    a − A f must be 0 where low < f < high, ≥ 0 where f = high and ≤ 0 where f = low.  The first
    attempt assumes that the joints in the mask `sticking` stick and that the others slide with the
    torques `sliding`.  If that is not a solution, projected Gauss–Seidel is used.  The result
    depends only on the current state, so a run from a saved state repeats bit for bit.
    """
    f = sliding.copy()
    rest = sticking
    f[rest] = np.linalg.solve(A[rest][:, rest], (a - A[:, ~rest] @ f[~rest])[rest])
    after = a - A @ f
    at_bound = np.where(f >= high, after >= 0.0, after <= 0.0)
    if np.where(rest, (f > low) & (f < high), at_bound).all():
        return f
    start = np.clip(f, low, high)
    return projected_gauss_seidel(a, A, low, high, start, sweeps=SWEEPS, tolerance=1e-10)


def _dofs(members: Sequence[Member], model: Any) -> np.ndarray:
    return np.array([int(model.joint(m.element.name).dofadr[0]) for m in members], dtype=int)


def _skew(member: Member) -> float:
    plus, minus = member.friction.coulomb
    return -(plus - minus) / 2.0
