"""Has a body gone all the way through a chute?

In the chute's frame (origin in the upper mouth, x along the way down) the body's middle must have
been inside, 0 ≤ x ≤ length within the clear section, and then the whole of it must lie beyond the
lower end.  Leaving by the upper mouth, or never having been inside, does not count.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brazo.model.shapes import Box, Capsule, Cylinder
from brazo.world import Chute, FreeBody, World

Array = np.ndarray


class Passage:
    """One body and one chute."""

    def __init__(self, world: World, body: FreeBody, chute: Chute) -> None:
        self.body, self.chute = body, chute
        self._id = int(world.mj_model.body(body.name).id)
        self._back = np.linalg.inv(chute.pose)
        self._rows = self._back[:3].tolist()
        self.inside = False
        self.time: float | None = None  # when it was through

    @property
    def done(self) -> bool:
        return self.time is not None

    def look(self, data: Any) -> bool:
        """Look at the present moment; True when the body has just come through."""
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
    """How far a body reaches from its middle along a direction given in its own axes (m)."""
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
