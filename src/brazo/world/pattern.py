"""The pattern of contacts, step by step: cheap to compare, and cheap to read when it changed.

Most steps bring nothing new.  So the solids in contact, which of them touch and which are near are
compared as bytes with the step before.  A new pattern is walked through once, and for every contact
a table, filled as pairs of solids turn up, knows what there is to note: the pair of parts whose
level it tells of, and the pad and body whose forces it is one of.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brazo.world.contacts import ContactReader

Pair = tuple[int, int]  # of parts
NEAR, TOUCHING = 1, 2
Rows = list[int]  # contacts, by their place in the engine's list


class Pattern:
    """What touches what, for the classes of contact somebody wants and for the pads of clamps."""

    def __init__(self, reader: ContactReader, wanted: frozenset[str]) -> None:
        self._warning = reader.warning
        self._edges = np.array([[0.0], [reader.warning]])  # of touching, of being near
        self._reader = reader
        self._wanted = wanted
        self._known: dict[int, tuple[Pair | None, Rows | None]] = {}
        self._signature: tuple[bytes, bytes] | None = None
        self._pads: dict[int, dict[str, Rows]] = {}  # pad: body: contacts
        self.levels: dict[Pair, int] = {}

    def pad(self, geom: int, bodies: list[str]) -> dict[str, Rows]:
        """Note from now on which contacts are those of a pad with these bodies."""
        self._pads[geom] = {name: [] for name in bodies}
        self._known.clear()
        return self._pads[geom]

    def want(self, classes: frozenset[str]) -> None:
        """Other classes of contact from now on."""
        self._wanted = classes
        self._known.clear()
        self.forget()

    def forget(self) -> None:
        """Count the next contacts as changed."""
        self._signature = None

    def changed(self, contact: Any) -> bool:
        """Whether the engine's contacts have another pattern than at the last call."""
        dist = contact.dist
        pairs = contact.geom.view(np.int64)  # both solids as one number
        signature = pairs.tobytes(), (dist <= self._edges).tobytes()
        if signature == self._signature:
            return False
        self._signature = signature
        self._read(pairs.ravel().tolist(), dist.tolist())
        return True

    def _read(self, pairs: list[int], dist: list[float]) -> None:
        for pad in self._pads.values():
            for rows in pad.values():
                rows.clear()
        levels: dict[Pair, int] = {}
        known, warning = self._known, self._warning
        for row, code in enumerate(pairs):
            d = dist[row]
            if d > warning:
                continue
            note = known.get(code)
            if note is None:
                note = known[code] = self._note(code)
            pair, rows = note
            if pair is not None:
                if d <= 0.0:
                    levels[pair] = TOUCHING
                else:
                    levels.setdefault(pair, NEAR)
            if rows is not None and d <= 0.0:
                rows.append(row)
        self.levels = levels

    def _note(self, code: int) -> tuple[Pair | None, Rows | None]:
        """What a contact of two solids tells."""
        a, b = np.array([code]).view(np.int32).tolist()
        reader = self._reader
        if reader.rank[a] > reader.rank[b]:
            a, b = b, a
        first, second = int(reader.part[a]), int(reader.part[b])
        pair = (first, second) if reader.class_of(a, b) in self._wanted else None
        return pair, self._pads.get(a, {}).get(reader.names[second])
