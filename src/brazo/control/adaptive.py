"""Adaptive control of Slotine and Li: track a reference and estimate the inertial parameters.

The reference is r, and e = r − q is the error.  The regressor Y and the inertial parameters π of
the links are described in `brazo.control.regressor`; π̂ are the estimates.  The gains are Λ
(`slope`), K (`kd`) and Γ, described below:

    q̇_r = ṙ + Λ e      q̈_r = r̈ + Λ ė      s = q̇ − q̇_r = −(ė + Λ e)

    τ = Y(q, q̇, q̇_r, q̈_r) π̂ − K s + friction(q̇)        π̂̇ = −Γ Yᵀ s

Ṁ − 2C is skew-symmetric, hence

    V = ½ sᵀ M s + ½ (π̂ − π)ᵀ Γ⁻¹ (π̂ − π)        V̇ = −sᵀ K s ≤ 0

so s → 0 for any masses, and the estimates stay bounded.  The estimates converge to the true values
only if the motion is sufficiently exciting (Slotine and Li, *On the adaptive control of robot
manipulators*, 1987).

Γ is diagonal: rate · K · (size / weight)².  `size` is a typical m, m l or m l² of the links carried
by the joint, and `weight` is the torque that holds these links.  With this scaling, `rate` (1/s) is
the convergence rate of all joints, from a light wrist to a heavy shoulder.  `bound` limits the
deviation of each estimate from the value in the robot file, in units of `size`.  If the true value
is within the bound, the limit never increases V.  Joints with a saturated drive do not contribute
to the adaptation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from brazo.checks import positive
from brazo.codegen import maximum, minimum
from brazo.control.bandwidth import joint_inertia
from brazo.control.base import per_joint
from brazo.control.compiled import CompiledController, ControlSignals, State, Vector
from brazo.control.gains import Gain
from brazo.control.regressor import Regressor
from brazo.dynamics.vectors import add
from brazo.robot import Robot


class Adaptive(CompiledController):
    """Adaptive controller of Slotine and Li, with estimates of the inertial parameters.

    `wn` (rad/s) determines `slope` and `kd` if they are not given.  The initial estimates are the
    values in the robot file times the factor `known`.  The load is estimated with the links, so the
    method `payload` has no effect.  `bound` limits the deviation of each estimate from the value in
    the robot file, in units of the typical size of the parameter.  None means no limit.
    """

    uses_model = True
    GAINS = (
        Gain("slope", "decay rate Λ of the tracking error", "1/s", zero=False),
        Gain("kd", "feedback gain K of the combined error s", ("N m s/rad", "N s/m"), zero=False),
        Gain("rate", "adaptation rate", "1/s"),
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
        self.known = positive(known, "Adaptive: known", zero=True)
        self.bound = None if bound is None else positive(bound, "Adaptive: bound (or None)")
        self._regressor: Regressor | None = None

    @property
    def regressor(self) -> Regressor:
        """Regressor of the robot: its inertial parameters, and the torque as a function of them."""
        if self._regressor is None:
            self._regressor = self.equations.regressor()
        return self._regressor

    def default_gains(self, robot: Robot) -> Mapping[str, Any]:
        wn = per_joint(self.wn, robot, "Adaptive: wn")
        return {"slope": wn, "kd": joint_inertia(robot) * wn}

    def prepare(self, robot: Robot) -> None:
        self._regressor = None
        super().prepare(robot)

    def payload(self, mass: float, com=(0.0, 0.0, 0.0), inertia=(0.0, 0.0, 0.0)) -> None:
        """Do nothing, because the load is estimated with the links."""

    def initial_state(self, q: np.ndarray, qd: np.ndarray) -> Mapping[str, np.ndarray]:
        return {"estimate": self.known * self.regressor.values}

    def adaptation(self) -> np.ndarray:
        """Diagonal (p,) of the adaptation gain matrix Γ for the current gains and p parameters."""
        joint = list(self.regressor.coordinates)
        return (self.gains["rate"] * self.gains["kd"])[joint] * self._scale()

    def _scale(self) -> np.ndarray:
        return (self.regressor.size / self.regressor.weight) ** 2

    def law(
        self, x: ControlSignals, gains: Mapping[str, Vector], state: State
    ) -> tuple[Vector, State]:
        n = len(x.q)
        slope, kd, estimate = gains["slope"], gains["kd"], state["estimate"]
        e, rate = x.error, x.error_rate
        v = [x.ref.qd[i] + slope[i] * e[i] for i in range(n)]
        w = [x.ref.qdd[i] + slope[i] * rate[i] for i in range(n)]
        s = [x.qd[i] - v[i] for i in range(n)]
        form = self.regressor.form(x.q, x.qd, v, w)
        u = add(form.torque(estimate), self.equations.friction(x.qd))
        u = [u[i] - kd[i] * s[i] for i in range(n)]
        active = x.unless_saturated(u, s, [0.0] * n)
        return u, {"estimate": self._adapted(estimate, form.gradient(active), gains, x.dt)}

    def _adapted(
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
