"""A controller for the tests: computed torque with the robot's own analytic dynamics.

τ = RNE(q, q̇, q̈_ref + 2 ω (q̇_ref − q̇) + ω² (q_ref − q))
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline

import brazo
from brazo.world import World, WorldRobot


class Hand:
    """Moves one robot of a world along smooth paths; several run together under `run`."""

    def __init__(self, world: World, name: str, omega: float = 25.0) -> None:
        self.world = world
        self.robot: WorldRobot = world.robots[name]
        given = next(one for one in world.cell.robots if one.name == name)
        self.arm = brazo.load(given.source.model.path).with_parameters(
            **given.source.edits.parameters
        )
        self.gravity = given.base[:3, :3].T @ world.cell.gravity
        self.dynamics = self.arm
        self.omega = omega
        self.hold = np.array(self.robot.q)
        self._path = None

    def go(self, q, seconds: float) -> None:
        """To a configuration, at rest at both ends."""
        start, way = self.hold, np.asarray(q) - self.hold
        self._follow(lambda s, k: (start + s * way, way + 0 * s, 0 * s * way)[k], seconds)

    def line(self, pose_at, seconds: float, points: int = 20) -> None:
        """Along poses (in the world) of the tool, `pose_at(s)` with s from 0 to 1."""
        base = np.linalg.inv(self.robot.base)
        q, found = self.hold, []
        for s in np.linspace(0, 1, points + 1):
            solution = self.arm.ik(base @ pose_at(s), q0=q)
            assert solution.success, solution.reason
            q = solution.q
            found.append(q)
        spline = CubicSpline(np.linspace(0, 1, points + 1), found)
        self._follow(lambda s, k: spline(s[:, 0], k), seconds)

    def carry(self, body: str, mass: float, inertia) -> None:
        """Count a body in the gripper as part of the arm."""
        T = np.linalg.inv(self.robot.tool()) @ self.world.pose(body)
        tensor = T[:3, :3] @ np.diag(inertia) @ T[:3, :3].T
        self.dynamics = self.arm.with_payload(mass, T[:3, 3], tensor)

    def empty(self) -> None:
        self.dynamics = self.arm

    def tick(self) -> None:
        robot, omega = self.robot, self.omega
        q, qd, qdd = self._reference()
        wanted = qdd + 2 * omega * (qd - robot.qd) + omega**2 * (q - robot.q)
        robot.torque[:] = self.dynamics.inverse_dynamics(
            robot.q, robot.qd, wanted, gravity=self.gravity
        )

    def _follow(self, path, seconds: float) -> None:
        """Sample q, q̇, q̈ of a path p(s) run through by s = 10 u³ − 15 u⁴ + 6 u⁵."""
        u = (np.arange(1, round(seconds / self.world.dt) + 1) * self.world.dt / seconds)[:, None]
        s = u**3 * (10 - 15 * u + 6 * u * u)
        rate = 30 * u**2 * (1 - u) ** 2 / seconds
        rate2 = 60 * u * (1 - u) * (1 - 2 * u) / seconds**2
        q, d1, d2 = (path(s, k) for k in range(3))
        self._path = iter(list(zip(q, d1 * rate, d2 * rate**2 + d1 * rate2, strict=True)))

    def _reference(self):
        rest = np.zeros(self.robot.n)
        if self._path is not None:
            found = next(self._path, None)
            if found is not None:
                self.hold = found[0]
                return found
            self._path = None
        return self.hold, rest, rest


def run(world: World, seconds: float, *hands: Hand) -> None:
    """Let time pass under the control of the hands."""
    for _ in range(round(seconds / world.dt)):
        for hand in hands:
            hand.tick()
        world.step()
