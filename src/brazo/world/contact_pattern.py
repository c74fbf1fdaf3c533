"""Contact pattern of a step: the geom pairs that are near each other or touch.

The same pattern usually occurs in many steps.  The contact levels of pairs of parts (`NEAR` or
`TOUCHING`) and the contacts between gripper pads and bodies are therefore computed once per pattern
and cached.  Each step then looks up its pattern and reads the contact forces on the pads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.world.contacts import ContactReader

Array = np.ndarray
Pair = tuple[int, int]  # indices of two parts
Slots = tuple[int, int, int]  # in `Pattern.contacts`: start of the left pad, of the right, end
NEAR, TOUCHING = 1, 2
MAX_PATTERNS = 1000  # max number of cached patterns


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """Contact levels of pairs of parts and contacts of gripper pads in a step, without forces."""

    levels: dict[Pair, int]  # by pair of parts, for the requested contact classes; do not modify
    grips: tuple[dict[str, Slots], ...]  # by gripper: the bodies that both its pads touch
    contacts: Array  # the contacts between those pads and bodies, in the order of the slots
    gripping: bool  # there are such contacts


class PatternReader:
    """Reader of the contact pattern from the engine's contacts.

    `pads` contains the geom ids of the left and right pad of each gripper.  `bodies` are the names
    of the bodies that can be grasped.
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
        # The engine stores its contacts at the start of its arena, so the views for a given number
        # of contacts can be reused.
        self._views: dict[int, tuple[Array, Array, Array]] = {}
        self._addresses = np.zeros(0, int)

    def want(self, classes: frozenset[str]) -> None:
        """Set the contact classes, such as `robot-robot`, for which contact levels are computed."""
        self._wanted = classes
        self._known.clear()

    def read(self) -> Pattern:
        """Return the pattern of the engine's current contacts."""
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
        """Return the normal forces (N) of the contacts `pattern.contacts`.

        `pattern` must be the result of the last call of `read`.
        """
        at = self._addresses[pattern.contacts].astype(np.intp)
        if -1 in at.tolist():  # contacts of a robot with contact response off have no force
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
