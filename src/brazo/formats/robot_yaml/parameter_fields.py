"""The block `parameters` of a robot file: named values, and expressions of other parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping

from brazo import units
from brazo.errors import BrazoError
from brazo.formats.document import Field
from brazo.formats.robot_yaml.joint_fields import Names

MAX_PARAMETERS = 200


def read_parameters(root: Field, fields: dict[str, Field], overrides: Mapping[str, float]) -> Names:
    """Return the evaluated parameters of a file; `overrides` (SI) replace values of the file."""
    given: dict[str, Field] = {}
    if "parameters" in fields:
        block = fields["parameters"]
        given = block.mapping()
        if len(given) > MAX_PARAMETERS:
            block.fail(f"{len(given)} parameters; at most {MAX_PARAMETERS} are allowed")
    for name in overrides:
        if name not in given:
            known = ", ".join(given) or "none"
            raise BrazoError(f"unknown parameter '{name}'; this robot has: {known}")
    root.origins.clear()
    root.origins.update({name: given[name] for name in given if name not in overrides})
    return _evaluate_parameters(given, overrides)


def _evaluate_parameters(given: dict[str, Field], overrides: Mapping[str, float]) -> Names:
    """Return the values of the parameters by name.

    `given` are the fields of the parameters; they may refer to each other in any order.  Raises a
    Mistake if a parameter depends on itself.
    """
    values: dict[str, units.Quantity] = {}
    waiting = dict(given)
    for name, field in given.items():
        if not name.isidentifier() or name in units.RESERVED:
            field.fail(
                f"'{name[:40]}' cannot be a parameter's name; use letters, digits and _, but not "
                f"the name of a constant or function ({', '.join(units.RESERVED)})"
            )
    while waiting:
        ready = {}
        for name, field in waiting.items():
            if not field.expression(given).names & waiting.keys():
                own = field.quantity(values)
                ready[name] = _overridden(name, own, overrides) if name in overrides else own
        if not ready:
            name, field = next(iter(waiting.items()))
            field.fail(
                f"'{name}' depends on itself or on a circular definition: {', '.join(waiting)}"
            )
        values.update(ready)
        for name in ready:
            del waiting[name]
    return {name: values[name] for name in given}


def _overridden(
    name: str, original: units.Quantity, overrides: Mapping[str, float]
) -> units.Quantity:
    """Return the value of a parameter in `overrides`, with the dimension of the value in the file.

    `original` is the value in the file.
    """
    try:
        value = float(overrides[name])
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise BrazoError(
            f"parameter '{name}' must be a finite number in SI units, got {overrides[name]!r}"
        )
    return units.Quantity(value, original.dimension)
