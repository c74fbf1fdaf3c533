"""Joint friction inside the physical model.

    τ_f = B q̇ + T₊ (q̇ > 0)  |  B q̇ − T₋ (q̇ < 0)

The viscous part is the engine's own damping: the same law to the last bit, and implicit in the
`contact` mode, so that a geared drive's large B on a small inertia stays stable.  Dry friction:

* `contact` mode: the engine's friction loss of (T₊ + T₋)/2, which truly sticks, and a constant
  torque −(T₊ − T₋)/2.  Moving, the two add up to T₊ or −T₋; at rest the joint holds every torque
  from −T₋ to T₊.  Near rest (below some 0.01 rad/s) it is stuck, which no formula of q̇ can say.
* `exact` mode: the formula itself, held over a step, as in the robot's analytic dynamics.
* A file's `smooth` speed v₀ rounds the step at rest, q̇/√(q̇² + v₀²): the formula in both modes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from brazo.world.plan import Member


class JointFriction:
    """The part of dry friction that is applied as torques."""

    def __init__(self, members: Sequence[Member], model: Any, *, in_engine: bool) -> None:
        formula, bias = [], []
        for member in members:
            friction = member.friction
            if not any(friction.coulomb):
                continue
            (formula if friction.smooth or not in_engine else bias).append(member)
        self._bias_dofs, self._bias = _dofs(bias, model), np.array([_skew(m) for m in bias])
        self._dofs = _dofs(formula, model)
        self._plus = np.array([m.friction.coulomb[0] for m in formula])
        self._minus = np.array([m.friction.coulomb[1] for m in formula])
        self._smooth2 = np.array([m.friction.smooth**2 for m in formula])

    @property
    def by_formula(self) -> bool:
        """Whether `apply` has anything to do."""
        return len(self._dofs) > 0

    def start(self, data: Any) -> None:
        """Write the torques that do not change."""
        data.qfrc_applied[self._bias_dofs] = self._bias

    def apply(self, data: Any) -> None:
        """Write the torques of this moment."""
        if len(self._dofs):
            rate = data.qvel[self._dofs]
            size = np.where(rate > 0.0, self._plus, self._minus)
            speed = np.sqrt(rate * rate + self._smooth2)
            # At rest without smoothing 0/0 stands for no friction.
            shape = np.divide(rate, speed, out=np.zeros_like(rate), where=speed > 0.0)
            data.qfrc_applied[self._dofs] = -size * shape


def _dofs(members: Sequence[Member], model: Any) -> np.ndarray:
    return np.array([int(model.joint(m.element.name).dofadr[0]) for m in members], dtype=int)


def _skew(member: Member) -> float:
    plus, minus = member.friction.coulomb
    return -(plus - minus) / 2.0
