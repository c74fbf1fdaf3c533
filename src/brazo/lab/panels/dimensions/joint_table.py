"""Tables of the Dimensions panel with the D-H parameters and inertia tensors of a robot.

The D-H table shows θ, d, a and α of every joint at q = 0.  For θ of a rotary joint and d of a
linear joint, the shown value is the field `offset` of the robot file.
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
    """Whether a robot model is defined by a D-H table."""
    return bool(getattr(model, "dh", ()))


def dh_field(model: Model, joint: int, key: str) -> str:
    """Path of a D-H parameter of a joint in the robot file, e.g. `joints[0].alpha`.

    `key` is the parameter: "theta", "d", "a" or "alpha".
    """
    variable = "theta" if model.joint_kinds[joint] == "revolute" else "d"
    return f"joints[{joint}].{'offset' if key == variable else key}"


def dh_html(model: Model) -> str:
    """HTML of the D-H table and of the buttons that add or remove a joint."""
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
            "θ of a rotary joint and d of a linear joint are the offset that is added to the joint "
            "variable. A typed number replaces an expression in the robot file. A change of the "
            "type or number of joints places the robot in its start pose. Switch type also resets "
            "the limits of the joint and removes its drive, actuator and friction."
        )
    )


def dh_rows(model: Model) -> list[dict[str, Any]]:
    """Rows of the D-H table, one per joint, in degrees and mm."""
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
    """HTML of the table of inertia tensors."""
    columns = [column("name", "Link")]
    columns += [column(entry, entry, digits=5, event=f"inertia-{entry}") for entry in ENTRIES]
    return table("inertia", columns, label="Inertia tensors") + note(
        "In kg m², about the centre of mass, along the axes of the link frame. An edited tensor no "
        "longer scales with the mass."
    )


def inertia_rows(links: Mapping[str, LinkRow]) -> list[dict[str, Any]]:
    """Rows of the inertia table, in kg m², one per link whose inertia the robot file gives."""
    return [
        {"id": name, "name": name}
        | {entry: float(link.inertia.tensor[at]) for entry, at in ENTRIES.items()}
        for name, link in links.items()
        if link.inertia is not None and link.com_field
    ]


def with_inertia(link: LinkRow, entry: str, value: float) -> dict[str, Any]:
    """Return the robot file fields that set one entry of a link's inertia tensor: path -> value.

    `entry` is a key of `ENTRIES`, `value` is in kg m².  The result is empty if the robot file gives
    no inertia of the link.
    """
    if link.inertia is None or not link.com_field:
        return {}
    tensor, (i, j) = np.array(link.inertia.tensor), ENTRIES[entry]
    tensor[i, j] = tensor[j, i] = value
    block = link.com_field.removesuffix("com")
    fields: dict[str, Any] = {f"{block}inertia": tensor.tolist()}
    if link.turned:  # the axes of a D-H row of the centre of mass would turn the tensor
        fields[f"{block}com"] = [float(x) for x in link.inertia.com]
    return fields
