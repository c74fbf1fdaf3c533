"""`Touch`: total contact wrench on a robot of a world.

The wrench is the sum over all contacts of the robot's moving bodies, as computed by the physics
engine.  It consists of the force F, in N, and the moment m about the tool point p, in N m.  Both
are in base axes:

    F = Σ f,        m = Σ (x − p) × f,

where f is the force of a contact at the point x.
"""

from __future__ import annotations

import numpy as np

from brazo.errors import BrazoError
from brazo.world import World, WorldRobot

Array = np.ndarray


class Touch:
    """Reader of the total contact force and wrench on one robot."""

    def __init__(self, world: World, name: str) -> None:
        if name not in world.robots:
            raise BrazoError(
                f"no robot named '{name}'; robots: {', '.join(world.robots) or 'none'}"
            )
        self._world = world
        self._robot: WorldRobot = world.robots[name]
        self._R = np.array(self._robot.base[:3, :3])
        moving = np.isin(world.mj_model.geom_bodyid, self._robot.engine.bodies[1:])
        self._moving = moving.astype(float)

    def force(self) -> Array:
        """Return the total contact force (3,), N, on the robot, in base axes."""
        contacts = self._world.contacts()
        if not len(contacts):
            return np.zeros(3)
        # A contact between two bodies of the robot counts twice with opposite signs, so it cancels.
        share = self._moving[contacts.geoms]
        return self._R.T @ ((share[:, 1] - share[:, 0]) @ contacts.force)

    def wrench(self) -> Array:
        """Return the contact force (N) and its moment about the tool point (N m), in base axes.

        The result has the shape (6,).
        """
        contacts = self._world.contacts()
        if not len(contacts):
            return np.zeros(6)
        share = self._moving[contacts.geoms]
        force = (share[:, 1] - share[:, 0])[:, None] * contacts.force
        arm = contacts.point - self._robot.tool()[:3, 3]
        moment = np.cross(arm, force).sum(axis=0)
        return np.concatenate([self._R.T @ force.sum(axis=0), self._R.T @ moment])
