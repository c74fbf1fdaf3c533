"""`SceneSnapshot`: the state shown in one frame, read from a simulation or replay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from brazo.operate.contacts import unintended

if TYPE_CHECKING:
    from brazo.lab.scene.shown import Shown
    from brazo.world import Contacts


@dataclass(frozen=True, slots=True, eq=False)
class SceneSnapshot:
    """State of a simulation or replay at one time, as drawn in one frame."""

    time: float  # s
    poses: np.ndarray  # (k, 4, 4) of the bodies in `world.drawn`
    references: dict[str, np.ndarray]  # reference position (n,) of each robot, rad and m
    contacts: Contacts

    @classmethod
    def of(cls, sim: Shown) -> SceneSnapshot:
        """Take a snapshot of the current state of `sim`."""
        with sim.lock:
            world = sim.world
            references = {name: robot.reference.q for name, robot in sim.robots.items()}
            return cls(sim.time, world.poses(), references, world.contacts())

    def collisions(self) -> int:
        """Number of pairs of parts that touch unintentionally.

        A contact is unintended if a robot touches a fixture, another robot or itself.
        """
        contacts = self.contacts
        if not len(contacts):
            return 0
        bad = unintended(contacts)
        return len(
            set(zip(contacts.first[bad].tolist(), contacts.second[bad].tolist(), strict=True))
        )
