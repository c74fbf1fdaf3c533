"""Joints with several degrees of freedom in a robot file, converted to D-H rows.

    universal   rotations about z, then y         R = Rz(q₁) Ry(q₂)
    ball        rotations about z, then x and y   R = Rz(q₁) Rx(q₂) Ry(q₃), singular at q₂ = ±90°
    planar      translations along y and x, then a rotation about z; only as the first joint

The first axis is an axis of the frame before the joint.  Each further axis moves with the
coordinates before it.  At zero, the frame after the joint is that of a revolute joint with the same
d, a, alpha and offset.  When a file is read, each such joint is replaced by D-H rows with one
coordinate each (`wrist/z`, `wrist/y`).  The links between them are massless.  The rows are:

    universal   Rz(q₁ + offset) Tz(d) Rx(−90°) · Rz(q₂) Tx(a) Rx(alpha + 90°)
    ball        Rz(q₁ + offset + 90°) Tz(d) Rx(90°) · Rz(q₂ + 90°) Rx(90°)
                · Rz(q₃ + 90°) Tx(a) Rx(alpha + 90°)
    planar      Rx(−90°) (in the base) · Rz(90°) Tz(q₁) Rx(90°) · Rz(90°) Tz(q₂) Rx(−90°)
                · Rz(q₃ + offset − 90°) Tz(d) Tx(a) Rx(alpha)

These rows are in the standard D-H convention.  In the modified convention, and for a planar joint
that is not the first joint, the user must write the rows explicitly.
"""

from __future__ import annotations

import math
from typing import Any

from brazo.formats.document import Field, Node

COMPOSED = ("universal", "ball", "planar")
_SHARED = ("drive", "friction", "actuator")  # fields of every row
_AXES = {"universal": ("z", "y"), "ball": ("z", "x", "y"), "planar": ("y", "x", "theta")}

Fields = dict[str, tuple[int, Node]]


def expanded(root: Field) -> Field:
    """Return the robot file with D-H rows instead of joints with several degrees of freedom.

    A file without such joints is returned unchanged.
    """
    if not isinstance(root.node.value, dict) or "joints" not in root.node.value:
        return root
    joints = root.node.value["joints"][1].value
    if not isinstance(joints, list) or not any(_kind(node) for node in joints):
        return root
    fields: Fields = dict(root.node.value)
    rows: list[Node] = []
    for block in root.mapping()["joints"].items():
        kind = _kind(block.node)
        if not kind:
            rows.append(block.node)
            continue
        of_type = block.mapping()["type"]
        if "convention" in fields and fields["convention"][1].value != "standard":
            of_type.fail(
                f"a {kind} joint is only allowed in the standard D-H convention; write its D-H "
                "rows instead"
            )
        if kind == "planar":
            if rows:
                of_type.fail(
                    "a planar joint must be the first joint; write two prismatic joints and a "
                    "revolute joint instead, or use a URDF"
                )
            fields["base"] = _turned_base(fields.get("base"), block.line)
        rows += _rows(block, kind)
    line, old = fields["joints"]
    fields["joints"] = (line, Node(old.line, rows))
    return Field(Node(root.node.line, fields), root.name, root.path)


def _kind(node: Node) -> str:
    """Return the type of a joint with several degrees of freedom; empty for other joints."""
    given = node.value.get("type") if isinstance(node.value, dict) else None
    value = None if given is None else given[1].value
    return value if isinstance(value, str) and value in COMPOSED else ""


def _rows(block: Field, kind: str) -> list[Node]:
    fields: Fields = dict(block.node.value)  # type: ignore[arg-type]
    line = block.line
    name = str(fields["name"][1].value) if "name" in fields else "joint"
    axes = _AXES[kind]
    limits = _limits(block, kind)
    del fields["type"]
    fields.pop("limits", None)

    def text(value: str) -> tuple[int, Node]:
        return line, Node(line, value)

    rows: list[Fields] = [{"name": text(f"{name}/{axis}")} for axis in axes]
    for i, row in enumerate(rows):
        if limits:
            row["limits"] = (line, limits[i])
        row |= {key: fields[key] for key in _SHARED if key in fields}
    for row in rows[:-1]:
        row["parts"] = (line, Node(line, []))
        if "mass" in fields:
            zeros = Node(line, [Node(line, "0")] * 3)
            row |= {"mass": text("0"), "inertia": (line, zeros)}
    first, last = rows[0], rows[-1]
    rest = {key: value for key, value in fields.items() if key not in ("name", *_SHARED)}
    moved = () if kind == "planar" else ("d", "offset")
    first |= {key: rest.pop(key) for key in moved if key in rest}
    last |= rest
    if kind == "universal":
        first["alpha"] = text("-90deg")
        last["alpha"] = _plus(last.get("alpha"), 90, line)
    elif kind == "ball":
        first |= {"offset": _plus(first.get("offset"), 90, line), "alpha": text("90deg")}
        rows[1] |= {"offset": text("90deg"), "alpha": text("90deg")}
        last |= {"offset": text("90deg"), "alpha": _plus(last.get("alpha"), 90, line)}
    else:
        prismatic = {"type": text("prismatic"), "theta": text("90deg")}
        rows[0] |= {**prismatic, "alpha": text("90deg")}
        rows[1] |= {**prismatic, "alpha": text("-90deg")}
        last["offset"] = _plus(last.get("offset"), -90, line)
    return [Node(line, row) for row in rows]


def _limits(block: Field, kind: str) -> list[Node]:
    given = block.mapping().get("limits")
    if given is None or given.is_null:
        return []
    items = given.node.value
    count = len(_AXES[kind])
    if (
        not isinstance(items, list)
        or len(items) != count
        or not all(isinstance(item.value, list) for item in items)
    ):
        axes = ", ".join(_AXES[kind])
        given.fail(f"a {kind} joint needs {count} pairs of limits [[min, max], …], for {axes}")
    return list(items)


def _plus(entry: tuple[int, Node] | None, degrees: int, line: int) -> tuple[int, Node]:
    """Return an angle field (line, node) increased by `degrees`; None counts as an angle of 0."""
    if entry is None:
        return line, Node(line, f"{degrees}deg")
    at, node = entry
    if not isinstance(node.value, str):
        return entry  # wrong, and reported when it is read
    try:
        value: Any = repr(float(node.value) + math.radians(degrees))
    except ValueError:
        value = f"({node.value}) {'+' if degrees > 0 else '-'} {abs(degrees)}deg"
    return at, Node(node.line, value)


def _turned_base(entry: tuple[int, Node] | None, line: int) -> tuple[int, Node]:
    """Return the field `base` rotated by -90° about x, so that the first row moves along y."""
    at, node = entry if entry is not None else (line, Node(line, {}))
    if not isinstance(node.value, dict):
        return at, node
    fields: Fields = dict(node.value)
    where, rpy = fields.get("rpy", (at, Node(at, [Node(at, "0")] * 3)))
    if isinstance(rpy.value, list) and rpy.value:
        roll = _plus((where, rpy.value[0]), -90, at)[1]
        rpy = Node(rpy.line, [roll, *rpy.value[1:]])
    fields["rpy"] = (where, rpy)
    return at, Node(node.line, fields)
