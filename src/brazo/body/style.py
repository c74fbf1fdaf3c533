"""Colours and proportions of the generated geometry, which a robot file can set."""

from __future__ import annotations

from dataclasses import dataclass

Color = tuple[float, float, float]  # red, green, blue, 0..1


@dataclass(frozen=True, slots=True)
class Style:
    """Colours and proportions of the generated parts of a robot.

    `width` scales every radius and leaves the lengths unchanged.  `radii` (m) are the radii of the
    joints, followed by the radius of the tool flange; for a Delta, only the radius of its drives.
    By default the radii follow from the lengths.
    """

    base: Color = (0.80, 0.81, 0.82)
    link: Color = (0.93, 0.93, 0.91)
    joint: Color = (0.20, 0.22, 0.25)
    accent: Color = (0.93, 0.42, 0.09)
    steel: Color = (0.66, 0.68, 0.71)
    width: float = 1.0
    base_height: float = 0.0  # min height (m) of the base below the first moving part
    radii: tuple[float, ...] = ()
