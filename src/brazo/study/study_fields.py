"""Fields that all study files share: controllers, factors, counts, and errors at their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from brazo import units
from brazo.control import controllers
from brazo.errors import BrazoError
from brazo.formats.document import Field, Mistake
from brazo.study.factors import DISTRIBUTIONS, Factor, grid, values
from brazo.study.scenario import ControllerChoice

MAX_VALUES = 10_000
Made = TypeVar("Made")


def located(field: Field, make: Callable[[], Made]) -> Made:
    """What `make` returns, or its error at a field."""
    try:
        return make()
    except Mistake:
        raise
    except BrazoError as error:
        field.fail(str(error))


def stem_of(root: Field) -> str:
    """Name of a study file without its suffix."""
    return "study" if root.path is None else root.path.stem


def items_of(field: Field) -> list[Field]:
    """The entries of a list, or a single value."""
    found = list(field.items()) if field.is_list else [field]
    if not found:
        field.fail("the list is empty; give at least one")
    return found


def whole_number(field: Field, least: int) -> int:
    """An integer of at least `least`."""
    value = field.number(at_least=least)
    if value != round(value):
        field.fail(f"{value:g} is not a whole number")
    return round(value)


def controllers_of(field: Field) -> dict[str, ControllerChoice]:
    """Controllers by name: a list of kinds, or names with options and gains."""
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
                f"'{name}' is no controller; choose {', '.join(known)}, or set the field "
                "'controller'"
            )
        choice = ControllerChoice(kind, {key: _option(item) for key, item in given.items()})
        try:
            choice.make()
        except BrazoError as error:
            block.fail(str(error))
        found[name] = choice
    if not found:
        field.fail("no controllers; give at least one")
    return found


def _option(field: Field) -> Any:
    """An option or gain: a number, a list of numbers, yes, no or a word."""
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
    """A factor; its values must have one of the dimensions, if any are given."""
    given = field.mapping(("values", "grid", *DISTRIBUTIONS))
    if len(given) != 1:
        field.fail(f"expected one of values, grid, {', '.join(DISTRIBUTIONS)}")
    ((kind, item),) = given.items()
    count = 2 if kind == "grid" else MAX_VALUES  # the third number of a grid is a count
    numbers = [
        one.number(*dimensions) if dimensions and i < count else one.quantity().value
        for i, one in enumerate(item.items(MAX_VALUES))
    ]
    try:
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
    except Mistake:
        raise
    except BrazoError as error:
        item.fail(str(error))
