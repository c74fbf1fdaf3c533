"""Controllers and gains as YAML: `controllers.yaml` of a project, and `brazo run --gains`.

Example:

    scara1:
      controller: PID
      options: {feedforward: gravity}
      gains: {kp: [900, 400], kd: [30, 12], ki: [0, 0]}
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from brazo.control import Controller
from brazo.control.base import controller_types
from brazo.errors import BrazoError
from brazo.files import replacing
from brazo.formats.document import Field, read_document
from brazo.program.controller_options import (
    OptionType,
    make_controller,
    option_types,
    read_option,
)
from brazo.program.flow import flow, plain_text
from brazo.world import Cell

IDEAL = "ideal"
_FIELDS = ("controller", "options", "gains")


def controllers_yaml(chosen: Mapping[str, Controller | str]) -> str:
    """Return the controllers `chosen` (robot name -> controller) as YAML text."""
    lines = []
    for robot, controller in chosen.items():
        lines.append(f"{plain_text(robot)}:")
        if isinstance(controller, str):
            lines.append(f"  controller: {plain_text(controller)}")
            continue
        lines.append(f"  controller: {plain_text(controller.name)}")
        if options := _options(controller):
            lines.append(f"  options: {flow(options)}")
        gains = {name: np.asarray(v).tolist() for name, v in controller.gain_values().items()}
        if gains:
            lines.append(f"  gains: {flow(gains)}")
    return "".join(f"{line}\n" for line in lines)


def read_controllers(root: Field) -> dict[str, Controller | str]:
    """Return the controllers in a file by robot name; they are not yet bound to robots."""
    found: dict[str, Controller | str] = {}
    for robot, block in {} if root.is_null else root.mapping().items():
        fields = block.mapping(_FIELDS, required=("controller",))
        name = fields["controller"].choice(*controller_types(), IDEAL)
        if name == IDEAL:
            found[robot] = IDEAL
            continue
        kind = controller_types()[name]
        values: dict[str, Any] = {}
        gains = [gain.name for gain in kind.GAINS]
        if "gains" in fields:
            for gain, field in fields["gains"].mapping(gains).items():
                many = field.is_list  # a number stands for all joints
                read = [item.quantity().value for item in (field.items(100) if many else [field])]
                values[gain] = read if many else read[0]
        if "options" in fields:
            types = _stored_options(kind)
            for option, field in fields["options"].mapping(list(types)).items():
                values[option] = read_option(field, types[option])
        try:
            found[robot] = make_controller(kind, values)
        except BrazoError as error:
            block.fail(str(error))
    return found


def load_controllers(path: str | Path) -> dict[str, Controller | str]:
    """Read a controller file; return the controllers by robot name."""
    return read_controllers(read_document(Path(path)))


def write_controllers(path: str | Path, chosen: Mapping[str, Controller | str]) -> Path:
    """Add controllers to a file, or replace them; return the path of the file.

    Entries of other robots in an existing file are kept.
    """
    path = Path(path)
    kept = load_controllers(path) if path.exists() else {}
    with replacing(path) as temporary:
        temporary.write_text(controllers_yaml({**kept, **chosen}), encoding="utf-8")
    return path


def controllers_in(
    cell: Cell, chosen: Mapping[str, Controller | str]
) -> dict[str, Controller | str]:
    """Return only the controllers of robots that are in the cell."""
    names = {robot.name for robot in cell.robots}
    return {name: one for name, one in chosen.items() if name in names}


def _stored_options(kind: type[Controller]) -> dict[str, OptionType]:
    """Return the options that a controller file stores (type bool or str): name -> type."""
    return {name: one for name, one in option_types(kind).items() if one in (bool, str)}


def _options(controller: Controller) -> dict[str, Any]:
    found = {name: getattr(controller, name) for name in _stored_options(type(controller))}
    return {name: value for name, value in found.items() if value is False or value}
