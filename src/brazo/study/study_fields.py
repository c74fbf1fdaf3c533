"""Readers of fields that several kinds of study files share: controllers, factors and counts.

Error messages start with the location of the field in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from brazo import units
from brazo.control import controllers
from brazo.errors import BrazoError
from brazo.formats.document import Field
from brazo.study.factors import DISTRIBUTIONS, SAMPLINGS, Factor, grid, values
from brazo.study.scenario import ControllerChoice

MAX_VALUES = 10_000
Made = TypeVar("Made")


def located(field: Field, make: Callable[[], Made]) -> Made:
    """Call `make` and return its result; error messages get the location of `field`."""
    with field.errors_here():
        return make()


def folder_of(root: Field) -> Path:
    """Return the folder to which the paths in a study file are relative."""
    return Path() if root.path is None else root.path.parent


def loaded(field: Field, folder: Path, load: Callable[[str | Path], Made]) -> Made:
    """Call `load` with the name or path in a field and return the result.

    Text with a file extension is a path relative to `folder` if such a file exists there.  All
    other text is passed to `load` unchanged.
    """
    text = field.text(300).strip()
    local = folder / text
    with field.errors_here():
        return load(local if Path(text).suffix and local.is_file() else text)


def common_options(root: Field, fields: Mapping[str, Field]) -> dict[str, Any]:
    """Return the options that several kinds of studies share, such as name and duration."""
    stem = "study" if root.path is None else root.path.stem
    options: dict[str, Any] = {
        "name": fields["name"].identifier() if "name" in fields else stem,
        "about": fields["about"].text().strip() if "about" in fields else "",
    }
    for name in ("duration", "dt", "until"):
        if name in fields:
            options[name] = fields[name].number(units.TIME, above=0.0)
    for name, least in (("substeps", 1), ("samples", 1), ("repetitions", 1), ("seed", 0)):
        if name in fields:
            options[name] = whole_number(fields[name], least)
    if "sampling" in fields:
        options["sampling"] = fields["sampling"].choice(*SAMPLINGS)
    return options


def factors_of(
    fields: Mapping[str, Field],
    dimensions: Callable[[str, Field], tuple[units.Dimension, ...]],
    made: Callable[..., Any],
) -> dict[str, Factor]:
    """Return the factors of a study by name.

    `dimensions(name, field)` returns the allowed dimensions of a factor; an empty tuple allows all.
    `made(factors=…)` creates the study, which checks each factor.  Error messages get the location
    of the factor in the file.
    """
    factors: dict[str, Factor] = {}
    for name, field in fields["factors"].mapping().items() if "factors" in fields else ():
        factors[name] = factor_of(field, *dimensions(name, field))
        located(field, lambda: made(factors=factors))
    return factors


def success_of(fields: Mapping[str, Field], made: Callable[..., Any]) -> dict[str, float]:
    """Return the max values of metrics that a successful run may have, by metric name.

    `made(success=…)` creates the study, which checks each value.
    """
    success: dict[str, float] = {}
    for name, field in fields["success"].mapping().items() if "success" in fields else ():
        success[name] = field.quantity().value
        located(field, lambda: made(success=success))
    return success


def items_of(field: Field) -> list[Field]:
    """Return the entries of a list field, or a single value as a list."""
    found = list(field.items()) if field.is_list else [field]
    if not found:
        field.fail("the list is empty; give at least one entry")
    return found


def whole_number(field: Field, least: int) -> int:
    """Return the integer in a field; raise an error if it is smaller than `least`."""
    value = field.number(at_least=least)
    if value != round(value):
        field.fail(f"{value:g} is not a whole number")
    return round(value)


def controllers_of(field: Field) -> dict[str, ControllerChoice]:
    """Return the controllers by name.

    The field is a controller kind, a list of kinds, or a mapping of names to options and gains.
    """
    known = list(controllers())
    if not field.is_mapping:
        return {
            name: ControllerChoice(name) for name in (f.choice(*known) for f in items_of(field))
        }
    found: dict[str, ControllerChoice] = {}
    for name, block in field.mapping().items():
        given = {} if block.is_null else block.mapping()
        if "controller" in given:
            kind = given.pop("controller").choice(*known)
        elif name in known:
            kind = name
        else:
            block.fail(
                f"'{name}' is not a controller; choose {', '.join(known)}, or set the field "
                "'controller'"
            )
        choice = ControllerChoice(kind, {key: _option(item) for key, item in given.items()})
        with block.errors_here():
            choice.make()
        found[name] = choice
    if not found:
        field.fail("no controllers; give at least one")
    return found


def _option(field: Field) -> Any:
    """Return an option or gain: a number, a list of numbers, a boolean or a string."""
    if field.is_list:
        return [item.quantity().value for item in field.items(200)]
    text = field.text()
    if text in ("yes", "true", "on", "no", "false", "off"):
        return text in ("yes", "true", "on")
    try:
        return field.quantity().value
    except BrazoError:
        return text


def factor_of(field: Field, *dimensions: units.Dimension) -> Factor:
    """Return the factor in a field; its values must have one of the `dimensions`, if given."""
    given = field.mapping(("values", "grid", *DISTRIBUTIONS))
    if len(given) != 1:
        field.fail(f"expected exactly one of the fields values, grid, {', '.join(DISTRIBUTIONS)}")
    ((kind, item),) = given.items()
    count = 2 if kind == "grid" else MAX_VALUES  # the third number of a grid is a count
    numbers = [
        one.number(*dimensions) if dimensions and i < count else one.quantity().value
        for i, one in enumerate(item.items(MAX_VALUES))
    ]
    with item.errors_here():
        if kind == "values":
            if not numbers:
                item.fail("no values; give at least one")
            return values(numbers)
        if kind == "grid":
            if len(numbers) != 3 or numbers[2] != round(numbers[2]):
                item.fail("expected [start, stop, count]")
            return grid(numbers[0], numbers[1], round(numbers[2]))
        if len(numbers) != 2:
            item.fail("expected two numbers")
        return Factor(kind, (numbers[0], numbers[1]))  # pyright: ignore[reportArgumentType]
