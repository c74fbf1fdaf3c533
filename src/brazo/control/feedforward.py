"""Feed-forward torques, computed from the reference and the robot model, without measured values.

r is the reference position.  The kinds of feed-forward are:

    none      zero torque
    gravity   G(r)
    full      M(r) r̈ + C(r, ṙ) ṙ + G(r) + friction(ṙ): inverse dynamics of the reference
"""

from __future__ import annotations

from typing import Any, Literal

from brazo.control.compiled import ControlSignals
from brazo.control.equations import ControlEquations

Feedforward = Literal["none", "gravity", "full"]
FEEDFORWARDS = ("none", "gravity", "full")


def feedforward(kind: str, equations: ControlEquations, x: ControlSignals) -> list[Any]:
    """Feed-forward torques (n) for any scalar type; `kind` is "none", "gravity" or "full"."""
    if kind == "none":
        return [0.0] * equations.n
    load = x.tables["load"]
    if kind == "gravity":
        return equations.gravity(x.ref.q, load)
    return equations.inverse_dynamics(x.ref.q, x.ref.qd, x.ref.qdd, load)
