"""Detection of a body that has passed completely through a chute.

The frame of a chute has its origin at the upper opening and x pointing down the chute.  First the
origin of the body must be inside: 0 ≤ x ≤ length, within the inner cross-section.  Then the whole
body must be beyond the lower end.  A body that leaves by the upper opening, or was never inside,
does not count.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brazo.body.solids import triangles
from brazo.model.shapes import Box, Capsule, Cylinder, Mesh
from brazo.program.conditions import outside
from brazo.simulation.conditions import Condition
from brazo.world import Chute, FreeBody, World
from brazo.world.cell import BinShape, parts_of

Array = np.ndarray


class Passage:
    """Detector of the passage of one body through one chute."""

    def __init__(self, world: World, body: FreeBody, chute: Chute) -> None:
        self.inside = False
        self.time: float | None = None  # s, when it had passed
        self.bind(world, body, chute)

    def bind(self, world: World, body: FreeBody, chute: Chute) -> None:
        """Use the current model of a world; call again after the cell was edited."""
        self.body, self.chute = body, chute
        self._id = int(world.mj_model.body(body.name).id)
        self._back = np.linalg.inv(chute.pose)
        self._rows = self._back[:3].tolist()

    @property
    def done(self) -> bool:
        return self.time is not None

    def outside(self, data: Any) -> Condition:
        """Return the condition that the origin of the body is not in the chute.

        If `inside` is False, `update` need not be called while this condition holds.
        """
        size = self.chute.length, *self.chute.inner
        return outside(data.xpos[self._id], self._back, size)

    def update(self, data: Any) -> bool:
        """Evaluate the current state; return True if the body has passed since the last call."""
        if self.done:
            return False
        px, py, pz = data.xpos[self._id].tolist()
        x, y, z = (a * px + b * py + c * pz + d for a, b, c, d in self._rows)
        width, height = self.chute.inner
        within = abs(y) <= width / 2 and abs(z) <= height / 2
        if 0.0 <= x <= self.chute.length and within:
            self.inside = True
        elif x < 0.0:
            self.inside = False
        if not self.inside or x <= self.chute.length:
            return False
        R = self._back[:3, :3] @ data.xmat[self._id].reshape(3, 3)
        if x - extent(self.body, R[0]) <= self.chute.length:
            return False
        self.time = float(data.time)
        return True


def extent(body: FreeBody, direction: Array) -> float:
    """Return how far (m) a body extends from its origin, opposite to `direction`.

    `direction` (3,) is a unit vector in the frame of the body.
    """
    shape = body.shape
    if isinstance(shape, Mesh | BinShape):
        parts = parts_of(body.name, shape, body.color)
        clouds = [(p.pose, triangles(p.shape)[0]) for p in parts]
        return max(float(-((V @ T[:3, :3].T + T[:3, 3]) @ direction).min()) for T, V in clouds)
    x, y, z = np.abs(direction)
    match shape:
        case Box((a, b, c)):
            return float(x * a + y * b + z * c) / 2
        case Cylinder(radius, length):
            return float(z * length / 2 + radius * np.hypot(x, y))
        case Capsule(radius, length):
            return float(z * length / 2 + radius)
        case _:
            return float(shape.radius)
