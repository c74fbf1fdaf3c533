"""A compiled controller and its robot in one native loop: no Python between control periods.

The state of the loop is x = (q, q̇, controller state).  In each control period, the controller
computes the torque and its next state from x and the reference.  Runge–Kutta steps with this torque
give the next q and q̇.

The gains and the tables of the controller, such as the load, are inputs with leading batch
dimensions.  One call therefore computes thousands of runs with different gains (see
`brazo.codegen.loop`).
"""

from __future__ import annotations

from brazo.codegen import Graph
from brazo.codegen.loop import Loop, compile_loop
from brazo.control.compiled import CompiledControlLaw
from brazo.dynamics.integrators import held_torque_step
from brazo.robot import Robot

REFERENCE = ("reference_q", "reference_qd", "reference_qdd")


def controller_loop(compiled: CompiledControlLaw, robot: Robot, substeps: int = 1) -> Loop:
    """Compile the closed loop of a controller and a robot.

    The inputs are `x`, the reference position, velocity and acceleration with one row per step,
    `gains`, `dt` and the tables of the controller.  The loop records x after each step, the torque
    during the step and the commanded torque.
    """
    g, n = Graph(), robot.n
    sizes = {key: size for key, size in compiled.inputs.items() if key not in ("q", "qd", "state")}
    x = g.inputs("x", 2 * n + compiled.inputs.get("state", 0))
    inputs = {key: g.inputs(key, size) for key, size in sizes.items()}
    q, qd, state = x[:n], x[n : 2 * n], x[2 * n :]
    tau, wanted, state = compiled.step(q, qd, *inputs.values(), *([state] if state else []))
    h = inputs["dt"][0] / float(substeps)
    for _ in range(substeps):
        q, qd = held_torque_step(g, robot.dynamics.motion, q, qd, tau, h)
    outputs = {"x": [*q, *qd, *state], "tau": tau, "wanted": wanted}
    return compile_loop(compiled.name.lower(), g, outputs, REFERENCE)
