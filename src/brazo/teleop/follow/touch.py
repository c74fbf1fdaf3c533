"""`Touch`: what a robot of a world touches, as one wrench on it.

All contacts of its moving bodies together, as the engine has them: the force F (N), and the moment
about the tool's point p (N m), in the axes of the robot's base,

    F = Σ f,        N = Σ (x − p) × f.
"""

from __future__ import annotations

import numpy as np

from brazo.errors import BrazoError
from brazo.world import World, WorldRobot

Array = np.ndarray


class Touch:
    """The contacts of one robot."""

    def __init__(self, world: World, name: str) -> None:
        if name not in world.robots:
            raise BrazoError(f"no robot named '{name}'; robots: {', '.join(world.robots)}")
        self._world = world
        self._robot: WorldRobot = world.robots[name]
        self._R = np.array(self._robot.base[:3, :3])
        moving = np.isin(world.mj_model.geom_bodyid, self._robot.all_body_ids[1:])
        self._moving = moving.astype(float)

    def force(self) -> Array:
        """The force (3,) on the robot."""
        contacts = self._world.contacts()
        if not len(contacts):
            return np.zeros(3)
        # Between two bodies of the robot itself both count, and cancel.
        share = self._moving[contacts.geoms]
        return self._R.T @ ((share[:, 1] - share[:, 0]) @ contacts.force)

    def wrench(self) -> Array:
        """Force and moment (6,) on the robot."""
        contacts = self._world.contacts()
        if not len(contacts):
            return np.zeros(6)
        share = self._moving[contacts.geoms]
        force = (share[:, 1] - share[:, 0])[:, None] * contacts.force
        arm = contacts.point - self._robot.tool()[:3, 3]
        moment = np.cross(arm, force).sum(axis=0)
        return np.concatenate([self._R.T @ force.sum(axis=0), self._R.T @ moment])
