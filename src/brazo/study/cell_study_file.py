"""The file of a study of a cell: YAML fields to a `CellStudy`.

name: cooperative
cell: cooperative                       # a name, or a path relative to this file
program: cooperative                    # default: the shipped program of the cell
factors:
  measured_position_error: {uniform: [0, 5mm]}
  pad_friction: {uniform: [0.3, 1.2]}
  bar 1.x: {values: [-5mm, 0, 5mm]}
samples: 200
sampling: latin-hypercube
until: 2min
success: {collisions: 0}
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from brazo import units
from brazo.errors import BrazoError
from brazo.formats.document import Field, Mistake
from brazo.program import Program, load_program
from brazo.study.cell_factors import factor_dimension
from brazo.study.cell_study import CellStudy
from brazo.study.delay_study import SCHEMES, DelayStudy
from brazo.study.factors import SAMPLINGS, Factor
from brazo.study.study_fields import (
    controllers_of,
    factor_of,
    items_of,
    located,
    stem_of,
    whole_number,
)
from brazo.world import Cell, load_cell

_FIELDS = (
    "name", "about", "cell", "program", "controllers", "cases", "factors", "samples", "sampling",
    "repetitions", "seed", "until", "success",
)  # fmt: skip
Loaded = TypeVar("Loaded")


def read_cell_study(root: Field) -> CellStudy:
    """Read the fields of a study of a cell."""
    fields = root.mapping(_FIELDS)
    folder = Path() if root.path is None else root.path.parent
    cell: Cell = _loaded(fields["cell"], folder, load_cell)
    program: Program | None = None
    if "program" in fields:
        program = _loaded(fields["program"], folder, load_program)
    options: dict[str, Any] = {
        "name": fields["name"].identifier() if "name" in fields else stem_of(root),
        "about": fields["about"].text().strip() if "about" in fields else "",
    }
    if "until" in fields:
        options["until"] = fields["until"].number(units.TIME, above=0.0)
    for name, least in (("samples", 1), ("repetitions", 1), ("seed", 0)):
        if name in fields:
            options[name] = whole_number(fields[name], least)
    if "sampling" in fields:
        options["sampling"] = fields["sampling"].choice(*SAMPLINGS)
    if "controllers" in fields:
        options["controllers"] = controllers_of(fields["controllers"])

    def made(**more: Any) -> CellStudy:
        return CellStudy(cell, program, **options, **more)

    located(root, made)
    factors: dict[str, Factor] = {}
    for name, field in fields["factors"].mapping().items() if "factors" in fields else ():
        factors[name] = factor_of(field, _dimension(cell, name, field))
        located(field, lambda: made(factors=factors))
    if "cases" in fields:
        cases: dict[str, dict[str, float]] = {}
        for name, block in fields["cases"].mapping().items():
            given = {} if block.is_null else block.mapping()
            cases[name] = {k: f.number(_dimension(cell, k, f)) for k, f in given.items()}
            located(block, lambda: made(factors=factors, cases=cases))
        if not cases:
            fields["cases"].fail("no cases; give at least one, or leave the field out")
        options["cases"] = cases
    success: dict[str, float] = {}
    for name, field in fields["success"].mapping().items() if "success" in fields else ():
        success[name] = field.quantity().value
        located(field, lambda: made(success=success))
    return located(root, lambda: made(factors=factors, success=success))


_DELAY = (
    "name", "about", "teleop", "schemes", "factors", "samples", "sampling", "repetitions", "seed",
    "duration", "success",
)  # fmt: skip


def read_delay_study(root: Field) -> DelayStudy:
    """Read the fields of a study of delays."""
    fields = root.mapping(_DELAY)
    folder = Path() if root.path is None else root.path.parent
    cell: Cell = _loaded(fields["teleop"], folder, load_cell)
    options: dict[str, Any] = {
        "name": fields["name"].identifier() if "name" in fields else stem_of(root),
        "about": fields["about"].text().strip() if "about" in fields else "",
    }
    if "duration" in fields:
        options["duration"] = fields["duration"].number(units.TIME, above=0.0)
    for name, least in (("samples", 1), ("repetitions", 1), ("seed", 0)):
        if name in fields:
            options[name] = whole_number(fields[name], least)
    if "sampling" in fields:
        options["sampling"] = fields["sampling"].choice(*SAMPLINGS)
    if "schemes" in fields:
        options["schemes"] = [one.choice(*SCHEMES) for one in items_of(fields["schemes"])]

    def made(**more: Any) -> DelayStudy:
        return DelayStudy(cell, **options, **more)

    located(fields["teleop"], made)
    factors: dict[str, Factor] = {}
    for name, field in fields["factors"].mapping().items() if "factors" in fields else ():
        factors[name] = factor_of(field, units.TIME if name == "delay" else units.NUMBER)
        located(field, lambda: made(factors=factors))
    if "success" in fields:
        success: dict[str, float] = {}
        for name, field in fields["success"].mapping().items():
            success[name] = field.quantity().value
            located(field, lambda: made(success=success))
        options["success"] = success
    return located(root, lambda: made(factors=factors))


def _dimension(cell: Cell, name: str, field: Field) -> units.Dimension:
    return located(field, lambda: factor_dimension(cell, name))


def _loaded(field: Field, folder: Path, load: Callable[[str | Path], Loaded]) -> Loaded:
    """What a name, or a path relative to the study file, names."""
    text = field.text(300).strip()
    local = folder / text
    try:
        return load(local if Path(text).suffix and local.is_file() else text)
    except Mistake:
        raise
    except BrazoError as error:
        field.fail(str(error))
