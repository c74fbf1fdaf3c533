"""Readers of the study files (YAML) of a `CellStudy` and of a `DelayStudy`.

Example of the file of a `CellStudy`:

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

from typing import Any

from brazo import units
from brazo.formats.document import Field
from brazo.program import Program, load_program
from brazo.study.cell_factors import factor_dimension
from brazo.study.cell_study import CellStudy
from brazo.study.delay_study import SCHEMES, DelayStudy
from brazo.study.study_fields import (
    common_options,
    controllers_of,
    factors_of,
    folder_of,
    items_of,
    loaded,
    located,
    success_of,
)
from brazo.world import Cell, load_cell

_FIELDS = (
    "name", "about", "cell", "program", "controllers", "cases", "factors", "samples", "sampling",
    "repetitions", "seed", "until", "success",
)  # fmt: skip


def read_cell_study(root: Field) -> CellStudy:
    """Return the cell study described by the fields of a study file."""
    fields = root.mapping(_FIELDS)
    folder = folder_of(root)
    cell: Cell = loaded(fields["cell"], folder, load_cell)
    program: Program | None = None
    if "program" in fields:
        program = loaded(fields["program"], folder, load_program)
    options = common_options(root, fields)
    if "controllers" in fields:
        options["controllers"] = controllers_of(fields["controllers"])

    def made(**more: Any) -> CellStudy:
        return CellStudy(cell, program, **options, **more)

    located(root, made)
    factors = factors_of(fields, lambda name, field: (_dimension(cell, name, field),), made)
    if "cases" in fields:
        cases: dict[str, dict[str, float]] = {}
        for name, block in fields["cases"].mapping().items():
            given = {} if block.is_null else block.mapping()
            cases[name] = {k: f.number(_dimension(cell, k, f)) for k, f in given.items()}
            located(block, lambda: made(factors=factors, cases=cases))
        if not cases:
            fields["cases"].fail("no cases; give at least one, or leave the field out")
        options["cases"] = cases
    options["success"] = success_of(fields, made)
    return located(root, lambda: made(factors=factors))


_DELAY = (
    "name", "about", "teleop", "schemes", "factors", "samples", "sampling", "repetitions", "seed",
    "duration", "success",
)  # fmt: skip


def read_delay_study(root: Field) -> DelayStudy:
    """Return the delay study described by the fields of a study file."""
    fields = root.mapping(_DELAY)
    cell: Cell = loaded(fields["teleop"], folder_of(root), load_cell)
    options = common_options(root, fields)
    if "schemes" in fields:
        options["schemes"] = [one.choice(*SCHEMES) for one in items_of(fields["schemes"])]

    def made(**more: Any) -> DelayStudy:
        return DelayStudy(cell, **options, **more)

    located(fields["teleop"], made)
    times = {"delay": (units.TIME,)}
    factors = factors_of(fields, lambda name, _: times.get(name, (units.NUMBER,)), made)
    if "success" in fields:
        options["success"] = success_of(fields, made)
    return located(root, lambda: made(factors=factors))


def _dimension(cell: Cell, name: str, field: Field) -> units.Dimension:
    return located(field, lambda: factor_dimension(cell, name))
