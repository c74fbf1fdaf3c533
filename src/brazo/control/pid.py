"""PID control of each joint independently, as in most drives.

For the position error e = r − q from the reference r, the torque u is commanded and τ is applied:

    u = kp e + I + kd d + feed-forward        τ: u clipped to the limits of the drive
    İ = ki e + kt (τ − u)                     anti-windup by back-calculation, or
    İ = ki e, or 0 while τ ≠ u and e u > 0    anti-windup by clamping
    ḋ = (ė − d) / tf                          first-order filter; d = ė if tf = 0

I is a torque, so changing ki does not cause a jump.  kt defaults to √(ki/kd), the geometric
mean of integral and derivative rates (Åström and Hägglund, *PID Controllers*, 1995).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from brazo.codegen import where
from brazo.control.bandwidth import joint_inertia, pid_gains
from brazo.control.base import one_of, per_joint
from brazo.control.compiled import CompiledController, ControlSignals, State, Vector
from brazo.control.feedforward import FEEDFORWARDS, Feedforward, feedforward
from brazo.control.gains import Gain
from brazo.robot import Robot

WINDUPS = ("back-calculation", "clamping", "none")


class PID(CompiledController):
    """PID controller with anti-windup, derivative filter and feed-forward.

    `wn` (rad/s), `zeta` and `alpha` determine the gains that are not given: the poles of a joint
    are a pair with natural frequency wn and damping ratio zeta, and a real pole at −alpha·wn.
    `windup` selects the anti-windup method.  `feedforward` is "none", "gravity" or "full" (see
    `brazo.control.feedforward`).
    """

    GAINS = (
        Gain("kp", "proportional gain", ("N m/rad", "N/m")),
        Gain("ki", "integral gain", ("N m/(rad s)", "N/(m s)")),
        Gain("kd", "derivative gain", ("N m s/rad", "N s/m")),
        Gain("tf", "derivative filter time constant", "s"),
        Gain("kt", "back-calculation gain", "1/s"),
    )
    wn: Any
    zeta: Any
    alpha: float
    windup: str
    feedforward: str

    def __init__(
        self,
        wn: Any = 25.0,
        zeta: Any = 1.0,
        alpha: float = 0.3,
        *,
        kp: Any = None,
        ki: Any = None,
        kd: Any = None,
        tf: Any = 0.0,
        kt: Any = None,
        windup: Literal["back-calculation", "clamping", "none"] = "back-calculation",
        feedforward: Feedforward = "none",
    ) -> None:
        super().__init__(kp=kp, ki=ki, kd=kd, tf=tf, kt=kt)
        self.wn, self.zeta, self.alpha = wn, zeta, alpha
        self.windup = one_of(windup, WINDUPS, "PID: windup")
        self.feedforward = one_of(feedforward, FEEDFORWARDS, "PID: feedforward")
        self.uses_model = feedforward != "none"

    def default_gains(self, robot: Robot) -> Mapping[str, Any]:
        wn, zeta = per_joint(self.wn, robot, "PID: wn"), per_joint(self.zeta, robot, "PID: zeta")
        gains = dict(self._given)
        if not {"kp", "ki", "kd"} <= gains.keys():
            kp, ki, kd = pid_gains(joint_inertia(robot), wn, zeta, self.alpha)
            gains = {"kp": kp, "ki": ki, "kd": kd, **gains}
        if "kt" not in gains:
            ki, kd = (np.abs(np.array(gains[key], dtype=float)) for key in ("ki", "kd"))
            gains["kt"] = np.sqrt(np.divide(ki, kd, out=np.zeros_like(ki + kd), where=kd > 0.0))
        return gains

    def initial_state(self, q: np.ndarray, qd: np.ndarray) -> Mapping[str, np.ndarray]:
        return {"integral": np.zeros(len(q)), "derivative": np.zeros(len(q))}

    def law(
        self, x: ControlSignals, gains: Mapping[str, Vector], state: State
    ) -> tuple[Vector, State]:
        n = len(x.q)
        e, rate = x.error, x.error_rate
        kp, ki, kd, tf, kt = (gains[key] for key in ("kp", "ki", "kd", "tf", "kt"))
        integral, old = state["integral"], state["derivative"]
        d = [old[i] + x.dt / (tf[i] + x.dt) * (rate[i] - old[i]) for i in range(n)]
        ahead = [0.0] * n
        if self.uses_model:
            ahead = feedforward(self.feedforward, self.equations, x)
        u = [kp[i] * e[i] + integral[i] + kd[i] * d[i] + ahead[i] for i in range(n)]
        grown = [integral[i] + x.dt * (ki[i] * e[i]) for i in range(n)]
        if self.windup == "back-calculation":
            tau = x.saturate(u)
            grown = [grown[i] + x.dt * (kt[i] * (tau[i] - u[i])) for i in range(n)]
        elif self.windup == "clamping":
            inward = [where(-(e[i] * u[i]), grown[i], integral[i]) for i in range(n)]
            grown = x.unless_saturated(u, grown, inward)
        return u, {"integral": grown, "derivative": d}
