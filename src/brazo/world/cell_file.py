"""Reader of cell files (YAML).

Error messages start with `file:line: field:` and name the allowed values, as for robot files.  A
robot is given by the name of a shipped robot or by a path relative to the cell file.  A cell file
can change values of the parameters that a robot file defines.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from brazo import units
from brazo.errors import BrazoError
from brazo.formats.document import Field, parse_document, read_document
from brazo.formats.library import FileLibrary
from brazo.formats.robot_yaml.joint_fields import outside, position_of
from brazo.model.actuators import DRIVE_KINDS, DriveKind, with_drives
from brazo.model.description import EARTH_GRAVITY, Array, Model, frozen
from brazo.world.cell import (
    GREATEST_STEP,
    LEAST_STEP,
    STEP_RANGE,
    Cell,
    CellRobot,
    GraspRule,
    default_start,
)
from brazo.world.cell_fields import (
    Names,
    read_attached_gripper,
    read_attached_tool,
    read_body,
    read_chute,
    read_contact,
    read_fixture,
    read_floor,
    read_frame,
    read_gripper,
    read_pose,
)
from brazo.world.robot_source import RobotSource
from brazo.world.tcp import Tcp, own_tcp

CELLS = FileLibrary("cell", "cells")
cell_directory, cell_names, find_cell = CELLS.directory, CELLS.names, CELLS.find
MAX_ROBOTS, MAX_SOLIDS = 16, 200
MAX_TCPS = 32  # of one robot

_CELL = (
    "name", "about", "gravity", "floor", "step", "contact", "gripper", "robots", "bodies",
    "fixtures", "chute", "frames",
)  # fmt: skip
_ROBOT = (
    "name", "robot", "tip", "base", "parameters", "gripper", "tool", "start", "contact_response",
    "grasp", "tcps", "tcp", "drives",
)  # fmt: skip


def load_cell(name_or_path: str | Path) -> Cell:
    """Load a cell, given the name of a shipped cell or the path of a cell file."""
    return read_cell(read_document(find_cell(name_or_path)))


def parse_cell(text: str | bytes, path: Path | None = None) -> Cell:
    """Read a cell from YAML text; `path` is used in messages and to find robot files."""
    return read_cell(parse_document(text, path))


def read_cell(root: Field) -> Cell:
    """Return the cell described by the root field of a cell file."""
    if not root.is_mapping:
        root.fail("expected a cell file: fields such as name, robots, bodies")
    fields = root.mapping(_CELL, renamed={"clamp": "gripper"}, required=("name",))
    names = Names()
    robots = tuple(_robot(block, names) for block in _blocks(fields, "robots", MAX_ROBOTS))
    bodies = tuple(read_body(block, names) for block in _blocks(fields, "bodies", MAX_SOLIDS))
    fixtures = tuple(
        read_fixture(block, names) for block in _blocks(fields, "fixtures", MAX_SOLIDS)
    )
    gravity = EARTH_GRAVITY
    if "gravity" in fields:
        gravity = frozen(fields["gravity"].numbers(3, units.ACCELERATION))
    step = 1e-3
    if "step" in fields:
        step = fields["step"].number(units.TIME, above=0.0)
        if not LEAST_STEP <= step <= GREATEST_STEP:
            fields["step"].fail(f"{1e3 * step:g} ms; must be from {STEP_RANGE}")
    return Cell(
        name=fields["name"].identifier(),
        about=fields["about"].text().strip() if "about" in fields else "",
        robots=robots,
        bodies=bodies,
        fixtures=fixtures,
        chutes=tuple(read_chute(block, names) for block in _chutes(fields)),
        frames=tuple(read_frame(block, names) for block in _blocks(fields, "frames", MAX_SOLIDS)),
        floor=read_floor(fields.get("floor")),
        gravity=gravity,
        contact=read_contact(fields.get("contact")),
        gripper=read_gripper(fields.get("gripper")),
        step=step,
        path=root.path,
        findings=tuple(root.doubts.values()),
    )


def _blocks(fields: dict[str, Field], key: str, at_most: int) -> list[Field]:
    if key not in fields or fields[key].is_null:
        return []
    return list(fields[key].items(at_most))


def _chutes(fields: dict[str, Field]) -> list[Field]:
    """Return one field per chute; the field `chute` contains one chute or a list of chutes."""
    if "chute" in fields and fields["chute"].is_mapping:
        return [fields["chute"]]
    return _blocks(fields, "chute", MAX_SOLIDS)


# ---- robots --------------------------------------------------------------------------------


def _robot(block: Field, names: Names) -> CellRobot:
    fields = block.mapping(_ROBOT, renamed={"force_feedback": "contact_response"})
    name = names.take(block, fields)
    if "robot" not in fields:
        block.missing("robot", "a shipped robot's name or the path of a robot file")
    source = _attached(fields, _source(fields))
    given: dict[str, Any] = {"line": block.line}
    if "base" in fields:
        given["base"] = read_pose(fields["base"].mapping(("xyz", "rpy")))
    if "contact_response" in fields:
        given["contact_response"] = _switch(fields["contact_response"])
    if "grasp" in fields:
        rule = fields["grasp"]
        given["grasp"] = cast(GraspRule, rule.choice("friction", "weld"))
        if given["grasp"] == "weld" and source.model.gripper is None:
            rule.fail(f"robot '{source.model.name}' has no gripper")
    given |= _tcps(fields, source.model)
    if "drives" in fields:
        given["drives"] = cast(DriveKind, fields["drives"].choice(*DRIVE_KINDS))
        with fields["drives"].errors_here():
            with_drives(source.model, given["drives"])
    return CellRobot(name, source, start=_start(fields.get("start"), source.model), **given)


def _source(fields: dict[str, Field]) -> RobotSource:
    field = fields["robot"]
    text = field.text(at_most=300).strip()
    if not text or not text.isprintable():
        field.fail("expected a shipped robot's name or the path of a robot file")
    folder = field.path.parent if field.path else Path()
    parameters: dict[str, float] = {}
    tip = fields["tip"].text(at_most=300) if "tip" in fields else None
    try:
        source = RobotSource.load(text, {}, folder, tip)
    except BrazoError as error:
        field.fail(str(error))
    if "parameters" in fields and not fields["parameters"].is_null:
        block = fields["parameters"]
        for key, child in block.mapping(list(source.model.parameters)).items():
            parameters[key] = child.quantity().value
        try:
            source = RobotSource.load(text, parameters, folder, tip)
        except BrazoError as error:
            block.fail(str(error))
    return source


def _attached(fields: dict[str, Field], source: RobotSource) -> RobotSource:
    """Return `source` with the gripper or tool that the cell file attaches to the flange."""
    given = [fields[key] for key in ("gripper", "tool") if key in fields]
    given = [field for field in given if not field.is_null]
    if not given:
        return source
    if len(given) > 1:
        given[1].fail("a flange carries a gripper or a tool, not both")
    (field,) = given
    read = read_attached_gripper if field.name.endswith("gripper") else read_attached_tool
    attachment = read(field)
    try:
        return source.attached(attachment)
    except BrazoError as error:
        field.fail(str(error))


def _tcps(fields: dict[str, Field], model: Model) -> dict[str, Any]:
    """Read `tcps`, the named tool centre points of a robot, and `tcp`, the selected name."""
    found: list[Tcp] = []
    if "tcps" in fields and not fields["tcps"].is_null:
        block = fields["tcps"]
        with block.errors_here():
            own_tcp(model)
        given = block.mapping()
        if len(given) > MAX_TCPS:
            block.fail(f"{len(given)} tool centre points; at most {MAX_TCPS} are allowed")
        for name, child in given.items():
            if not name.strip() or not name.isprintable() or len(name) > 80:
                child.fail("the name of a tool centre point must have 1 to 80 printable characters")
            found.append(Tcp(name, read_pose(child.mapping(("xyz", "rpy")))))
    selected = ""
    if "tcp" in fields and not fields["tcp"].is_null:
        selected = fields["tcp"].text(at_most=80)
        if selected not in (one.name for one in found):
            known = ", ".join(one.name for one in found) or "none"
            fields["tcp"].fail(f"no tool centre point '{selected}' in 'tcps'; available: {known}")
    return {"tcps": tuple(found), "tcp": selected}


def _start(field: Field | None, model: Model) -> Array:
    limits = model.limits
    if field is None or field.is_null:
        return default_start(model, limits)
    if field.is_list:
        kinds = model.joint_kinds
        items = list(field.items())
        if len(items) != len(kinds):
            field.fail(f"{len(items)} values for {len(kinds)} joints")
        values = [i.number(position_of(kind)) for i, kind in zip(items, kinds, strict=True)]
        q = frozen(values)
    else:
        name = field.text()
        if name not in model.poses:
            known = ", ".join(model.poses) or "none"
            field.fail(f"robot '{model.name}' has no pose '{name[:40]}'; its poses: {known}")
        q = frozen(model.poses[name])
    for i, (low, high) in enumerate(limits):
        if not low - 1e-9 <= q[i] <= high + 1e-9:
            plain = field.is_list and list(field.items())[i].quantity().dimension is None
            joint, kind = model.joint_names[i], model.joint_kinds[i]
            field.fail(outside(float(q[i]), low, high, joint, kind, plain))
    return q


def _switch(field: Field) -> bool:
    return field.choice("on", "off", "true", "false") in ("on", "true")
