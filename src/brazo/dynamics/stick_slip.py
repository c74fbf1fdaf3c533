"""Coulomb friction of joints as a sequence of smooth motions, for an adaptive integrator.

A joint has the Coulomb torques T₊ for forward and T₋ for backward motion.  With dry friction, it is
in one of three modes: it slips forward (friction τ_f = T₊), slips backward (τ_f = −T₋) or sticks.
While it sticks, q̈ = 0, and the friction is a holding torque between −T₋ and T₊.  A mode ends
with an event: the speed reaches zero, or the holding torque reaches its bound.  The motion between
two events is smooth.

At an event, the friction of the joints at rest follows from a linear complementarity problem
(`brazo.dynamics.complementarity`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from brazo.dynamics.complementarity import projected_gauss_seidel
from brazo.model.description import Model

__all__ = ["StickSlip", "coulomb_bounds"]

SWEEPS = 2000
PARTS = 4  # points per integrator step at which events are searched
BISECTIONS = 60
_SPEED_SLACK = 1e-14  # rad/s, m/s: rounding of a speed that starts at zero
_TORQUE_SLACK = 1e-9  # of T₊ + T₋


def coulomb_bounds(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Coulomb torques T₊ and T₋ (n,) of each joint; zero for joints with smooth friction."""
    plus, minus = np.zeros(model.n), np.zeros(model.n)
    for i, k, friction in model.friction_terms:
        forward, backward = (0.0, 0.0) if friction.smooth else friction.coulomb
        plus[i] += abs(k) * (forward if k > 0.0 else backward)
        minus[i] += abs(k) * (backward if k > 0.0 else forward)
    return plus, minus


class StickSlip:
    """Friction modes of the joints: `modes` (n,) is 1 or −1 where a joint slips, 0 where it sticks.

    The mode of a joint without dry friction is 0 and has no effect.
    """

    def __init__(self, arm: Any, torque: Callable[..., np.ndarray]) -> None:
        self._dynamics, self._torque = arm.dynamics, torque
        self.plus, self.minus = coulomb_bounds(arm.model)
        self._dry = (self.plus > 0.0) | (self.minus > 0.0)
        self.modes = np.zeros(arm.n)

    @property
    def needed(self) -> bool:
        """Whether any joint has dry friction."""
        return bool(self._dry.any())

    def acceleration(
        self, t: float, q: np.ndarray, qd: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return q̈ (n,) in the current modes, and the holding torques (n,) of sticking joints."""
        # The compiled functions subtract the friction of sgn(q̇); the modes replace it.
        tau = self._torque(t, q, qd) + self._friction(qd) - self._friction(self.modes)
        stuck = self._dry & (self.modes == 0.0)
        if not stuck.any():
            return self._dynamics.forward_dynamics(q, qd, tau), np.zeros(len(q))
        rest = tau - self._dynamics.inverse_dynamics(q, qd, np.zeros(len(q)))
        M, free = self._dynamics.mass_matrix(q), ~stuck
        qdd, holding = np.zeros(len(q)), np.zeros(len(q))
        if free.any():
            qdd[free] = np.linalg.solve(M[free][:, free], rest[free])
        holding[stuck] = (rest - M @ qdd)[stuck]
        return qdd, holding

    def settle(self, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        """Choose the mode of each joint.

        A moving joint slips in the direction of its speed.  The modes of joints at rest are the
        solution of a linear complementarity problem.
        """
        self.modes = np.where(self._dry, np.sign(qd), 0.0)
        resting = np.flatnonzero(self._dry & (qd == 0.0))
        if not len(resting):
            return
        tau = self._torque(t, q, qd) + self._friction(qd) - self._friction(self.modes)
        rest = tau - self._dynamics.inverse_dynamics(q, qd, np.zeros(len(q)))
        inverse = np.linalg.inv(self._dynamics.mass_matrix(q))
        a, A = (inverse @ rest)[resting], inverse[resting][:, resting]
        low, high = -self.minus[resting], self.plus[resting]
        start = np.zeros(len(resting))
        f = projected_gauss_seidel(a, A, low, high, start, sweeps=SWEEPS, tolerance=1e-14)
        self.modes[resting] = np.where(f >= high, 1.0, np.where(f <= low, -1.0, 0.0))

    def event(
        self, state: Callable[[float], np.ndarray], t0: float, t1: float
    ) -> tuple[float, int] | None:
        """Return the time (s) and joint of the first event between t0 and t1 (s), or None.

        `state(t)` returns (q, q̇), concatenated, at a time between t0 and t1.
        """
        before = t0
        for k in range(1, PARTS + 1):
            now = t0 + (t1 - t0) * k / PARTS
            if self._ended(now, state(now)) is not None:
                break
            before = now
        else:
            return None
        for _ in range(BISECTIONS):
            middle = 0.5 * (before + now)
            if not before < middle < now:
                break
            if self._ended(middle, state(middle)) is None:
                before = middle
            else:
                now = middle
        joint = self._ended(now, state(now))
        assert joint is not None
        return now, joint

    def switch(self, t: float, x: np.ndarray) -> np.ndarray:
        """Choose the modes after an event and return the new state.

        The speeds of joints that stopped are set to zero; other values are not changed.
        """
        q, qd = np.split(x.copy(), 2)
        qd[self._dry & (self.modes * qd <= 0.0)] = 0.0
        self.settle(t, q, qd)
        return np.concatenate([q, qd])

    def _ended(self, t: float, x: np.ndarray) -> int | None:
        """Index of a joint whose mode has ended at this state; None if all modes continue."""
        q, qd = np.split(x, 2)
        margins = self.modes * qd + _SPEED_SLACK
        stuck = self._dry & (self.modes == 0.0)
        if stuck.any():
            _, holding = self.acceleration(t, q, qd)
            slack = _TORQUE_SLACK * (self.plus + self.minus)
            inside = np.minimum(self.plus - holding, holding + self.minus) + slack
            margins = np.where(stuck, inside, margins)
        worst = int(np.argmin(np.where(self._dry, margins, np.inf)))
        return worst if self._dry[worst] and margins[worst] < 0.0 else None

    def _friction(self, direction: np.ndarray) -> np.ndarray:
        return np.where(direction > 0.0, self.plus, np.where(direction < 0.0, -self.minus, 0.0))
