"""Who touches whom, and how hard pads press, summed up from the contacts of a step.

Done in every step that is looked at, so it does no more than needed.  Which solids are near each
other and which of them touch is a pattern that stays the same over many steps and comes again:
what it tells is worked out once.  Only the forces on pads are new every time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brazo.world.contacts import ContactReader

Pair = tuple[int, int]  # of parts
NEAR, TOUCHING = 1, 2
MOST_PATTERNS = 1000  # kept at a time


class Pressure:
    """What a pad does to a body: contacts that touch, and the sum of their normal forces (N)."""

    __slots__ = ("contacts", "force")

    def __init__(self) -> None:
        self.contacts = 0
        self.force = 0.0


Presses = list[tuple[Pressure, list[int]]]  # and the contacts that make it up


class Tally:
    """Levels of the classes of contact somebody wants, and pressures of the pads of clamps."""

    def __init__(self, reader: ContactReader, wanted: frozenset[str]) -> None:
        self._bounds = np.array([[0.0], [reader.warning]])
        self.reader = reader
        self.wanted = wanted
        self._known: dict[bytes, tuple[dict[Pair, int], Presses]] = {}
        self._pads: dict[int, dict[str, Pressure]] = {}  # pad: body
        self._pressed: Presses = []

    def pad(self, geom: int, bodies: list[str]) -> dict[str, Pressure]:
        """Sum up from now on how a pad presses on these bodies."""
        self._pads[geom] = {name: Pressure() for name in bodies}
        self._known.clear()
        return self._pads[geom]

    def want(self, classes: frozenset[str]) -> None:
        """Other classes of contact from now on."""
        self.wanted = classes
        self._known.clear()

    @property
    def presses(self) -> bool:
        """Whether a pad pressed on a body in the step last looked at."""
        return bool(self._pressed)

    def count(self, data: Any) -> dict[Pair, int]:
        """Look at the engine's contacts; the levels by pair of parts, not to be changed."""
        contact = data.contact
        apart = contact.dist > self._bounds
        pattern = contact.geom.tobytes() + apart.tobytes()
        if (told := self._known.get(pattern)) is None:
            if len(self._known) >= MOST_PATTERNS:
                self._known.clear()
            told = self._known[pattern] = self._tell(contact.geom.tolist(), apart)
        levels, presses = told
        for pressure, _ in self._pressed:
            pressure.contacts, pressure.force = 0, 0.0
        self._pressed = presses
        if presses:
            forces, address = data.efc_force.data, contact.efc_address.tolist()
            for pressure, places in presses:
                pressure.contacts = len(places)
                force = 0.0
                for i in places:
                    if (at := address[i]) >= 0:  # one that pushes
                        force += forces[at]
                pressure.force = force
        return levels

    def _tell(self, solids: list[list[int]], apart: np.ndarray) -> tuple[dict[Pair, int], Presses]:
        """What contacts of these solids mean, of which some are apart and some out of sight."""
        reader = self.reader
        levels: dict[Pair, int] = {}
        places: dict[Pressure, list[int]] = {}
        for i, (a, b) in enumerate(solids):
            if reader.rank[a] > reader.rank[b]:
                a, b = b, a
            first, second = int(reader.part[a]), int(reader.part[b])
            touching = not apart[0, i]
            if not apart[1, i] and reader.class_of(a, b) in self.wanted:
                level = TOUCHING if touching else NEAR
                levels[first, second] = max(level, levels.get((first, second), 0))
            pressure = self._pads.get(a, {}).get(reader.names[second])
            if touching and pressure is not None:
                places.setdefault(pressure, []).append(i)
        return levels, list(places.items())
