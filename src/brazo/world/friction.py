"""Joint friction in the physical model.

    τ_f = B q̇ + T₊ (q̇ > 0)  |  B q̇ − T₋ (q̇ < 0)

Viscous friction uses the engine's joint damping.  The formula is the same to the last bit, and
`contact` mode integrates it implicitly, so that the large B of a geared drive on a small inertia
stays stable.  Dry (Coulomb) friction:

* `contact` mode: the engine's friction loss of (T₊ + T₋)/2, which models sticking, and a constant
  torque −(T₊ − T₋)/2.  In motion the two add up to T₊ or −T₋; at rest the joint holds any torque
  from −T₋ to T₊.  Near rest (below about 0.01 rad/s) the joint sticks, which no function of q̇
  alone can express.
* `exact` mode: the formula, held constant over a step, as in the robot's analytic dynamics.  Where
  it would reverse a velocity within the step, the friction that brings the joint to rest is
  computed together with all other joints by projected Gauss–Seidel: the joint sticks.
* If a file gives a `smooth` velocity v₀, the step at rest is smoothed, q̇/√(q̇² + v₀²), and the
  formula is used in both modes.
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
    """The part of dry friction that is applied as generalised forces."""

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
        """Write the constant torques."""
        data.qfrc_applied[self._bias_dofs] = self._bias

    def apply(self, data: Any) -> None:
        """Write the torques for the current velocities."""
        rate = data.qvel[self._dofs]
        size = np.where(rate > 0.0, self._plus, self._minus)
        speed = np.sqrt(rate * rate + self._smooth2)
        # At rest and without smoothing, rate / speed is 0/0: no friction acts.
        shape = np.divide(rate, speed, out=np.zeros_like(rate), where=speed > 0.0)
        data.qfrc_applied[self._dofs] = -size * shape

    def hold(self, model: Any, data: Any) -> None:
        """Make joints stick whose velocity the torques of `apply` would reverse within the step."""
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
    free: np.ndarray,
) -> np.ndarray:
    """Return f in [low, high] with a − A f = 0, > 0 only where f = high, < 0 only where f = low.

    In most cases the joints in `free` stick and the others slide; this guess is tried first.  It
    depends on the current state only, so that a run repeats bit for bit from any state.
    """
    f = sliding.copy()
    f[free] = np.linalg.solve(A[free][:, free], (a - A[:, ~free] @ f[~free])[free])
    after = a - A @ f
    at_bound = np.where(f >= high, after >= 0.0, after <= 0.0)
    if np.where(free, (f > low) & (f < high), at_bound).all():
        return f
    start = np.clip(f, low, high)
    return projected_gauss_seidel(a, A, low, high, start, sweeps=SWEEPS, tolerance=1e-10)


def _dofs(members: Sequence[Member], model: Any) -> np.ndarray:
    return np.array([int(model.joint(m.element.name).dofadr[0]) for m in members], dtype=int)


def _skew(member: Member) -> float:
    plus, minus = member.friction.coulomb
    return -(plus - minus) / 2.0
