"""Dimension of a parameter of a robot file, such as length, angle or mass.

A parameter written with a unit has the dimension of the unit.  A parameter without a unit (`L1:
0.3`) has the dimension of the fields in which it is used, directly or through other parameters: `a:
L1` makes it a length.  Only the fields of lengths, angles and masses in `_OF` count.  If the
parameter is used in fields of several dimensions, or in none, it is a plain number.
"""

from __future__ import annotations

from brazo import units
from brazo.formats.robot_yaml.robot_file import RobotFile

_OF = {
    units.LENGTH: (
        "d", "a", "xyz", "com", "box", "cylinder", "capsule", "sphere", "opening", "finger", "R",
        "r", "L1", "L2",
    ),
    units.ANGLE: ("alpha", "theta", "rpy", "azimuths"),
    units.MASS: ("mass", "rod_mass", "platform_mass"),
}  # fmt: skip
_MEASURES = {key: dimension for dimension, keys in _OF.items() for key in keys}


def parameter_dimensions(file: RobotFile) -> dict[str, units.Dimension | None]:
    """Return the dimension of every parameter by name; None for a plain number."""
    names = file.names()
    uses: dict[str, set[units.Dimension]] = {name: set() for name in names}
    derived: dict[str, set[str]] = {name: set() for name in names}  # parameters computed from it
    for place, expression in file.build().expressions.items():
        key = place.rpartition(".")[2].partition("[")[0]
        for name in expression.names & names.keys():
            if place.startswith("parameters."):
                derived[name].add(key)
            elif key in _MEASURES:
                uses[name].add(_MEASURES[key])

    def of(name: str) -> units.Dimension | None:
        if names[name].dimension is not None:
            return names[name].dimension
        found, todo, seen = set(), [name], set()
        while todo:
            one = todo.pop()
            if one not in seen:
                seen.add(one)
                found |= uses[one]
                todo += derived[one]
        return found.pop() if len(found) == 1 else None

    return {name: of(name) for name in names}
