"""Coulomb friction of joints as a sequence of smooth motions, for an adaptive integrator.

A joint with dry friction slips forward (τ_f = T₊), slips backward (−T₋) or sticks.  While it sticks
q̈ = 0 and friction is the holding torque, from −T₋ to T₊.  Between two events, a speed that
reaches zero or a holding torque that reaches its bound, the motion is smooth.

At an event the friction of the joints at rest, between −T₋ and T₊, follows from a linear
complementarity problem (`brazo.dynamics.complementarity`).
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
    """T₊ and T₋ (n,) of each coordinate; zero for joints with a `smooth` speed (no events)."""
    plus, minus = np.zeros(model.n), np.zeros(model.n)
    for i, k, friction in model.friction_terms:
        forward, backward = (0.0, 0.0) if friction.smooth else friction.coulomb
        plus[i] += abs(k) * (forward if k > 0.0 else backward)
        minus[i] += abs(k) * (backward if k > 0.0 else forward)
    return plus, minus


class StickSlip:
    """State of dry friction: `modes` (n,) is 1 or −1 for slipping joints, 0 for sticking ones."""

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
        """q̈ in the current modes, and the holding torques (n,) of sticking joints."""
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
        """Choose the modes: by the sign of the speed, for joints at rest by complementarity."""
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
        """Return when a mode ends between t0 and t1 (s) and the joint, or None if none ends.

        `state(t)` returns (q, q̇) at a time in between.
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
        """Return the state after an event: speeds that reached zero are zero, and modes are new."""
        q, qd = np.split(x.copy(), 2)
        qd[self._dry & (self.modes * qd <= 0.0)] = 0.0
        self.settle(t, q, qd)
        return np.concatenate([q, qd])

    def _ended(self, t: float, x: np.ndarray) -> int | None:
        """Index of a joint whose mode has ended at this state; None if there is none."""
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
