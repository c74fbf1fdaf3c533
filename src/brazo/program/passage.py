"""Whether a body has passed completely through a chute.

In the chute's frame (origin at the upper opening, x pointing down the chute) the body's centre must
have been inside, 0 ≤ x ≤ length within the inner cross-section, and then the whole body must be
beyond the lower end.  A body that leaves by the upper opening, or was never inside, does not count.
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
    """Detects the passage of one body through one chute."""

    def __init__(self, world: World, body: FreeBody, chute: Chute) -> None:
        self.inside = False
        self.time: float | None = None  # s, when it had passed
        self.bind(world, body, chute)

    def bind(self, world: World, body: FreeBody, chute: Chute) -> None:
        """Attach to the current model of a world."""
        self.body, self.chute = body, chute
        self._id = int(world.mj_model.body(body.name).id)
        self._back = np.linalg.inv(chute.pose)
        self._rows = self._back[:3].tolist()

    @property
    def done(self) -> bool:
        return self.time is not None

    def outside(self, data: Any) -> Condition:
        """The body is not in the chute: there is nothing to evaluate."""
        size = self.chute.length, *self.chute.inner
        return outside(data.xpos[self._id], self._back, size)

    def update(self, data: Any) -> bool:
        """Evaluate the current state; True when the body has just passed."""
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
    """Extent (m) of a body from its origin against a direction in its own axes."""
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
