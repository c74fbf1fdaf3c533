"""A controller for the tests: computed torque with the robot's own analytic dynamics.

τ = RNE(q, q̇, q̈_ref + 2 ω (q̇_ref − q̇) + ω² (q_ref − q))
"""

from __future__ import annotations

import numpy as np

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
        self._follow(lambda s: start + s * way, seconds)

    def line(self, pose_at, seconds: float, points: int = 40) -> None:
        """Along poses (in the world) of the tool, `pose_at(s)` with s from 0 to 1."""
        from scipy.interpolate import CubicSpline

        base = np.linalg.inv(self.robot.base)
        q, found = self.hold, []
        for s in np.linspace(0, 1, points + 1):
            solution = self.arm.ik(base @ pose_at(s), q0=q)
            assert solution.success, solution.reason
            q = solution.q
            found.append(q)
        self._follow(CubicSpline(np.linspace(0, 1, points + 1), found), seconds)

    def carry(self, body: str, mass: float, inertia) -> None:
        """Count a body in the clamp as part of the arm."""
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
        h = 1e-4
        self._start, self._seconds = self.world.time, seconds

        def at(t: float):
            s = np.clip(np.array([t - h, t, t + h]) / seconds, 0.0, 1.0)
            s = s**3 * (10 - 15 * s + 6 * s * s)
            return [np.asarray(path(x)) for x in s]

        self._path = lambda t: (
            at(t)[1],
            (at(t)[2] - at(t)[0]) / (2 * h),
            (at(t)[2] - 2 * at(t)[1] + at(t)[0]) / h**2,
        )

    def _reference(self):
        rest = np.zeros(self.robot.n)
        if self._path is None:
            return self.hold, rest, rest
        t = self.world.time - self._start
        if t >= self._seconds:
            self.hold, self._path = self._path(self._seconds)[0], None
            return self.hold, rest, rest
        return self._path(t)


def run(world: World, seconds: float, *hands: Hand) -> None:
    """Let time pass under the control of the hands, and then their paths be done."""
    for _ in range(round(seconds / world.dt)):
        for hand in hands:
            hand.tick()
        world.step()
    for hand in hands:
        hand._reference()
