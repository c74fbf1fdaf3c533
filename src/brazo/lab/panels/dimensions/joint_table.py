"""D-H table and inertia tensors of a robot as tables of the Dimensions panel.

The D-H table has four columns for every joint.  The file has the constant part of the joint
variable as `offset`, and that of the other one as `theta` or `d`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from brazo.formats.robot_yaml.link_table import LinkRow
from brazo.lab.app.quantities import Quantity
from brazo.lab.panels.common.html import button, buttons, column, note, table
from brazo.model.description import Model

DH_UNITS: dict[str, Quantity] = {"theta": "deg", "d": "mm", "a": "mm", "alpha": "deg"}
_TITLES = {"theta": "θ", "d": "d", "a": "a", "alpha": "α"}
_SCALE = {"deg": 180.0 / math.pi, "mm": 1e3}
_SHOWN = {"deg": "°", "mm": "mm"}
ENTRIES = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}


def has_dh(model: Model) -> bool:
    """Whether a robot has a D-H table."""
    return bool(getattr(model, "dh", ()))


def dh_field(model: Model, joint: int, key: str) -> str:
    """Field of the file with a number of the table; `offset` for the joint variable."""
    variable = "theta" if model.joint_kinds[joint] == "revolute" else "d"
    return f"joints[{joint}].{'offset' if key == variable else key}"


def dh_html(model: Model) -> str:
    """The table, and the buttons that change the number of joints."""
    columns = [column("name", "Joint"), column("kind", "Type")]
    columns += [
        column(key, _TITLES[key], unit=_SHOWN[unit], digits=2, event=f"dh-{key}")
        for key, unit in DH_UNITS.items()
    ]
    columns.append(column("switch", "Switch type", event="dh-kind", kind="button"))
    return (
        table("dh", columns, label="D-H table")
        + buttons(
            button("Add joint", "joint-add", icon="plus"),
            button("Remove last joint", "joint-remove", icon="trash"),
        )
        + note(
            "θ of a rotary joint and d of a linear one are added to the joint variable. A number "
            "replaces an expression of parameters. With another type or number of joints the robot "
            "begins at its start pose; a joint of another type has new limits, no drive limits and "
            "no friction."
        )
    )


def dh_rows(model: Model) -> list[dict[str, Any]]:
    """Rows of the table, in degrees and mm."""
    found = []
    for i, row in enumerate(model.dh):  # type: ignore[attr-defined]
        turns = row.kind == "revolute"
        values = {
            "theta": row.offset if turns else row.theta,
            "d": row.d if turns else row.offset,
            "a": row.a,
            "alpha": row.alpha,
        }
        shown = {key: _SCALE[DH_UNITS[key]] * value for key, value in values.items()}
        kind = "rotary" if turns else "linear"
        found.append({"id": i, "name": model.joint_names[i], "kind": kind} | shown)
    return found


def inertia_html() -> str:
    """The table of inertia tensors."""
    columns = [column("name", "Link")]
    columns += [column(entry, entry, digits=5, event=f"inertia-{entry}") for entry in ENTRIES]
    return table("inertia", columns, label="Inertia tensors") + note(
        "kg m², about the centre of mass, in axes of the link frame. A tensor that is edited no "
        "longer scales with the mass."
    )


def inertia_rows(links: Mapping[str, LinkRow]) -> list[dict[str, Any]]:
    """Rows of the table, of the links that have a mass."""
    return [
        {"id": name, "name": name}
        | {entry: float(link.inertia.tensor[at]) for entry, at in ENTRIES.items()}
        for name, link in links.items()
        if link.inertia is not None and link.com_field
    ]


def with_inertia(link: LinkRow, entry: str, value: float) -> dict[str, Any]:
    """Fields of the file for another entry of the tensor of a link."""
    if link.inertia is None or not link.com_field:
        return {}
    tensor, (i, j) = np.array(link.inertia.tensor), ENTRIES[entry]
    tensor[i, j] = tensor[j, i] = value
    block = link.com_field.removesuffix("com")
    fields: dict[str, Any] = {f"{block}inertia": tensor.tolist()}
    if link.turned:  # the axes of a D-H row of the centre of mass would turn the tensor
        fields[f"{block}com"] = [float(x) for x in link.inertia.com]
    return fields
