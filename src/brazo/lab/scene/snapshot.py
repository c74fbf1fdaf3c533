"""What the lab shows of a moment, read from the simulation between two steps in one go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from brazo.operate.contacts import unintended

if TYPE_CHECKING:
    from brazo.lab.scene.shown import Shown
    from brazo.world import Contacts


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """One moment of a simulation."""

    time: float
    poses: np.ndarray  # (k, 4, 4) of everything drawn
    references: dict[str, np.ndarray]  # where each robot is asked to be
    contacts: Contacts

    @classmethod
    def of(cls, sim: Shown) -> Snapshot:
        """The present one."""
        with sim.lock:
            world = sim.world
            references = {name: robot.reference.q for name, robot in sim.robots.items()}
            return cls(sim.time, world.poses(), references, world.contacts())

    def collisions(self) -> int:
        """How many pairs of parts touch that should not: robots, themselves, what stands still."""
        contacts = self.contacts
        if not len(contacts):
            return 0
        bad = unintended(contacts)
        return len(
            set(zip(contacts.first[bad].tolist(), contacts.second[bad].tolist(), strict=True))
        )
