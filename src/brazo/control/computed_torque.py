"""Computed torque: feedback linearisation to n double integrators, with pole placement.

    τ = M(q) v + C(q, q̇) q̇ + G(q) + friction(q̇)        v = r̈ + kd ė + kp e + ki ∫e

r is the reference position, and e = r − q is the tracking error.

With an exact model, q̈ = v, hence ë + kd ė + kp e + ki ∫e = 0.  This error equation is linear,
decoupled and the same in every pose.  An unknown load causes a steady-state error.  Set the load
with `payload`, or set ki > 0.  The integral is frozen for joints whose drive is saturated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from brazo.control.base import per_joint
from brazo.control.compiled import CompiledController, ControlSignals, State, Vector
from brazo.control.gains import Gain
from brazo.robot import Robot


class ComputedTorque(CompiledController):
    """Inverse dynamics with linear error feedback; `wn` (rad/s) and `zeta` determine kp and kd."""

    uses_model = True
    GAINS = (
        Gain("kp", "proportional gain", "1/s²"),
        Gain("kd", "derivative gain", "1/s"),
        Gain("ki", "integral gain", "1/s³"),
    )
    wn: Any
    zeta: Any

    def __init__(
        self, wn: Any = 25.0, zeta: Any = 1.0, *, kp: Any = None, kd: Any = None, ki: Any = 0.0
    ) -> None:
        super().__init__(kp=kp, kd=kd, ki=ki)
        self.wn, self.zeta = wn, zeta

    def default_gains(self, robot: Robot) -> Mapping[str, Any]:
        wn = per_joint(self.wn, robot, "ComputedTorque: wn")
        return {"kp": wn**2, "kd": 2.0 * per_joint(self.zeta, robot, "ComputedTorque: zeta") * wn}

    def initial_state(self, q: np.ndarray, qd: np.ndarray) -> Mapping[str, np.ndarray]:
        return {"integral": np.zeros(len(q))}

    def law(
        self, x: ControlSignals, gains: Mapping[str, Vector], state: State
    ) -> tuple[Vector, State]:
        n = len(x.q)
        e, rate, integral = x.error, x.error_rate, state["integral"]
        kp, kd, ki = gains["kp"], gains["kd"], gains["ki"]
        v = [
            x.ref.qdd[i] + (kd[i] * rate[i] + kp[i] * e[i] + ki[i] * integral[i]) for i in range(n)
        ]
        u = self.equations.inverse_dynamics(x.q, x.qd, v, x.tables["load"])
        grown = [integral[i] + x.dt * e[i] for i in range(n)]
        return u, {"integral": x.unless_saturated(u, grown, integral)}
