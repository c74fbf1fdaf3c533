"""Edits of a cell description: add, remove, replace, rename, move and duplicate its elements.

The functions do not change their arguments; they return a new `Cell`.  An *element* is a robot,
free body, fixture, chute or frame.  No two elements of a cell have the same name.
`World.change_cell` and `Simulation.change_cell` continue a running simulation with the new cell,
and `brazo.world.cell_writer` writes it to a file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, cast

import numpy as np

from brazo.errors import BrazoError
from brazo.model.description import Array
from brazo.model.transforms import rpy_of
from brazo.world.attachment import Attachment
from brazo.world.cell import Cell, CellRobot, Chute, Fixture, Frame, FreeBody
from brazo.world.cell_fields import FLOOR, ROBOT_FRAMES, WORLD
from brazo.world.cell_file import MAX_ROBOTS, MAX_SOLIDS, MAX_TCPS
from brazo.world.robot_edits import checked_pose
from brazo.world.tcp import Tcp, own_tcp

Element = CellRobot | FreeBody | Fixture | Chute | Frame
Kind = Literal["robot", "body", "fixture", "chute", "frame"]

FAR = 100.0  # m, max coordinate of an element
MAX_NAME = 80  # characters
_GROUPS: dict[type, tuple[Kind, str, int]] = {
    CellRobot: ("robot", "robots", MAX_ROBOTS),
    FreeBody: ("body", "bodies", MAX_SOLIDS),
    Fixture: ("fixture", "fixtures", MAX_SOLIDS),
    Chute: ("chute", "chutes", MAX_SOLIDS),
    Frame: ("frame", "frames", MAX_SOLIDS),
}


def elements(cell: Cell) -> tuple[Element, ...]:
    """Return all elements of a cell, robots first."""
    return (*cell.robots, *cell.bodies, *cell.fixtures, *cell.chutes, *cell.frames)


def element(cell: Cell, name: str) -> Element:
    """Return the element with this name; raise an error if there is none."""
    for one in elements(cell):
        if one.name == name:
            return one
    known = ", ".join(one.name for one in elements(cell)) or "none"
    raise BrazoError(f"nothing named '{name}' in cell '{cell.name}'; it contains: {known}")


def kind_of(element: Element) -> Kind:
    """Return the kind of an element: `robot`, `body`, `fixture`, `chute` or `frame`."""
    return _GROUPS[type(element)][0]


def pose_of(element: Element) -> Array:
    """Return the start pose (4, 4) of an element; for a robot, the pose of its base."""
    return element.base if isinstance(element, CellRobot) else element.pose


def add(cell: Cell, element: Element) -> Cell:
    """Return the cell with an additional element."""
    kind, group, most = _GROUPS[type(element)]
    checked_name(cell, element.name)
    _checked_place(element)
    members = getattr(cell, group)
    if len(members) >= most:
        raise BrazoError(f"a cell has at most {most} {group}; remove a {kind} first")
    return replace(cell, **{group: (*members, element)})


def remove(cell: Cell, name: str) -> Cell:
    """Return the cell without an element."""
    gone = element(cell, name)
    group = _GROUPS[type(gone)][1]
    left = tuple(one for one in getattr(cell, group) if one is not gone)
    return replace(cell, **{group: left})


def replaced(cell: Cell, name: str, by: Element) -> Cell:
    """Return the cell with the element `name` replaced by the element `by`.

    The replacement may have another name, and may be of another kind, for example a fixture instead
    of a free body.  If it is of the same kind, the order of the elements does not change.
    """
    old = element(cell, name)
    if type(old) is not type(by):
        return add(remove(cell, name), by)
    if by.name != name:
        checked_name(remove(cell, name), by.name)
    _checked_place(by)
    group = _GROUPS[type(by)][1]
    return replace(
        cell, **{group: tuple(by if one is old else one for one in getattr(cell, group))}
    )


def rename(cell: Cell, name: str, new: str) -> Cell:
    """Return the cell with the element `name` renamed to `new`."""
    old = element(cell, name)
    changed = replace(cast(Any, old), name=new)
    if isinstance(old, Fixture) and isinstance(changed, Fixture) and len(old.parts) == 1:
        changed = replace(changed, parts=(replace(old.parts[0], name=new),))
    return replaced(cell, name, changed)


def move(cell: Cell, name: str, pose: Array) -> Cell:
    """Return the cell with an element at another pose (4, 4); for a robot, the pose of its base."""
    return replaced(cell, name, moved(element(cell, name), pose))


def moved(element: Element, pose: Array) -> Element:
    """Return a copy of an element at another pose (4, 4).

    A chute takes its position, slope and horizontal direction from the pose.  The rotation of the
    pose about the axis of the chute is ignored.  Raises `BrazoError` if the chute would slope
    upwards.
    """
    T = checked_pose(pose)
    if isinstance(element, CellRobot):
        return replace(element, base=T)
    if not isinstance(element, Chute):
        return replace(cast(Any, element), pose=T)
    down = T[:3, 0]
    angle = math.asin(float(np.clip(-down[2], -1.0, 1.0)))
    if not -1e-9 <= angle <= math.pi / 2:
        raise BrazoError(
            f"chute '{element.name}' would slope upwards by {math.degrees(-angle):.1f}°; it must "
            "slope downwards by 0 to 90°"
        )
    flat = math.hypot(down[0], down[1])
    yaw = math.atan2(down[1], down[0]) if flat > 1e-9 else float(rpy_of(T[:3, :3])[2])
    x, y, z = T[:3, 3].tolist()
    return replace(element, xyz=(x, y, z), yaw=yaw, angle=max(angle, 0.0))


def duplicate(cell: Cell, name: str, shift: Iterable[float] = (0.1, 0.1, 0.0)) -> tuple[Cell, str]:
    """Return the cell with a copy of an element, and the name of the copy.

    The copy is moved by `shift` (3,), m.
    """
    old = element(cell, name)
    new = free_name(cell, re.sub(r" \d+$", "", name))
    T = np.array(pose_of(old))
    T[:3, 3] += np.asarray(tuple(shift), dtype=float)
    copy = cast(Element, replace(cast(Any, moved(old, T)), name=new))
    return add(cell, copy), new


def attach(cell: Cell, robot: str, attachment: Attachment | None) -> Cell:
    """Return the cell with `attachment` on the flange of a robot; None empties the flange."""
    old = element(cell, robot)
    if not isinstance(old, CellRobot):
        raise BrazoError(f"'{robot}' is a {kind_of(old)}; only a robot has a flange")
    changed = replace(old, source=old.source.attached(attachment))
    if changed.model.gripper is None and changed.grasp == "weld":
        changed = replace(changed, grasp="friction")
    return replaced(cell, robot, changed)


def with_tcps(cell: Cell, robot: str, tcps: Iterable[Tcp], selected: str = "") -> Cell:
    """Return the cell with the tool centre points (TCPs) of a robot replaced by `tcps`.

    `selected` is the name of the TCP to use; "" selects the tool frame that the robot has without
    TCPs.
    """
    old, given = element(cell, robot), tuple(tcps)
    if not isinstance(old, CellRobot):
        raise BrazoError(f"'{robot}' is a {kind_of(old)}; only a robot has tool centre points")
    names = [one.name for one in given]
    if given:
        own_tcp(old.source.model)
    if len(given) > MAX_TCPS:
        raise BrazoError(
            f"'{robot}' has {len(given)} tool centre points; at most {MAX_TCPS} are allowed"
        )
    for name in names:
        if not name.strip() or not name.isprintable() or len(name) > MAX_NAME:
            raise BrazoError(
                f"'{name[:MAX_NAME]}' is not a valid name of a tool centre point: "
                f"it must have 1 to {MAX_NAME} printable characters"
            )
        if names.count(name) > 1:
            raise BrazoError(
                f"'{robot}' has two tool centre points named '{name}'; rename one of them"
            )
    if selected and selected not in names:
        known = ", ".join(names) or "none"
        raise BrazoError(f"'{robot}' has no tool centre point '{selected}'; available: {known}")
    for one in given:
        checked_pose(one.pose)
    return replaced(cell, robot, replace(old, tcps=given, tcp=selected))


def checked_name(cell: Cell, name: str) -> None:
    """Raise an error if `name` is not a valid name for a new element of the cell."""
    if not name.strip() or name != name.strip() or not name.isprintable() or len(name) > MAX_NAME:
        raise BrazoError(
            f"'{name[:MAX_NAME]}' is not a valid name: it must be one line of "
            f"1 to {MAX_NAME} printable characters, "
            "without spaces at its ends"
        )
    if "/" in name:
        raise BrazoError(
            f"'{name}': a name must not contain '/', which separates a robot and its parts"
        )
    if name in (FLOOR, WORLD, *ROBOT_FRAMES):
        raise BrazoError(f"'{name}' is a reserved name; choose another")
    for one in elements(cell):
        if one.name == name:
            raise BrazoError(f"'{name}' is already the name of a {kind_of(one)}; choose another")


def free_name(cell: Cell, wanted: str) -> str:
    """Return `wanted`, changed if necessary to a name that no element of the cell has.

    Slashes become hyphens, a long name is shortened, and a number is appended to a used name.
    """
    taken = {FLOOR, WORLD, *ROBOT_FRAMES, *(one.name for one in elements(cell))}
    wanted = wanted.replace("/", "-").strip()[: MAX_NAME - 5] or "element"
    name, k = wanted, 2
    while name in taken:
        name, k = f"{wanted} {k}", k + 1
    return name


def _checked_place(element: Element) -> None:
    T = pose_of(element)
    if not np.isfinite(T).all() or np.abs(T[:3, 3]).max() > FAR:
        raise BrazoError(
            f"the position of '{element.name}' is invalid: each coordinate must be "
            f"from -{FAR:g} to {FAR:g} m"
        )
