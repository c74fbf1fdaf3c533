"""Robot files made in Python from a Denavit–Hartenberg table.

The result is a `RobotFile`, as if it had been read from YAML.  Rows, limits, masses and poses
become its fields, are checked by the same rules and can be written as YAML.  Numbers are in SI
units and radians.  A text is read as in a robot file, with units and expressions of `parameters`
("90deg", "-L1/2").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from brazo.errors import BrazoError
from brazo.formats.document import Field
from brazo.formats.robot_yaml.edit import node_of
from brazo.formats.robot_yaml.robot_file import RobotFile
from brazo.model.dh import Convention
from brazo.model.transforms import as_pose, rpy_of

if TYPE_CHECKING:
    from typing import Unpack

_KINDS = {"R": "revolute", "P": "prismatic"}
# Fields of a joint and the argument with their values for all joints.
_COLUMNS: dict[str, str] = {
    "name": "joint_names",
    "limits": "limits",
    "mass": "masses",
    "com": "com",
    "inertia": "inertia",
}


class DHOptions(TypedDict, total=False):
    """Keyword arguments of `brazo.Robot.from_dh`."""

    name: str
    about: str
    types: str | Sequence[str] | None
    joint_names: Sequence[str] | None
    limits: Any
    masses: Any
    com: Any
    inertia: Any
    base: Any
    tool: Any
    poses: Mapping[str, Any] | None
    gravity: Any
    parameters: Mapping[str, Any] | None


def robot_from_dh(
    rows: Any, convention: Convention = "standard", **options: Unpack[DHOptions]
) -> RobotFile:
    """Return the robot file of a D-H table; see `brazo.Robot.from_dh`."""
    unknown = sorted(options.keys() - DHOptions.__annotations__.keys())
    if unknown:
        allowed = ", ".join(DHOptions.__annotations__)
        raise BrazoError(f"from_dh: unknown argument '{unknown[0]}'; allowed: {allowed}")
    kinds = _joint_kinds(options.get("types"))
    joints = [_row(row, i, kinds) for i, row in enumerate(_listed(rows, "rows"))]
    if kinds is not None and len(kinds) != len(joints):
        raise BrazoError(f"types: {len(kinds)} types for {len(joints)} rows; expected one per row")
    for key, given in _COLUMNS.items():
        values = options.get(given)
        if values is None:
            continue
        column = _listed(values, given)
        if len(column) != len(joints):
            raise BrazoError(
                f"{given}: {len(column)} entries for {len(joints)} joints; expected one per joint"
            )
        for joint, value in zip(joints, column, strict=True):
            if value is not None and not (key == "limits" and _unlimited(value)):
                joint[key] = value
    fields: dict[str, Any] = {
        "name": options.get("name", "robot"),
        "about": options.get("about") or None,
        "convention": convention,
        "parameters": options.get("parameters") or None,
        "base": _block(options.get("base"), "base"),
        "joints": joints,
        "tool": _block(options.get("tool"), "tool"),
        "gravity": options.get("gravity"),
        "poses": options.get("poses") or None,
    }
    fields = {key: value for key, value in fields.items() if value is not None}
    return RobotFile(Field(node_of(fields, ""), "", None))


def placement(value: Any, what: str) -> Mapping[str, Any]:
    """Return a transform as a mapping with `xyz` (m) and `rpy` (rad), as in a robot file.

    `value` is a matrix (4, 4), a position (3,), a spatialmath pose, or such a mapping, which is
    returned unchanged.  Error messages start with `what`.
    """
    if isinstance(value, Mapping):
        return value
    T = as_pose(value, what)
    return {"xyz": T[:3, 3].tolist(), "rpy": list(rpy_of(T[:3, :3]))}


def _block(value: Any, what: str) -> Mapping[str, Any] | None:
    return None if value is None else placement(value, what)


def _listed(values: Any, what: str) -> list[Any]:
    if isinstance(values, (str, Mapping)) or not hasattr(values, "__iter__"):
        raise BrazoError(f"{what}: expected a list with an entry for each joint, got {values!r}")
    return list(values)


def _joint_kinds(types: str | Sequence[str] | None) -> list[str] | None:
    if types is None:
        return None
    kinds = []
    for kind in types:
        if kind not in (*_KINDS, *_KINDS.values()):
            raise BrazoError(
                f"types: '{kind}' is not a joint type; use R (revolute) or P (prismatic), "
                "for example 'RRP'"
            )
        kinds.append(_KINDS.get(kind, kind))
    return kinds


def _row(row: Any, i: int, kinds: list[str] | None) -> dict[str, Any]:
    """Return D-H row i as the fields of a joint in a robot file."""
    kind = kinds[i] if kinds is not None and i < len(kinds) else None
    if isinstance(row, Mapping):
        fields = dict(row)
        if kind is not None:
            fields["type"] = kind
        return fields
    values = _listed(row, f"rows[{i}]")
    if len(values) != 4:
        raise BrazoError(
            f"rows[{i}]: {len(values)} values; expected theta, d, a, alpha, or fields such as "
            '{"d": 0.4, "alpha": "90deg"}'
        )
    theta, d, a, alpha = values
    if kind == "prismatic":
        named = {"type": kind, "theta": theta, "a": a, "alpha": alpha, "offset": d}
    else:
        named = {"d": d, "a": a, "alpha": alpha, "offset": theta}
    return {key: value for key, value in named.items() if isinstance(value, str) or value != 0.0}


def _unlimited(value: Any) -> bool:
    """Return whether a pair of limits is (-inf, inf)."""
    try:
        low, high = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return False
    return bool(low == -np.inf and high == np.inf)
