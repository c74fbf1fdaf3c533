"""Reader of study files (YAML), which describe a `Study`, a `CellStudy` or a `DelayStudy`.

Example of the file of a `Study`:

    name: payload-robustness
    robots: [puma560, arms/mine.yaml]
    tasks: [sines, quintic, paths/weld.yaml]
    duration: 2s
    controllers:
      PID: {wn: 20, feedforward: gravity}            # options and gains; the name is the controller
      stiff: {controller: ComputedTorque, wn: 40}
    cases:
      nominal: {}
      heavy: {payload: 3kg, payload_com: [0, 0, 5cm]}
      weak: {faults: [{kind: torque loss, joint: 2, at: 0.5s, value: 0.4}]}
    factors:
      mass_error: {uniform: [-0.1, 0.1]}
      PID.kp.scale: {values: [0.5, 1, 2]}
    samples: 32
    sampling: latin-hypercube
    success: {max_error.tool: 5mm}

Paths are relative to the file.  Every error message starts with `file:line: field:`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from brazo import units
from brazo.formats.document import Field, parse_document, read_document
from brazo.formats.library import FileLibrary
from brazo.robot import Robot, load
from brazo.study.cell_study import CellStudy
from brazo.study.cell_study_file import read_cell_study, read_delay_study
from brazo.study.delay_study import DelayStudy
from brazo.study.scenario import FAULTS, TASKS, VALUED, Case, StudyFault
from brazo.study.study import PHYSICS, Study
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

AnyStudy = Study | CellStudy | DelayStudy
STUDIES = FileLibrary("study", "studies")
_FIELDS = (
    "name", "about", "robots", "tasks", "duration", "dt", "substeps", "controllers", "cases",
    "factors", "samples", "sampling", "repetitions", "seed", "success", "physics",
)  # fmt: skip
_CASE = {
    "payload": units.MASS, "mass_error": units.NUMBER, "delay": units.TIME,
    "disturbance_start": units.TIME, "disturbance_stop": units.TIME,
}  # fmt: skip
_ANY = ("position_noise", "velocity_noise", "start_error", "disturbance")  # rad or m, N m or N


def load_study(name_or_path: str | Path) -> AnyStudy:
    """Read a shipped study by name, or a study from a .yaml file."""
    return read_study(read_document(STUDIES.find(name_or_path)))


def study_names() -> list[str]:
    """Return the names of the shipped studies."""
    return STUDIES.names()


def parse_study(text: str | bytes, path: Path | None = None) -> AnyStudy:
    """Read a study from text; `path` is used in messages, and to resolve paths in the text."""
    return read_study(parse_document(text, path))


def read_study(root: Field) -> AnyStudy:
    """Return the study described by the fields of a study file.

    A file with the field `teleop` describes a delay study.  A file with the field `cell` describes
    a cell study.
    """
    if not root.is_mapping:
        root.fail(
            "expected the fields of a study, such as 'robots', 'controllers' and 'tasks', or 'cell'"
        )
    if "teleop" in root.mapping():
        return read_delay_study(root)
    if "cell" in root.mapping():
        return read_cell_study(root)
    fields = root.mapping(_FIELDS, required=("robots", "controllers"))
    folder = folder_of(root)
    robots = [loaded(item, folder, load) for item in items_of(fields["robots"])]
    options = common_options(root, fields)
    if "physics" in fields:
        options["physics"] = fields["physics"].choice(*PHYSICS)
    chosen = controllers_of(fields["controllers"])
    tasks = ["sines"]
    if "tasks" in fields:
        tasks = [_task(item, folder) for item in items_of(fields["tasks"])]
    if "cases" in fields:
        options["cases"] = _cases(fields["cases"], robots)

    def made(**more: Any) -> Study:
        return Study(robots, chosen, tasks, **options, **more)

    located(root, made)
    factors = factors_of(fields, lambda name, field: (), made)
    options["success"] = success_of(fields, made)
    return located(root, lambda: made(factors=factors))


def _task(field: Field, folder: Path) -> str | Path:
    text = field.text(300).strip()
    if text in TASKS:
        return text
    path = folder / text
    if not path.is_file():
        field.fail(
            f"'{text}' is not a task; choose {', '.join(TASKS)}, or the path of a via-point file"
        )
    return path


def _cases(field: Field, robots: list[Robot]) -> list[Case]:
    found = [_case(name, block, robots) for name, block in field.mapping().items()]
    if not found:
        field.fail("no cases; give at least one, or leave the field out")
    return found


def _case(name: str, block: Field, robots: list[Robot]) -> Case:
    allowed = (*_CASE, *_ANY, "payload_com", "payload_known", "disturbance_joint", "faults")
    given = {} if block.is_null else block.mapping(allowed)
    options: dict[str, Any] = {"name": name}
    for key, dimension in _CASE.items():
        if key in given:
            options[key] = given[key].number(dimension)
    for key in _ANY:
        if key in given:
            options[key] = given[key].quantity().value
    if "payload_com" in given:
        options["payload_com"] = tuple(given["payload_com"].numbers(3, units.LENGTH))
    if "payload_known" in given:
        options["payload_known"] = _yes(given["payload_known"])
    if "disturbance_joint" in given:
        options["disturbance_joint"] = _joint(given["disturbance_joint"], robots)
    if "faults" in given:
        options["faults"] = tuple(_fault(item, robots) for item in given["faults"].items())
    with block.errors_here():
        return Case(**options)


def _fault(item: Field, robots: list[Robot]) -> StudyFault:
    given = item.mapping(("kind", "joint", "at", "value"), required=("kind", "joint"))
    kind = given["kind"].choice(*FAULTS)
    if kind in VALUED and "value" not in given:
        item.missing("value")
    if kind not in VALUED and "value" in given:
        given["value"].fail(f"fault '{kind}' takes no value; remove this field")
    with item.errors_here():
        return StudyFault(
            kind,  # pyright: ignore[reportArgumentType]
            _joint(given["joint"], robots),
            given["at"].number(units.TIME, at_least=0.0) if "at" in given else 0.0,
            given["value"].quantity().value if "value" in given else 0.0,
        )


def _joint(field: Field, robots: list[Robot]) -> str | int:
    text = field.text(80)
    joint = int(text) if text.isdecimal() else text
    for robot in robots:
        known = 1 <= joint <= robot.n if isinstance(joint, int) else joint in robot.joint_names
        if not known:
            field.fail(
                f"robot '{robot.name}' has no joint '{text}'; joints: "
                f"{', '.join(robot.joint_names)}, or 1 to {robot.n}"
            )
    return joint


def _yes(field: Field) -> bool:
    return field.choice("yes", "no", "true", "false") in ("yes", "true")
