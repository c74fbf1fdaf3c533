"""Current poses of all bodies, computed without changing the engine's results.

After a step, the body frames in the engine's `MjData` are those at the start of the step, and the
contacts in `MjData` refer to them.  The current frames are therefore computed in a separate
`MjData`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brazo.formats.mjcf.engine import engine
from brazo.model.description import Array
from brazo.world.assembly import Drawn


class BodyPoses:
    """Poses of all drawn bodies of one compiled model."""

    def __init__(self, model: Any, drawn: tuple[Drawn, ...]) -> None:
        mujoco = engine()
        self._kinematics = mujoco.mj_kinematics
        self._model = model
        self._data = mujoco.MjData(model)
        self.drawn = drawn
        self._moving = np.array([i for i, one in enumerate(drawn) if one.body is not None], int)
        self._bodies = np.array([drawn[i].body.id for i in self._moving], int)
        self._still = np.tile(np.eye(4), (len(drawn), 1, 1))
        for i, one in enumerate(drawn):
            if one.pose is not None:
                self._still[i] = one.pose
        own: dict[str, list[int]] = {}
        for i, one in enumerate(drawn):
            if one.kind == "robot" and not one.of_gripper:
                own.setdefault(one.name.partition("/")[0], []).append(i)
        self._own = {robot: np.array(rows, int) for robot, rows in own.items()}
        shifted = [(i, one.shift) for i, one in enumerate(drawn) if one.shift is not None]
        self._shifted = np.array([i for i, _ in shifted], int)
        self._carriers = np.array([body.id for _, (body, _) in shifted], int)
        self._shift = np.array([by for _, (_, by) in shifted])

    def now(self, data: Any) -> Any:
        """Return the separate `MjData`, with frames computed for the joint positions of `data`."""
        self._data.qpos[:] = data.qpos
        self._kinematics(self._model, self._data)
        return self._data

    def poses(self, data: Any) -> Array:
        """Return the poses (k, 4, 4) in the world, in the order of `drawn`."""
        now = self.now(data)
        T = self._still.copy()
        T[self._moving, :3, :3] = now.xmat[self._bodies].reshape(-1, 3, 3)
        T[self._moving, :3, 3] = now.xpos[self._bodies]
        if len(self._shifted):
            y = now.xmat[self._carriers].reshape(-1, 3, 3)[:, :, 1]
            T[self._shifted, :3, 3] += self._shift[:, None] * y
        return T

    def body(self, data: Any, body: int) -> Array:
        """Return the pose (4, 4) in the world of the engine's body with the id `body`."""
        now = self.now(data)
        T = np.eye(4)
        T[:3, :3] = now.xmat[body].reshape(3, 3)
        T[:3, 3] = now.xpos[body]
        return T

    def of(self, robot: str) -> Array:
        """Return the indices in `drawn` of the bodies of a robot, without its fingers."""
        return self._own[robot]

    def by_drawn(self, values: Array, robot: str) -> Array:
        """Return the rows of `values` that belong to the drawn bodies of a robot.

        `values` has one row per body of the engine; the result has one row per drawn body.  If an
        engine body is drawn twice (the rods of a Delta), the second row of this body is zero.
        """
        own = self._own[robot]
        ids = [int(self.drawn[i].body.id) for i in own]
        rows = values[ids]
        for i, body in enumerate(ids):
            if body in ids[:i]:
                rows[i] = 0.0
        return rows
