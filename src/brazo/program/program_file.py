"""Reader of program files: from YAML fields to a `Program`.

    name: pick
    cell: cooperative
    speed: 0.5
    goals: [{body: bar 1, through: chute}]
    points:
      scara2: [{name: rest, q: [0, 45deg, 45deg, 5cm, 0]}]
    robots:
      scara2:
        - move_joints: rest
        - move_to: {xyz: [-10cm, 0, 8cm], rpy: [180deg, 0, 0], in: bar 1, plan: free}
        - line: {by: [0, 0, -7cm]}
        - grip: {force: 60N, body: bar 1}

A step is a mapping with one field, whose name is the verb.  Error messages start with
`file:line: field:` and state what is allowed.  Names of robots, bodies and poses are checked when
the program is started in a cell (`brazo.program.validate`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from brazo import units
from brazo.formats.document import Field, parse_document, read_document
from brazo.formats.library import FileLibrary
from brazo.program.point_file import read_points
from brazo.program.program import PLANNERS, WATCHES, Goal, PlannerName, Program, WatchMode
from brazo.program.step_fields import MAX_STEPS, read_steps
from brazo.program.steps import Place

PROGRAMS = FileLibrary("program", "programs")
program_directory, program_names, find_program = PROGRAMS.directory, PROGRAMS.names, PROGRAMS.find
MAX_ROBOTS = 16
_PROGRAM = (
    "name", "about", "cell", "speed", "clearance", "watch", "planner", "goals", "points",
    "robots",
)  # fmt: skip


def load_program(name_or_path: str | Path) -> Program:
    """Read a shipped program by name, or a program file by path."""
    return read_program(read_document(find_program(name_or_path)))


def parse_program(text: str | bytes, path: Path | None = None) -> Program:
    """Read a program from text.

    `path` is the path of the program file.  It is used in error messages and to find SVG files.
    """
    return read_program(parse_document(text, path))


def read_program(root: Field) -> Program:
    """Return the program described by the fields of a program file."""
    if not root.is_mapping:
        root.fail("expected a program file: fields such as name, cell, robots")
    fields = root.mapping(_PROGRAM, required=("name", "robots"))
    robots = fields["robots"].mapping()
    if not 1 <= len(robots) <= MAX_ROBOTS:
        fields["robots"].fail(f"{len(robots)} robots; expected 1 to {MAX_ROBOTS} robots with steps")
    program = Program(
        name=fields["name"].identifier(),
        about=fields["about"].text().strip() if "about" in fields else "",
        cell=fields["cell"].text(300).strip() if "cell" in fields else None,
        goals=tuple(_goals(fields["goals"])) if "goals" in fields else (),
        points=read_points(fields["points"]) if "points" in fields else {},
        steps={name: read_steps(block) for name, block in robots.items()},
        path=root.path,
        places={name: Place(root.path, block.line) for name, block in robots.items()},
    )
    if "watch" in fields:
        program.watch = cast(WatchMode, fields["watch"].choice(*WATCHES))
    if "planner" in fields:
        program.planner = cast(PlannerName, fields["planner"].choice(*PLANNERS))
    for name, dimension in (("speed", units.NUMBER), ("clearance", units.LENGTH)):
        if name in fields:
            setattr(program, name, fields[name].number(dimension))
            with fields[name].errors_here():
                program.__post_init__()
    program.findings = tuple(root.doubts.values())
    return program


def _goals(field: Field) -> list[Goal]:
    found = []
    for item in field.items(MAX_STEPS):
        given = item.mapping(("body", "through", "at", "within", "on", "free"))
        if "body" not in given:
            item.missing("body", "the body of the goal")
        if "within" in given and "at" not in given:
            given["within"].fail("is allowed only with 'at'")
        values: dict[str, Any] = {"place": Place(item.path, item.line)}
        for name, field_name in (("through", "chute"), ("on", "on")):
            if name in given:
                values[field_name] = given[name].identifier()
        if "at" in given:
            values["at"] = tuple(given["at"].numbers(3, units.LENGTH))
        if "within" in given:
            values["within"] = given["within"].number(units.LENGTH, above=0.0)
        if "free" in given:
            values["free"] = given["free"].choice("on", "off", "true", "false") in ("on", "true")
        body = given["body"].identifier()
        with item.errors_here():
            found.append(Goal(body, **values))
    return found
