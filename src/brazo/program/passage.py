"""Whether a body has passed completely through a chute.

In the chute's frame (origin at the upper opening, x pointing down the chute) the body's centre must
have been inside, 0 ≤ x ≤ length within the inner cross-section, and then the whole body must be
beyond the lower end.  A body that leaves by the upper opening, or was never inside, does not count.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brazo.model.shapes import Box, Capsule, Cylinder
from brazo.world import Chute, FreeBody, World

Array = np.ndarray


class Passage:
    """Detects the passage of one body through one chute."""

    def __init__(self, world: World, body: FreeBody, chute: Chute) -> None:
        self.body, self.chute = body, chute
        self._id = int(world.mj_model.body(body.name).id)
        self._back = np.linalg.inv(chute.pose)
        self._rows = self._back[:3].tolist()
        self.inside = False
        self.time: float | None = None  # s, when it had passed

    @property
    def done(self) -> bool:
        return self.time is not None

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
    """Half-extent (m) of a body from its centre along a direction in its own axes."""
    shape = body.shape
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
