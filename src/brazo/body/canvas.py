"""Canvas that collects the parts of an arm, grouped by body, with methods for common shapes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from brazo.body.skeleton import Span
from brazo.body.style import Color, Style
from brazo.model.description import Part, frozen
from brazo.model.shapes import Cylinder, Shape
from brazo.model.transforms import translate

_ORDINALS = ("zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth",
             "ninth", "tenth", "eleventh", "twelfth")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Canvas:
    """Collection of the parts of an arm, filled by the functions that draw the arm.

    `parts[i]` are the parts of body i; body 0 is the base.  The pose of a part is in the
    frame of its body.
    """

    style: Style
    parts: tuple[list[Part], ...]

    def add(
        self, body: int, name: str, shape: Shape, pose: np.ndarray, color: Color, collides=True
    ) -> None:
        self.parts[body].append(Part(name, shape, frozen(pose, (4, 4)), color, collides))

    def cylinder(
        self, body: int, name: str, frame: np.ndarray, span: Span, radius: float, color: Color,
        bevel: float = 0.16, collides=True,
    ) -> None:  # fmt: skip
        """Add a cylinder along the z axis of `frame`, from z = span[0] to z = span[1] (m).

        `frame` (4, 4) is a pose in the frame of the body with index `body`.  `bevel` is the bevel
        radius divided by the cylinder radius.
        """
        lo, hi = min(span), max(span)
        shape = Cylinder(radius, hi - lo, min(bevel * radius, 0.45 * (hi - lo)))
        self.add(body, name, shape, frame @ translate(z=(lo + hi) / 2), color, collides)

    def cap(
        self, body: int, name: str, frame: np.ndarray, face: float, outward: float, radius: float
    ) -> None:
        """Add the dark round cover of a joint to the flat end of a housing.

        The end is at z = `face` (m) in `frame` (4, 4), a pose in the frame of the body with index
        `body`.  `outward` is +1 if the end faces along +z, -1 if it faces along -z.
        """
        span = (face - 0.1 * outward * radius, face + 0.08 * outward * radius)
        color = self.style.joint
        self.cylinder(body, name, frame, span, 0.68 * radius, color, bevel=0.05, collides=False)

    def finished(self) -> tuple[tuple[Part, ...], ...]:
        """Return the parts of each body; their names are unique within the body.

        Every moving body has a main part, which is named "first segment" for body 1, "second
        segment" for body 2 and so on.
        """
        return tuple(_named(i, parts) for i, parts in enumerate(self.parts))


def ordinal(i: int) -> str:
    """Return i as an English ordinal ("first", "second", ...) for part names."""
    if i < len(_ORDINALS):
        return _ORDINALS[i]
    ending = "th" if i // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(i % 10, "th")
    return f"{i}{ending}"


def _named(i: int, parts: list[Part]) -> tuple[Part, ...]:
    segment = f"{ordinal(i)} segment"
    if i > 0 and all(part.name != segment for part in parts):
        main = next(k for k, part in enumerate(parts) if part.name.startswith(ordinal(i)))
        parts = [replace(p, name=segment) if k == main else p for k, p in enumerate(parts)]
    seen: dict[str, int] = {}
    unique = []
    for part in parts:
        count = seen[part.name] = seen.get(part.name, 0) + 1
        unique.append(part if count == 1 else replace(part, name=f"{part.name} {count}"))
    return tuple(unique)
