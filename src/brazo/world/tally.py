"""The contacts of a step walked through once: who touches whom, and how hard pads press.

Done in every step that is looked at, so it does no more than needed.  For every pair of solids a
table, filled as pairs turn up, knows what a contact of theirs tells: the pair of parts whose level
it is one of, and the pad and body whose pressure it adds to.  Most contacts (bodies at rest on what
stands there) tell nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brazo.world.contacts import ContactReader

Pair = tuple[int, int]  # of parts
NEAR, TOUCHING = 1, 2


class Pressure:
    """What a pad does to a body: contacts that touch, and the sum of their normal forces (N)."""

    __slots__ = ("contacts", "force")

    def __init__(self) -> None:
        self.contacts = 0
        self.force = 0.0


Note = tuple[Pair | None, Pressure | None]


class Tally:
    """Levels of the classes of contact somebody wants, and pressures of the pads of clamps."""

    def __init__(self, reader: ContactReader, wanted: frozenset[str]) -> None:
        self._warning = reader.warning
        self._reader = reader
        self._wanted = wanted
        self._known = _Notes(self)
        self._pads: dict[int, dict[str, Pressure]] = {}  # pad: body
        self._pressed: list[Pressure] = []
        self.levels: dict[Pair, int] = {}

    def pad(self, geom: int, bodies: list[str]) -> dict[str, Pressure]:
        """Sum up from now on how a pad presses on these bodies."""
        self._pads[geom] = {name: Pressure() for name in bodies}
        self._known.clear()
        return self._pads[geom]

    def want(self, classes: frozenset[str]) -> None:
        """Other classes of contact from now on."""
        self._wanted = classes
        self._known.clear()

    def count(self, data: Any) -> dict[Pair, int]:
        """Walk through the engine's contacts; the levels by pair of parts."""
        for pressure in self._pressed:
            pressure.contacts, pressure.force = 0, 0.0
        self._pressed.clear()
        levels: dict[Pair, int] = {}
        contact = data.contact
        pairs = memoryview(contact.geom.tobytes()).cast("q")  # both solids as one number
        known, warning, forces = self._known, self._warning, None
        last, pair, pressure = 0, None, None
        for code, dist, at in zip(
            pairs, contact.dist.tolist(), contact.efc_address.tolist(), strict=True
        ):
            if code != last:  # contacts of one pair come one after the other
                last = code
                pair, pressure = known[code]
            if pair is None and pressure is None:
                continue
            if dist <= 0.0:
                if pair is not None:
                    levels[pair] = TOUCHING
                if pressure is not None:
                    if forces is None:
                        forces = data.efc_force.data  # a view: only few of them are wanted
                    if not pressure.contacts:
                        self._pressed.append(pressure)
                    pressure.contacts += 1
                    if at >= 0:  # one that pushes
                        pressure.force += forces[at]
            elif pair is not None and dist <= warning and pair not in levels:
                levels[pair] = NEAR
        self.levels = levels
        return levels

    def note(self, code: int) -> Note:
        """What a contact of two solids tells."""
        a, b = np.array([code]).view(np.int32).tolist()
        reader = self._reader
        if reader.rank[a] > reader.rank[b]:
            a, b = b, a
        first, second = int(reader.part[a]), int(reader.part[b])
        pair = (first, second) if reader.class_of(a, b) in self._wanted else None
        return pair, self._pads.get(a, {}).get(reader.names[second])


class _Notes(dict[int, Note]):
    """Notes by pair of solids, found out when first asked for."""

    def __init__(self, tally: Tally) -> None:
        super().__init__()
        self._tally = tally

    def __missing__(self, code: int) -> Note:
        note = self[code] = self._tally.note(code)
        return note
