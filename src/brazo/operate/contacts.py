"""Unintended contacts of a robot: with fixtures, other robots and its own parts."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from brazo.world.contacts import CLASSES

if TYPE_CHECKING:
    from brazo.simulation.robot import SimRobot
    from brazo.world import Contacts

COLLISIONS = ("robot-robot", "self", "robot-fixture")
AWAY = {"revolute": math.radians(2.0), "prismatic": 5e-3}  # min deviation from the reference
_IS_BAD = np.isin(CLASSES, COLLISIONS)


def unintended(contacts: Contacts) -> np.ndarray:
    """Return a mask (k,): True for contacts with depth ≥ 0 whose class is in `COLLISIONS`."""
    return (contacts.depth >= 0.0) & _IS_BAD[contacts.kind]


def touched(contacts: Contacts, robot: str) -> set[str]:
    """Return the names of all objects that a robot touches unintentionally.

    An object is a fixture, another robot, or two parts of this robot that touch (`A and B`).
    """
    if not len(contacts):
        return set()
    names = contacts.names
    rows = np.flatnonzero(unintended(contacts))  # called in every step, so only these rows
    pairs = ((names[contacts.first[i]], names[contacts.second[i]]) for i in rows)
    return {_other(a, b, robot) for a, b in pairs if _of(a, robot) or _of(b, robot)}


def struck(contacts: Contacts, robot: str, among: Collection[str] | None = None) -> str:
    """Return a message about the robot's unintended contact with the highest force, or "".

    If `among` is given, only contacts with these objects count.  Objects are named as in `touched`.
    """
    hits = [c for c in contacts.of(robot) if c.touching and c.kind in COLLISIONS]
    if among is not None:
        hits = [c for c in hits if _other(c.first, c.second, robot) in among]
    if not hits:
        return ""
    hit = max(hits, key=lambda c: float(c.force @ c.force))
    if hit.kind == "self":
        near, far = sorted((hit.first, hit.second), key=contacts.names.index)
        part, other = far, f"the robot's own {near.removeprefix(f'{robot}/')}"
    elif _of(hit.first, robot):
        part, other = hit.first, hit.second
    else:
        part, other = hit.second, hit.first
    return (
        f"{part.removeprefix(f'{robot}/')} touches {other.replace('/', ': ')}: move the robot back"
    )


def _of(part: str, robot: str) -> bool:
    return part.startswith(f"{robot}/")


def _other(first: str, second: str, robot: str) -> str:
    """Return what a robot touches in a contact: a fixture, a robot or a pair of its own parts."""
    if _of(first, robot) and _of(second, robot):
        return f"{first.removeprefix(f'{robot}/')} and {second.removeprefix(f'{robot}/')}"
    return (second if _of(first, robot) else first).partition("/")[0]


def held_up(contacts: Contacts, robot: SimRobot) -> str:
    """Return a message if a robot touches a free body and is far from its reference, or "".

    The robot is far if a joint deviates from its reference by at least `AWAY`.
    """
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
    return f"{part} touches {hit.second}: {joint} is {far} from its target"
