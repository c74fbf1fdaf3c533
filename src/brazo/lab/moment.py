"""What the lab shows of a moment, read from the simulation between two steps in one go."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from brazo.lab.replay import Replay
from brazo.world.contacts import CLASSES

if TYPE_CHECKING:
    from brazo.simulation import Simulation
    from brazo.simulation.robot import SimRobot
    from brazo.world import Contacts

COLLISIONS = ("robot-robot", "self", "robot-fixture")
AWAY = {"revolute": math.radians(2.0), "prismatic": 5e-3}  # from where a joint was sent
_BAD = [CLASSES.index(name) for name in COLLISIONS]  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """One moment of a simulation."""

    time: float
    poses: np.ndarray  # (k, 4, 4) of everything drawn
    references: dict[str, np.ndarray]  # where each robot is asked to be
    contacts: Contacts

    @classmethod
    def of(cls, sim: Simulation) -> Moment:
        """The present one."""
        with sim.lock:
            if isinstance(sim, Replay):
                sim.settle()
            references = {name: robot.motion.q.copy() for name, robot in sim.robots.items()}
            return cls(sim.time, sim.world.poses(), references, sim.world.contacts())

    def collisions(self) -> int:
        """How many pairs of parts touch that should not: robots, themselves, what stands still."""
        contacts = self.contacts
        if not len(contacts):
            return 0
        bad = (contacts.depth >= 0.0) & np.isin(contacts.kind, _BAD)
        return len(
            set(zip(contacts.first[bad].tolist(), contacts.second[bad].tolist(), strict=True))
        )


def touched(contacts: Contacts, robot: str) -> set[str]:
    """What a robot touches and should not: fixtures, other robots, two parts of its own."""
    if not len(contacts) or not ((contacts.depth >= 0.0) & np.isin(contacts.kind, _BAD)).any():
        return set()  # so it costs little in every step
    found = set()
    for c in contacts.of(robot):
        if c.touching and c.kind in COLLISIONS:
            others = [n for n in (c.first, c.second) if not n.startswith(f"{robot}/")]
            found.add(others[0].partition("/")[0] if others else f"{c.first} {c.second}")
    return found


def struck(contacts: Contacts, robot: str) -> str:
    """What a robot touches and should not, where it is pressed most, in words; "" for nothing."""
    hits = [c for c in contacts.of(robot) if c.touching and c.kind in COLLISIONS]
    if not hits:
        return ""
    hit = max(hits, key=lambda c: float(c.force @ c.force))
    if hit.kind == "self":
        near, far = sorted((hit.first, hit.second), key=contacts.names.index)
        part, other = far, f"the robot's own {near.removeprefix(f'{robot}/')}"
    elif hit.first.startswith(f"{robot}/"):
        part, other = hit.first, hit.second
    else:
        part, other = hit.second, hit.first
    return f"{part.removeprefix(f'{robot}/')} touches {other.replace('/', ': ')}: move it back"


def held_up(contacts: Contacts, robot: SimRobot) -> str:
    """What keeps a robot from where it was sent, in words; "" while it goes there."""
    touches = [c for c in contacts.of(robot.name) if c.touching and c.kind == "robot-object"]
    kinds = robot.arm.joint_kinds
    away = np.abs(robot.q - robot.reference.q)
    i = int(np.argmax(away / [AWAY[kind] for kind in kinds]))
    if not touches or away[i] < AWAY[kinds[i]]:
        return ""
    hit = max(touches, key=lambda c: float(c.force @ c.force))
    turns = kinds[i] == "revolute"
    far = f"{math.degrees(away[i]):.0f}°" if turns else f"{1000.0 * away[i]:.0f} mm"
    part = hit.first.removeprefix(f"{robot.name}/")
    joint = robot.arm.joint_names[i]
    return f"{part} touches {hit.second}: {joint} is {far} from where it was sent"
