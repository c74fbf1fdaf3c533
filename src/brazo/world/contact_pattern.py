"""The contact pattern of a step: which solids are near each other, and which of them touch.

A pattern stays the same over many steps and recurs, so what it means (levels by pair of parts, the
contacts between gripper pads and bodies) is worked out once and kept.  A step costs one comparison;
only the contact forces on the pads are new every time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.world.contacts import ContactReader

Array = np.ndarray
Pair = tuple[int, int]  # of parts
Slots = tuple[int, int, int]  # in `Pattern.contacts`: start of the left pad, of the right, end
NEAR, TOUCHING = 1, 2
MAX_PATTERNS = 1000  # kept at a time


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """What the contacts of a step mean, apart from their forces."""

    levels: dict[Pair, int]  # by pair of parts, of the wanted classes; not to be changed
    grips: tuple[dict[str, Slots], ...]  # by gripper: the bodies that both its pads touch
    contacts: Array  # the contacts between those pads and bodies, in the order of the slots
    gripping: bool  # there are such contacts


class PatternReader:
    """Reads the pattern of the engine's contacts.

    `pads` gives the left and right pad (geom ids) of every gripper, `bodies` the names of the
    bodies they can hold.
    """

    def __init__(
        self,
        reader: ContactReader,
        data: Any,
        wanted: frozenset[str],
        pads: Sequence[tuple[int, ...]] = (),
        bodies: Sequence[str] = (),
    ) -> None:
        self._reader = reader
        self._data = data
        self._wanted = wanted
        self._pads = pads
        self._bodies = bodies
        self._touch, self._near = np.zeros(()), np.array(reader.warning)
        self._known: dict[bytes, Pattern] = {}
        # The engine keeps its contacts at the start of its arena, so for a given number of contacts
        # the arrays that show them can be used again.
        self._views: dict[int, tuple[Array, Array, Array]] = {}
        self._addresses = np.zeros(0, int)

    def want(self, classes: frozenset[str]) -> None:
        """Set the classes of contact to give levels for."""
        self._wanted = classes
        self._known.clear()

    def read(self) -> Pattern:
        """The pattern of the engine's present contacts."""
        count = self._data.ncon
        if (views := self._views.get(count)) is None:
            contact = self._data.contact
            views = contact.dist, contact.geom, contact.efc_address
            if count:
                self._views[count] = views
        dist, geoms, self._addresses = views
        apart, far = dist > self._touch, dist > self._near
        key = geoms.tobytes() + apart.tobytes() + far.tobytes()
        if (pattern := self._known.get(key)) is None:
            if len(self._known) >= MAX_PATTERNS:
                self._known.clear()
            pattern = self._known[key] = self._interpret(geoms.tolist(), apart, far)
        return pattern

    def forces(self, pattern: Pattern) -> list[float]:
        """Normal forces (N) of the pattern's pad contacts; it must be the one read last."""
        at = self._addresses[pattern.contacts].astype(np.intp)
        if -1 in at.tolist():  # a robot that passes through things has contacts without a force
            return [float(self._data.efc_force[i]) if i >= 0 else 0.0 for i in at.tolist()]
        return self._data.efc_force[at].tolist()

    def _interpret(self, geoms: list[list[int]], apart: Array, far: Array) -> Pattern:
        reader = self._reader
        levels: dict[Pair, int] = {}
        pressed: dict[tuple[int, str], list[int]] = {}  # pad, body: contacts
        for i, (a, b) in enumerate(geoms):
            if reader.rank[a] > reader.rank[b]:
                a, b = b, a
            first, second = int(reader.part[a]), int(reader.part[b])
            touching = not apart[i]
            if not far[i] and reader.class_of(a, b) in self._wanted:
                level = TOUCHING if touching else NEAR
                levels[first, second] = max(level, levels.get((first, second), 0))
            if touching:
                pressed.setdefault((a, reader.names[second]), []).append(i)
        grips, contacts = [], []
        for left, right in self._pads:
            slots: dict[str, Slots] = {}
            for body in self._bodies:
                if (left, body) in pressed and (right, body) in pressed:
                    start, middle = len(contacts), len(contacts) + len(pressed[left, body])
                    contacts += pressed[left, body] + pressed[right, body]
                    slots[body] = start, middle, len(contacts)
            grips.append(slots)
        return Pattern(levels, tuple(grips), np.array(contacts, int), bool(contacts))
