"""`TaskMap`: the follower's tool seen in the master's task space, forces included.

Ways go as everywhere in teleoperation, Δx_follower = S Δx_master / k, counted from where both stood
when they were engaged.  Forces come back turned the other way and times a gain g,

    F_master = g Sᵀ F_follower,        power_master = g k · power_follower.

The default g = 1/k keeps power the same on both sides: a follower that moves half as far pushes
twice as hard as its master.  Any other g > 0 is as passive: it scales all energies by one number.
"""

from __future__ import annotations

from brazo.teleop.bilateral.scheme import Array, positive
from brazo.teleop.mapping.base import IncrementMap


class TaskMap:
    """Direction and scale of an `IncrementMap`, and a gain of forces."""

    def __init__(
        self, increments: IncrementMap | None = None, force_gain: float | None = None
    ) -> None:
        self.increments = increments or IncrementMap()
        gain = 1.0 / self.increments.scale if force_gain is None else force_gain
        self.force_gain = positive(gain, "force_gain")

    def to_master(self, way: Array) -> Array:
        """The master's way or speed (3,) for one of the follower's."""
        return self.increments.scale * (self.increments.directions.T @ way)

    def force_to_master(self, force: Array) -> Array:
        """What the master feels of a force (3,) at the follower."""
        return self.force_gain * (self.increments.directions.T @ force)

    def force_to_follower(self, force: Array) -> Array:
        """What the follower exerts for a force (3,) in the master's space."""
        return (self.increments.directions @ force) / self.force_gain
