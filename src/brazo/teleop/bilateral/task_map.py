"""`TaskMap`: motion and forces of the follower's tool, expressed in the master's task space.

Displacements from the tool positions at engagement are mapped by Δx_follower = S Δx_master / k,
with the direction matrix S and the scale k of an `IncrementMap`.  Forces are mapped by the
transpose of S and a gain g,

    F_master = g Sᵀ F_follower,        power_master = g k · power_follower.

The default g = 1/k preserves power.  For k = 2, the follower moves half as far as the master, and
the force at the follower is twice the force at the master.  The mapping is passive for any g > 0,
because g scales all energies by the same factor.
"""

from __future__ import annotations

from brazo.checks import positive
from brazo.teleop.bilateral.scheme import Array
from brazo.teleop.mapping.base import IncrementMap


class TaskMap:
    """Mapping between the task spaces of the two tools: an `IncrementMap` and a force gain."""

    def __init__(
        self, increments: IncrementMap | None = None, force_gain: float | None = None
    ) -> None:
        self.increments = increments or IncrementMap()
        gain = 1.0 / self.increments.scale if force_gain is None else force_gain
        self.force_gain = positive(gain, "force_gain")

    def to_master(self, displacement: Array) -> Array:
        """Convert a displacement or velocity (3,) of the follower to the master's task space."""
        return self.increments.scale * (self.increments.directions.T @ displacement)

    def force_to_master(self, force: Array) -> Array:
        """Convert a force (3,) at the follower to the master's task space."""
        return self.force_gain * (self.increments.directions.T @ force)

    def force_to_follower(self, force: Array) -> Array:
        """Convert a force (3,) in the master's task space to a force at the follower."""
        return (self.increments.directions @ force) / self.force_gain
