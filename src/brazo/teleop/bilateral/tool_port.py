"""`ToolPort`: commands a force at the tool of a robot of a world.

    τ = G(q) + Jᵀ (F, K_r r − D_r ω) + posture

F (3,) is the commanded force on the tool point, in base axes.  Gravity is compensated, so the tool
floats if F = 0.  If the tool can rotate, a spring K_r and a damper D_r hold its initial
orientation: r is the rotation vector from the current to the initial orientation, and ω is the
angular velocity.  If the robot is redundant, posture springs act in the null space.  A
`CartesianImpedance` without stiffness along x, y and z computes these terms.  The robot with this
controller is passive from F to the tool velocity: M q̈ + C q̇ = Jᵀ F with Ṁ − 2C skew-symmetric,
and springs and dampers only store or dissipate energy.

The contact force comes from the physics engine: it is the sum over all contacts of the robot's
moving bodies, in base axes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from brazo.codegen import Graph, compile_kernel
from brazo.codegen.linear import dot
from brazo.control import CartesianImpedance, Reference
from brazo.control.base import torque_limits
from brazo.control.equations import ControlEquations, equations_of
from brazo.control.impedance import tool_inertia
from brazo.errors import BrazoError
from brazo.robot import Robot
from brazo.simulation.cell_arm import arm_of
from brazo.teleop.follow.touch import Touch
from brazo.world import World, WorldRobot

Array = np.ndarray
HOLD = 20.0  # rad/s, bandwidth of the springs that hold orientation and posture


class ToolPort:
    """Tool of a robot: reads its position, velocity and contact force, and applies a force.

    All values are in the base frame of the robot.
    """

    def __init__(self, world: World, name: str) -> None:
        if name not in world.robots:
            raise BrazoError(
                f"no robot named '{name}'; robots: {', '.join(world.robots) or 'none'}"
            )
        self.world = world
        self.robot: WorldRobot = world.robots[name]
        given = next(one for one in world.cell.robots if one.name == name)
        self.arm: Robot = arm_of(given, world.cell.gravity)
        rest = np.zeros(self.arm.n)
        self._start = Reference(self.robot.q.copy(), rest, rest)
        self._impedance = self._holding()
        self.saturated = 0  # calls in which a torque limit was exceeded
        self._R = np.array(self.robot.base[:3, :3])
        self._limits = torque_limits(self.arm)
        self._touch = Touch(world, name)
        equations = equations_of(self.arm.model)
        self._state, self._joint_force = _state_kernel(equations), _force_kernel(equations)

    def state(self) -> tuple[Array, Array]:
        """Return the position (3,), m, and velocity (3,), m/s, of the tool in the base frame."""
        # Copies, because the engine's arrays are strided and the compiled entry needs contiguous
        # ones.
        return self._state(self.robot.q.copy(), self.robot.qd.copy())

    def contact(self) -> Array:
        """Return the total contact force (3,), N, on the robot, in base axes."""
        return self._touch.force()

    def push(self, force: Array) -> None:
        """Set the drive torques for a force (3,), N, at the tool; held until the next call."""
        q, qd = self.robot.q.copy(), self.robot.qd.copy()
        self._impedance.torque(self.world.time, q, qd, self._start)
        tau = self._impedance.wanted + self._joint_force(q, force)
        self.saturated += bool((np.abs(tau) > self._limits).any())
        self.robot.torque[:] = tau

    def pull(self, force: Array) -> None:
        """Apply an external force (3,), N, in base axes, to the link that carries the tool.

        It acts on the centre of mass of the link, and is held until the next call.
        """
        self.world.mj_data.xfrc_applied[self.robot.tip_id, :3] = self._R @ force

    def _holding(self) -> CartesianImpedance:
        inertia = tool_inertia(self.arm, "base")
        inertia[:3] = 0.0
        impedance = CartesianImpedance(
            HOLD,
            stiffness=HOLD**2 * inertia,
            damping=2.0 * HOLD * inertia,
            frame="base",
            feedforward=False,
        )
        impedance.bind(self.arm, self.world.dt)
        return impedance


def _state_kernel(equations: ControlEquations) -> Callable[..., Any]:
    g = Graph()
    q, qd = g.inputs("q", equations.n), g.inputs("qd", equations.n)
    (_, p), J = equations.tool(q)
    return compile_kernel("tool_state", g, {"x": p, "v": [dot(row, qd) for row in J[:3]]}).entry


def _force_kernel(equations: ControlEquations) -> Callable[..., Any]:
    g = Graph()
    q, F = g.inputs("q", equations.n), g.inputs("force", 3)
    J = equations.tool(q)[1][:3]
    tau = [dot([row[i] for row in J], F) for i in range(equations.n)]
    return compile_kernel("joint_force", g, {"tau": tau}).entry
