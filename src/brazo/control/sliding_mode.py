"""Sliding mode control with a boundary layer: robust to model errors.

The position error is e = r − q, where r is the reference.  The torques τ follow from the gains
slope, reach and layer; sat clips to ±1.

    s = ė + slope e         τ = M(q) v + C(q, q̇) q̇ + G(q) + friction(q̇)
    v = r̈ + slope ė + reach sat(s / layer)

With an exact model, ṡ = −reach sat(s / layer).  The boundary layer |s| < layer is reached within
|s₀| / reach seconds.  Inside the layer, the error decays with the rates slope and reach / layer.
If model errors accelerate a joint by less than `reach`, s stays in the layer and the error of the
joint stays below layer / slope.  A layer much thinner than reach·dt causes chattering, because a
sampled controller switches at most once per period.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from brazo.codegen import maximum, minimum
from brazo.control.base import per_joint
from brazo.control.compiled import CompiledController, ControlSignals, State, Vector
from brazo.control.gains import Gain
from brazo.robot import Robot

_LAYER_RATE = 4.0  # reach / layer in units of wn
_REACH = 50.0  # rad/s², m/s²


class SlidingMode(CompiledController):
    """Sliding mode controller; `wn` (rad/s) determines `slope` and `layer` if they are not given.

    `reach` must exceed the joint accelerations that model errors cause.
    """

    uses_model = True
    GAINS = (
        Gain("slope", "decay rate of the error on the sliding surface", "1/s", zero=False),
        Gain("reach", "acceleration towards the sliding surface", ("rad/s²", "m/s²")),
        Gain("layer", "half the thickness of the boundary layer", ("rad/s", "m/s"), zero=False),
    )
    wn: Any

    def __init__(
        self, wn: Any = 25.0, *, slope: Any = None, reach: Any = _REACH, layer: Any = None
    ) -> None:
        super().__init__(slope=slope, reach=reach, layer=layer)
        self.wn = wn

    def default_gains(self, robot: Robot) -> Mapping[str, Any]:
        wn = per_joint(self.wn, robot, "SlidingMode: wn")
        reach = per_joint(self._given.get("reach", _REACH), robot, "SlidingMode: reach", zero=True)
        # Without reach the layer has no effect; it only has to be greater than 0.
        return {"slope": wn, "layer": np.where(reach > 0.0, reach, _REACH) / (_LAYER_RATE * wn)}

    def law(
        self, x: ControlSignals, gains: Mapping[str, Vector], state: State
    ) -> tuple[Vector, State]:
        e, rate = x.error, x.error_rate
        v = []
        for i in range(len(e)):
            slope = gains["slope"][i]
            s = rate[i] + slope * e[i]
            push = maximum(minimum(s / gains["layer"][i], 1.0), -1.0)
            v.append(x.ref.qdd[i] + slope * rate[i] + gains["reach"][i] * push)
        return self.equations.inverse_dynamics(x.q, x.qd, v, x.tables["load"]), state
