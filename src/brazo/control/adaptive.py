"""Slotine and Li's adaptive law: follow the reference while learning the masses.

    q̇_r = ṙ + Λ e      q̈_r = r̈ + Λ ė      s = q̇ − q̇_r = −(ė + Λ e)

    τ = Y(q, q̇, q̇_r, q̈_r) π̂ − K s + friction(q̇)        π̂̇ = −Γ Yᵀ s

π are the moments of mass of the links (`brazo.control.regressor`).  Because Ṁ − 2C is skew,

    V = ½ sᵀ M s + ½ (π̂ − π)ᵀ Γ⁻¹ (π̂ − π)        V̇ = −sᵀ K s ≤ 0

so s → 0 whatever the masses are, and the estimates stay bounded; they become the true ones only as
far as the motion shows them (Slotine and Li, *On the adaptive control of robot manipulators*,
1987).

Γ is diagonal, rate · K · (size / weight)², with size a typical m, m l or m l² of what hangs on the
joint: so `rate` (1/s) is how fast a wrong weight is learnt, for a light wrist as for a heavy
shoulder.  `bound` keeps each estimate within that many sizes of the file's value; if the truth lies
there too, that never raises V.  Joints whose drive is at its limit teach nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from brazo.codegen import maximum, minimum
from brazo.control.bandwidth import joint_inertia
from brazo.control.base import per_joint
from brazo.control.compiled import CompiledController, Signals, State, Vector
from brazo.control.gains import Gain
from brazo.control.regressor import Regressor, regressor_of
from brazo.dynamics.vectors import add
from brazo.errors import BrazoError
from brazo.robot import Robot


class Adaptive(CompiledController):
    """Adaptive control; `known` is the share of the file's masses the estimates begin with.

    A load is learnt like everything else, so `payload` changes nothing.  `bound` limits how far the
    estimates go from the file's values, in units of what hangs on a joint; None leaves them free.
    """

    uses_model = True
    GAINS = (
        Gain("slope", "rate of the error once s = 0, Λ", "1/s", zero=False),
        Gain("kd", "damping of s, K", ("N m s/rad", "N s/m"), zero=False),
        Gain("rate", "speed of learning", "1/s"),
    )
    wn: Any
    known: float
    bound: float | None

    def __init__(
        self,
        wn: Any = 25.0,
        *,
        known: float = 1.0,
        bound: float | None = None,
        slope: Any = None,
        kd: Any = None,
        rate: Any = 5.0,
    ) -> None:
        super().__init__(slope=slope, kd=kd, rate=rate)
        self.wn = wn
        if not (isinstance(known, (int, float)) and math.isfinite(known) and known >= 0.0):
            raise BrazoError(f"Adaptive: known = {known!r}; it must be finite and at least 0")
        if bound is not None and not (math.isfinite(bound) and bound > 0.0):
            raise BrazoError(f"Adaptive: bound = {bound!r}; it must be greater than 0, or None")
        self.known, self.bound = float(known), bound
        self._regressor: Regressor | None = None

    @property
    def regressor(self) -> Regressor:
        """Names, true values and scales of the parameters, and the linear form."""
        if self._regressor is None:
            self._regressor = regressor_of(self.equations)
        return self._regressor

    def default_gains(self, robot: Robot) -> Mapping[str, Any]:
        wn = per_joint(self.wn, robot, "Adaptive: wn")
        return {"slope": wn, "kd": joint_inertia(robot) * wn}

    def prepare(self, robot: Robot) -> None:
        self._regressor = None
        super().prepare(robot)

    def payload(self, mass: float, com=(0.0, 0.0, 0.0), inertia=(0.0, 0.0, 0.0)) -> None:
        """Nothing to do: the estimates find the load."""

    def initial_state(self, q: np.ndarray, qd: np.ndarray) -> Mapping[str, np.ndarray]:
        return {"estimate": self.known * self.regressor.values}

    def adaptation(self) -> np.ndarray:
        """The diagonal of Γ (p,), with the gains of now."""
        joint = list(self.regressor.coordinates)
        return (self.gains["rate"] * self.gains["kd"])[joint] * self._scale()

    def _scale(self) -> np.ndarray:
        return (self.regressor.size / self.regressor.weight) ** 2

    def law(self, x: Signals, gains: Mapping[str, Vector], state: State) -> tuple[Vector, State]:
        n = len(x.q)
        slope, kd, estimate = gains["slope"], gains["kd"], state["estimate"]
        e, rate = x.error, x.error_rate
        v = [x.ref.qd[i] + slope[i] * e[i] for i in range(n)]
        w = [x.ref.qdd[i] + slope[i] * rate[i] for i in range(n)]
        s = [x.qd[i] - v[i] for i in range(n)]
        form = self.regressor.form(x.q, x.qd, v, w)
        u = add(form.torque(estimate), self.equations.friction(x.qd))
        u = [u[i] - kd[i] * s[i] for i in range(n)]
        seen = x.unless_saturated(u, s, [0.0] * n)
        return u, {"estimate": self._learnt(estimate, form.gradient(seen), gains, x.dt)}

    def _learnt(
        self, estimate: Vector, gradient: Vector, gains: Mapping[str, Vector], dt: Any
    ) -> Vector:
        known, scale = self.regressor, self._scale().tolist()
        result = []
        for k, joint in enumerate(known.coordinates):
            gamma = gains["rate"][joint] * gains["kd"][joint] * scale[k]
            value = estimate[k] - dt * (gamma * gradient[k])
            if self.bound is not None:
                centre, width = float(known.values[k]), self.bound * float(known.size[k])
                value = maximum(minimum(value, centre + width), centre - width)
            result.append(value)
        return result
