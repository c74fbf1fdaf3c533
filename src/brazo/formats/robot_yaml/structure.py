"""Edits of the structure of a robot file: the kind of a joint, and the number of joints.

Each edit writes several fields, because limits, drives and poses depend on the joints.  The field
`body: radii` is removed, so that the radii are derived again.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from brazo.errors import BrazoError
from brazo.formats.document import Field, Node
from brazo.formats.robot_yaml.edit import node_of
from brazo.formats.robot_yaml.robot_file import RobotFile
from brazo.model.description import JointKind

MAX_JOINTS = 30
TRAVEL = (0.0, 0.3)  # m, limits of a joint that becomes prismatic
TURN = (-math.pi, math.pi)  # rad, limits of a joint that becomes revolute or is new
LENGTH = 0.1  # m, a of a new joint


def with_joint_kind(file: RobotFile, i: int, kind: JointKind) -> RobotFile:
    """Return the file with joint i changed to a revolute or prismatic joint.

    The link frame at joint value 0 stays the same.  The joint gets new limits, and its value in all
    poses becomes 0.  Its drive, actuator and friction are removed, because their units depend on
    the kind of joint.
    """
    joints = _joints(file)
    if not 0 <= i < len(joints):
        raise BrazoError("this joint no longer exists")
    fields = _entries(joints[i])
    if kind == (str(fields["type"][1].value) if "type" in fields else "revolute"):
        return file
    # The constant of the joint variable is `offset`; that of the other one has its own name.
    variable, other = ("d", "theta") if kind == "prismatic" else ("theta", "d")
    offset, constant = fields.pop("offset", None), fields.pop(variable, None)
    if offset is not None:
        fields[other] = offset
    if constant is not None:
        fields["offset"] = constant
    for key in ("drive", "actuator", "friction"):
        fields.pop(key, None)
    limits = TRAVEL if kind == "prismatic" else TURN
    line = joints[i].line
    fields |= {"type": (line, node_of(kind)), "limits": (line, node_of(limits))}
    joints[i] = Node(line, fields)
    root = _with_joints(file.root, joints)
    return RobotFile(_with_poses(root, lambda q: [*q[:i], node_of(0.0), *q[i + 1 :]]))


def with_joint_added(file: RobotFile) -> RobotFile:
    """Return the file with an additional revolute joint at the end, with a link of 0.1 m.

    The link has a mass of 0.5 kg if another link has a mass.
    """
    joints = _joints(file)
    if len(joints) >= MAX_JOINTS:
        raise BrazoError(f"the editor supports at most {MAX_JOINTS} joints")
    names = {_text(one, "name") for one in joints}
    number = len(joints) + 1
    while f"joint {number}" in names:
        number += 1
    new: dict[str, object] = {"name": f"joint {number}", "a": LENGTH, "limits": list(TURN)}
    if any("mass" in one.value for one in joints if isinstance(one.value, dict)):
        new |= {
            "mass": 0.5,
            "com": [-LENGTH / 2, 0.0, 0.0],
            "inertia": {"box": [LENGTH, 0.04, 0.04]},
        }
    root = _with_joints(file.root, [*joints, node_of(new)])
    return RobotFile(_with_poses(root, lambda q: [*q, node_of(0.0)]))


def with_last_joint_removed(file: RobotFile) -> RobotFile:
    """Return the file without its last joint."""
    joints = _joints(file)
    if len(joints) < 2:
        raise BrazoError("a robot needs at least one joint")
    return RobotFile(_with_poses(_with_joints(file.root, joints[:-1]), lambda q: q[:-1]))


def _joints(file: RobotFile) -> list[Node]:
    fields = file.root.mapping()
    if "joints" not in fields or not isinstance(fields["joints"].node.value, list):
        raise BrazoError("this robot is not a serial arm, so its joints cannot be edited")
    return list(fields["joints"].node.value)


def _entries(node: Node) -> dict[str, tuple[int, Node]]:
    """Return the entries (line of key, node) of a mapping node by key; empty for other nodes."""
    return dict(node.value) if isinstance(node.value, dict) else {}


def _text(node: Node, key: str) -> str:
    fields = _entries(node)
    return str(fields[key][1].value) if key in fields else ""


def _with_joints(root: Field, joints: list[Node]) -> Field:
    fields = _entries(root.node)
    line, old = fields["joints"]
    fields["joints"] = (line, Node(old.line, joints))
    # Radii of the links are given for all joints, or derived.
    if "body" in fields:
        at, body = fields["body"]
        style = {key: one for key, one in _entries(body).items() if key != "radii"}
        fields["body"] = (at, Node(body.line, style))
    return Field(Node(root.node.line, fields), root.name, root.path)


def _with_poses(root: Field, change: Callable[[list[Node]], list[Node]]) -> Field:
    """Return the file with `change` applied to the list of joint values of each pose."""
    fields = _entries(root.node)
    if "poses" not in fields:
        return root
    line, poses = fields["poses"]
    changed = {
        name: (at, Node(one.line, change(list(one.value))) if isinstance(one.value, list) else one)
        for name, (at, one) in _entries(poses).items()
    }
    fields["poses"] = (line, Node(poses.line, changed))
    return Field(Node(root.node.line, fields), root.name, root.path)
