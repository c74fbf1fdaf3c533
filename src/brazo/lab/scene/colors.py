"""Colours of the drawn parts of a cell.

A part is drawn in its own colour, mixed with a highlight colour if its body is selected or marked.
Only colours that changed are sent to the pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Color = tuple[int, int, int]
SELECTED: Color = (255, 146, 43)
SEE_THROUGH = 0.35


class Colors:
    """Colours and opacity of the drawn parts; `solids[i]` are the viser handles of body i."""

    def __init__(self, solids: Sequence[Sequence[Any]]) -> None:
        self.solids = solids
        self._own: list[list[Color]] = [[tuple(s.color) for s in body] for body in solids]
        self._sent = [list(body) for body in self._own]
        self._marked: Mapping[int, Color] = {}
        self._selected: frozenset[int] = frozenset()
        self._through = False

    @property
    def see_through(self) -> bool:
        """Whether all bodies are transparent."""
        return self._through

    @see_through.setter
    def see_through(self, on: bool) -> None:
        if on != self._through:
            self._through = on
            for body in self.solids:
                for solid in body:
                    solid.opacity = SEE_THROUGH if on else None

    def mark(self, bodies: Mapping[int, Color]) -> None:
        """Highlight bodies in given colours: body index -> colour.  Replaces all earlier marks."""
        if bodies != self._marked:
            self._marked = dict(bodies)
            self._send()

    def select(self, bodies: frozenset[int]) -> None:
        """Highlight the bodies with these indices as selected, and no others."""
        if bodies != self._selected:
            self._selected = bodies
            self._send()

    def _send(self) -> None:
        for i, body in enumerate(self.solids):
            for j, solid in enumerate(body):
                color = self._color(i, self._own[i][j])
                if color != self._sent[i][j]:
                    self._sent[i][j] = color
                    solid.color = color

    def _color(self, i: int, own: Color) -> Color:
        if i in self._marked:
            return _mixed(own, self._marked[i], 0.85)
        return _mixed(own, SELECTED, 0.55) if i in self._selected else own


def _mixed(a: Color, b: Color, share: float) -> Color:
    red, green, blue = (round((1 - share) * x + share * y) for x, y in zip(a, b, strict=True))
    return red, green, blue
