"""PD control with gravity compensation.

With the reference r(t) and the error e = r − q, the torques are

    τ = kp e + kd ė + G(q)

With kp, kd > 0 the robot converges to any constant reference, because the energy
½ q̇ᵀMq̇ + ½ eᵀKp e decreases at the rate q̇ᵀ Kd q̇ (Takegaki and Arimoto, 1981).  With feed-forward
the controller is PD+ (Paden and Panja, 1988):

    τ = kp e + kd ė + M(q) r̈ + C(q, q̇) ṙ + G(q) + friction(ṙ)

PD+ also tracks moving references: ½ ėᵀMė + ½ eᵀKp e decreases at the rate ėᵀ Kd ė, because Ṁ − 2C
is skew-symmetric.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brazo.control.bandwidth import joint_inertia, pd_gains
from brazo.control.base import boolean, per_joint
from brazo.control.compiled import CompiledController, ControlSignals, State, Vector
from brazo.control.gains import Gain
from brazo.dynamics.vectors import add
from brazo.robot import Robot


class PDGravity(CompiledController):
    """PD controller with gravity compensation, or PD+ with `feedforward=True`.

    `wn` (rad/s) and `zeta` determine the gains that are not given.
    """

    uses_model = True
    GAINS = (
        Gain("kp", "proportional gain", ("N m/rad", "N/m")),
        Gain("kd", "derivative gain", ("N m s/rad", "N s/m")),
    )
    wn: Any
    zeta: Any
    feedforward: bool

    def __init__(
        self,
        wn: Any = 25.0,
        zeta: Any = 1.0,
        *,
        kp: Any = None,
        kd: Any = None,
        feedforward: bool = False,
    ) -> None:
        super().__init__(kp=kp, kd=kd)
        self.wn, self.zeta = wn, zeta
        self.feedforward = boolean(feedforward, "PDGravity: feedforward")

    def default_gains(self, robot: Robot) -> Mapping[str, Any]:
        wn = per_joint(self.wn, robot, "PDGravity: wn")
        kp, kd = pd_gains(joint_inertia(robot), wn, per_joint(self.zeta, robot, "PDGravity: zeta"))
        return {"kp": kp, "kd": kd}

    def law(
        self, x: ControlSignals, gains: Mapping[str, Vector], state: State
    ) -> tuple[Vector, State]:
        load, model = x.tables["load"], self.equations
        if self.feedforward:
            ahead = model.passive(x.q, x.qd, x.ref.qd, x.ref.qdd, load)
            ahead = add(ahead, model.friction(x.ref.qd))
        else:
            ahead = model.gravity(x.q, load)
        e, rate = x.error, x.error_rate
        kp, kd = gains["kp"], gains["kd"]
        return [kp[i] * e[i] + kd[i] * rate[i] + ahead[i] for i in range(len(e))], state
