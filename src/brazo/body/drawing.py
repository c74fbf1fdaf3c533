"""Visible parts of a robot, generated on first use.

Most uses of a robot do not need the parts, and generating them takes longer than reading the robot
file.
`DrawnParts` stores the function that generates the parts.  The parts of one body are a sequence
that calls this function on first access.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any

from brazo.model.description import Part


class DrawnParts:
    """Parts of all bodies of a robot, generated on first use.

    A pickle contains only the function that generates the parts, not the parts.
    """

    def __init__(self, draw: Callable[[], Any]) -> None:
        self._draw = draw  # parts by body: a list, or a mapping by name

    @cached_property
    def _drawn(self) -> Any:
        return self._draw()

    def __reduce__(self) -> tuple:
        return DrawnParts, (self._draw,)

    def parts(self, body: Hashable) -> Sequence[Part]:
        """Return a sequence of the parts of one body; they are generated on first access.

        `body` is the index or the name of the body.
        """
        return _Parts(self, body)

    def parts_now(self, body: Hashable) -> tuple[Part, ...]:
        """Return the parts of one body as a tuple; generate them if this has not been done yet."""
        return tuple(self._drawn[body])


class _Parts(Sequence[Part]):
    """Sequence of the parts of one body, generated on first use."""

    __slots__ = ("_body", "_drawing")

    def __init__(self, drawing: DrawnParts, body: Hashable) -> None:
        self._drawing, self._body = drawing, body

    def __reduce__(self) -> tuple:
        return _Parts, (self._drawing, self._body)

    def __len__(self) -> int:
        return len(self._drawing.parts_now(self._body))

    def __getitem__(self, index: Any) -> Any:
        return self._drawing.parts_now(self._body)[index]

    def __repr__(self) -> str:
        return repr(self._drawing.parts_now(self._body))
