"""Writer of cell files, and of robot files in the same folder to which a cell file refers.

A cell file refers to a shipped robot by its name, and lists the parameters that were changed.  A
robot file is written for a robot with other edits (width, gripper, masses, friction), for a robot
changed in Python, and for a robot read from a user's robot file.  Expressions of the original robot
file are kept.  A robot that cannot be written as a robot file (URDF, MJCF, or meshes that are not
shipped) stays in its own file, and the cell file contains the path of that file.  Two file names
always differ in more than case and Unicode normalisation, because some file systems treat `Arm` and
`arm` as the same name.

Numbers are in SI units, with all digits needed to read back the same double.  Angles are in degrees
where that is exact.  Fields with their default value are omitted.  Orientations are written as
roll, pitch and yaw, which reproduce the rotation matrix except for rounding errors.
"""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from brazo import units
from brazo.errors import BrazoError
from brazo.files import replacing
from brazo.formats.document import Field, Node
from brazo.formats.library import mesh_directory, robot_directory
from brazo.formats.robot_yaml.writer import robot_yaml
from brazo.model.description import EARTH_GRAVITY, Array, Model
from brazo.model.shapes import Box, Cylinder, Mesh, Sphere
from brazo.model.transforms import rpy_of
from brazo.world.attachment import AttachedGripper, AttachedTool, Attachment
from brazo.world.cell import (
    RED,
    STEEL,
    BinShape,
    Cell,
    CellRobot,
    Chute,
    ContactSettings,
    Fixture,
    FixtureShape,
    Floor,
    FreeBody,
    Friction,
    GripperSettings,
    TableShape,
    default_start,
    sliding,
)

Refer = Callable[[Path], str]
_ANGLES = {"angle"}  # settings fields that are angles


def cell_files(
    cell: Cell,
    refer: Refer | None = None,
    taken: Iterable[str] = (),
    own: str = "",
    beside: bool = False,
) -> dict[str, str]:
    """Return the texts of the cell file and of the robot files it needs, by file name.

    The cell file is the first entry.  All files must be stored in one folder.  `own` is the file
    name of the cell file (default: from the name of the cell), and `taken` lists file names that
    must not be used.  `refer(path)` returns the text with which the cell file refers to a robot
    file or mesh that is not copied (default: its absolute path).  If `beside` is True and `refer`
    returns a relative path, an edited robot file with meshes is stored in the folder of the
    original robot file.
    """
    names = _Names(taken)
    own, refer = names.free(own or f"{file_name(cell.name)}.yaml"), refer or _absolute
    return _files(cell, own, names, refer, refer, beside)


def _files(
    cell: Cell, own: str, names: _Names, refer: Refer, refer_mesh: Refer, beside: bool = False
) -> dict[str, str]:
    written: dict[str, str] = {}
    blocks = [_robot(robot, cell.name, written, names, refer, beside) for robot in cell.robots]
    content: dict[str, Any] = {"name": cell.name}
    if cell.about:
        content["about"] = cell.about
    if cell.step != 1e-3:
        content["step"] = _number(cell.step)
    if not np.array_equal(cell.gravity, EARTH_GRAVITY):
        content["gravity"] = _numbers(cell.gravity)
    if cell.floor is None:
        content["floor"] = "none"
    elif cell.floor != Floor():
        content["floor"] = _floor(cell.floor)
    if contact := _settings(cell.contact, ContactSettings()):
        content["contact"] = contact
    if gripper := _settings(cell.gripper, GripperSettings()):
        content["gripper"] = gripper
    content["robots"] = blocks
    if cell.bodies:
        content["bodies"] = [_body(body, refer_mesh) for body in cell.bodies]
    if cell.fixtures:
        content["fixtures"] = [_fixture(one, refer_mesh) for one in cell.fixtures]
    if cell.chutes:
        content["chute"] = [_chute(one) for one in cell.chutes]
    if cell.frames:
        content["frames"] = [{"name": one.name, **_pose(one.pose)} for one in cell.frames]
    if not cell.robots and (cell.bodies or cell.fixtures or cell.chutes or cell.frames):
        del content["robots"]
    text = robot_yaml(Field(_node(content), "", None))
    return {own: text, **written}


def save_cell(cell: Cell, path: str | Path) -> list[Path]:
    """Write a cell file and the robot files it needs; return their paths, cell file first.

    Meshes of bodies and fixtures are copied into the folder of the cell file.  Each file is
    replaced atomically.  The cell file is written last, so that it never refers to a missing robot
    file.  The file from which a robot of this cell was read is never overwritten with another
    robot.
    """
    path = Path(path)
    if path.suffix.lower() not in (".yaml", ".yml"):
        raise BrazoError(f"{path}: the name of a cell file must end in .yaml")
    read = {robot.name: robot.source.model.path for robot in cell.robots}
    for name, source in read.items():
        if source is not None and _same(source, path):
            raise BrazoError(
                f"{path}: robot '{name}' was read from this file, and the cell would overwrite it; "
                "choose another file name"
            )
    names = _Names([path.name])
    for name, source in read.items():
        if source is not None and _same(source.parent, path.parent):
            names.keep(source.name, name)
    meshes: dict[Path, str] = {}

    def beside(mesh: Path) -> str:
        if mesh not in meshes:
            folder = path.parent.resolve()
            if mesh.resolve().is_relative_to(folder):
                meshes[mesh] = mesh.resolve().relative_to(folder).as_posix()
            else:
                content = mesh.read_bytes()
                name = names.free(mesh.name)
                while (folder / name).exists() and (folder / name).read_bytes() != content:
                    name = names.free(mesh.name)
                meshes[mesh] = name
        return meshes[mesh]

    (_, text), *robots = _files(cell, path.name, names, _absolute, beside).items()
    for mesh, name in meshes.items():
        content = mesh.read_bytes()
        with replacing(path.parent / name) as temporary:
            temporary.write_bytes(content)
    found = [(path.parent / name, content) for name, content in robots] + [(path, text)]
    for file, content in found:
        with replacing(file) as temporary:
            temporary.write_text(content, encoding="utf-8")
    return [path, *(file for file, _ in found[:-1])]


def file_name(name: str) -> str:
    """Return `name` as a file name without extension; special characters become hyphens."""
    return re.sub(r"[^\w.-]+", "-", name).strip(".-") or "cell"


# ---- robots --------------------------------------------------------------------------------


def _robot(
    robot: CellRobot,
    cell: str,
    written: dict[str, str],
    names: _Names,
    refer: Refer,
    beside: bool,
) -> dict[str, Any]:
    source, path = robot.source, robot.source.model.path
    block: dict[str, Any] = {"name": robot.name}
    if path is not None and _is_shipped(path) and source.is_its_file:
        block["robot"] = path.stem
        block |= _parameters(source.edits.parameters)
    elif source.file is not None and not _has_own_meshes(robot):
        name = names.free(f"{file_name(cell)}-{file_name(robot.name)}.yaml", robot.name)
        # The parameters of the file stay in it, because the sizes of flanges are derived from them.
        written[name] = robot_yaml(source.file.root)
        block["robot"] = name
        block |= _parameters(source.edits.parameters)
    elif path is not None and source.is_its_file:
        block["robot"] = refer(path)
        block |= _tip(source.model)
        block |= _parameters(source.edits.parameters)
    elif path is None:
        raise BrazoError(
            f"robot '{robot.name}' was made in Python, so there is no file to which a cell file "
            "could refer; write it as a robot file, URDF or MJCF, and use that file in the cell"
        )
    elif source.file is None:
        raise BrazoError(
            f"robot '{robot.name}' differs from {path}, and a cell file cannot describe the changes"
            "; write the robot with to_urdf or to_mjcf, and use the new file in the cell"
        )
    elif beside and not _is_absolute(place := refer(path)):
        text = robot_yaml(source.file.root)
        block["robot"] = name = _edited_name(PurePosixPath(place), text)
        block |= _parameters(source.edits.parameters)
        written[name] = text
    else:
        raise BrazoError(
            f"robot '{robot.name}' has meshes and was edited: save it as a robot file in the "
            "folder of its meshes first, and use that file in the cell"
        )
    block |= _attachment(source.attachment)
    if not np.array_equal(robot.base, np.eye(4)):
        block["base"] = _pose(robot.base)
    if not np.array_equal(robot.start, default_start(robot.model, robot.model.limits)):
        kinds = robot.model.joint_kinds
        block["start"] = [
            _angle(q) if kind == "revolute" else _number(q)
            for q, kind in zip(robot.start.tolist(), kinds, strict=True)
        ]
    if not robot.contact_response:
        block["contact_response"] = "off"
    if robot.grasp != "friction":
        block["grasp"] = robot.grasp
    if robot.tcps:
        block["tcps"] = {
            one.name: _pose(one.pose) or {"xyz": _numbers((0.0, 0.0, 0.0))} for one in robot.tcps
        }
    if robot.tcp:
        block["tcp"] = robot.tcp
    if robot.drives is not None:
        block["drives"] = robot.drives
    return block


def _attachment(attachment: Attachment | None) -> dict[str, Any]:
    """Return {"gripper": ...} or {"tool": ...} for the cell file; {} without an attachment."""
    if attachment is None:
        return {}
    T = attachment.mount
    mount = {} if T is None else _pose(T) or {"xyz": _numbers((0.0, 0.0, 0.0))}
    if isinstance(attachment, AttachedTool):
        found = {key: _number(getattr(attachment, key)) for key in ("length", "radius", "mass")}
        return {"tool": found | mount}
    gripper, usual = attachment.gripper, AttachedGripper()
    found: dict[str, Any] = {
        "opening": _numbers(gripper.opening),
        "max_force": _number(gripper.max_force),
        "finger": _numbers(gripper.finger),
        "mass": _number(attachment.mass),
    }
    same = (gripper.opening, gripper.max_force, gripper.finger, attachment.mass) == (
        usual.gripper.opening, usual.gripper.max_force, usual.gripper.finger, usual.mass
    )  # fmt: skip
    return {"gripper": "two-finger" if same and not mount else found | mount}


class _Names:
    """File names in use in one folder, and file names reserved for certain robots."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {_folded(name) for name in taken}
        self._kept: dict[str, set[str]] = {}

    def keep(self, name: str, robot: str) -> None:
        """Reserve a file name for a robot."""
        self._kept.setdefault(_folded(name), set()).add(robot)

    def free(self, name: str, robot: str = "") -> str:
        """Return `name`, with a number appended if it is not available, and mark it as used.

        A name is not available if it is in use, or reserved for robots other than `robot`.
        """
        stem, dot, ending = name.rpartition(".")
        found, number = name, 2
        while _folded(found) in self._taken or robot not in self._kept.get(_folded(found), {robot}):
            found, number = f"{stem}-{number}{dot}{ending}", number + 1
        self._taken.add(_folded(found))
        return found


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _same(a: Path, b: Path) -> bool:
    if a.exists() and b.exists():
        return a.samefile(b)
    return _folded(str(a.resolve())) == _folded(str(b.resolve()))


def _is_shipped(path: Path) -> bool:
    return path.parent.resolve() == robot_directory().resolve()


def _has_own_meshes(robot: CellRobot) -> bool:
    """Whether a robot has meshes that are not part of the brazo package."""
    shipped = mesh_directory().resolve()
    shapes = [part.shape for _, parts in robot.model.solids for part in parts]
    return any(
        path is None or not path.resolve().is_relative_to(shipped)
        for shape in shapes
        if isinstance(shape, Mesh)
        for path in (shape.path, *shape.pieces)
    )


def _is_absolute(place: str) -> bool:
    return PurePosixPath(place).is_absolute() or Path(place).is_absolute()


def _edited_name(place: PurePosixPath, text: str) -> str:
    """Return a path for an edited robot file, in the folder of the original robot file `place`.

    The file name contains a digest of the robot file's text `text`, so that different edits have
    different names.
    """
    stem = re.sub(r"-[0-9a-f]{8}$", "", place.stem)
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return place.with_name(f"{stem}-{digest}.yaml").as_posix()


def _tip(model: Model) -> dict[str, Any]:
    """Return {"tip": link} if the user chose the last link of an imported robot, else {}."""
    choice = model.tip_choice
    return {} if choice is None or choice.reason else {"tip": choice.link}


def _parameters(values: Mapping[str, float]) -> dict[str, Any]:
    return {"parameters": {k: _number(v) for k, v in values.items()}} if values else {}


def _absolute(path: Path) -> str:
    return path.resolve().as_posix()


# ---- solids --------------------------------------------------------------------------------


def _body(body: FreeBody, refer: Refer) -> dict[str, Any]:
    return {
        "name": body.name,
        **_shape(body.name, body.shape, refer),
        "mass": _number(body.mass),
        **_pose(body.pose),
        **_friction(body.friction, 0.5),
        **_color(body.color, RED),
    }


def _fixture(fixture: Fixture, refer: Refer) -> dict[str, Any]:
    part, shape = fixture.parts[0], fixture.shape
    if shape is None and len(fixture.parts) == 1 and np.array_equal(part.pose, np.eye(4)):
        shape = part.shape if isinstance(part.shape, FixtureShape) else None
    if shape is None:
        raise BrazoError(
            f"fixture '{fixture.name}': a fixture in a cell file must be a single box, cylinder, "
            "capsule, sphere, bin, table or mesh; make each part a separate fixture"
        )
    return {
        "name": fixture.name,
        **_shape(fixture.name, shape, refer),
        **_pose(fixture.pose),
        **_friction(fixture.friction, 0.5),
        **_color(fixture.color, STEEL),
    }


def _chute(chute: Chute) -> dict[str, Any]:
    block: dict[str, Any] = {
        "name": chute.name,
        "inner": _numbers(chute.inner),
        "length": _number(chute.length),
        "angle": _angle(chute.angle),
        "xyz": _numbers(chute.xyz),
        "yaw": _angle(chute.yaw),
    }
    if chute.wall != 0.005:
        block["wall"] = _number(chute.wall)
    return block | _friction(chute.friction, 0.2) | _color(chute.color, STEEL)


def _shape(name: str, shape: FixtureShape, refer: Refer) -> dict[str, Any]:
    if isinstance(shape, Mesh):
        return _mesh(name, shape, refer)
    if isinstance(shape, BinShape):
        wall = {} if shape.wall == BinShape(shape.size).wall else {"wall": _number(shape.wall)}
        return {"bin": _numbers(shape.size), **wall}
    if isinstance(shape, TableShape):
        usual = TableShape(shape.size)
        given = {key: getattr(shape, key) for key in ("top", "leg")}
        other = {k: _number(v) for k, v in given.items() if v != getattr(usual, k)}
        return {"table": _numbers(shape.size), **other}
    if getattr(shape, "bevel", 0.0):
        raise BrazoError(
            f"'{name}' has rounded edges, which a cell file cannot describe; set its bevel to 0"
        )
    if isinstance(shape, Sphere):
        return {"sphere": _number(shape.radius)}
    if isinstance(shape, Box):
        return {"box": _numbers(shape.size)}
    kind = "cylinder" if isinstance(shape, Cylinder) else "capsule"
    return {kind: _numbers((shape.radius, shape.length))}


def _mesh(name: str, mesh: Mesh, refer: Refer) -> dict[str, Any]:
    if mesh.path is None or len(set(mesh.scale)) > 1:
        raise BrazoError(
            f"'{name}': a cell file needs a mesh that is stored in a file and has the same scale "
            "for all axes"
        )
    scale = {} if mesh.scale[0] == 1.0 else {"scale": _number(mesh.scale[0])}
    return {"mesh": refer(mesh.path), **scale}


def _floor(floor: Floor) -> dict[str, Any]:
    height = {} if floor.height == 0.0 else {"height": _number(floor.height)}
    return height | _friction(floor.friction, 0.5)


def _pose(T: Array) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if np.any(T[:3, 3]):
        found["xyz"] = _numbers(T[:3, 3])
    if not np.array_equal(T[:3, :3], np.eye(3)):
        found["rpy"] = [_angle(float(angle)) for angle in rpy_of(T[:3, :3])]
    return found


def _friction(friction: Friction, default: float) -> dict[str, Any]:
    if friction == sliding(default):
        return {}
    return {"friction": _coefficients(friction)}


def _coefficients(friction: Friction) -> Any:
    return _number(friction[0]) if friction == sliding(friction[0]) else _numbers(friction)


def _color(color: Sequence[float], default: Sequence[float]) -> dict[str, Any]:
    return {} if tuple(color) == tuple(default) else {"color": _numbers(color)}


def _settings(given: Any, default: Any) -> dict[str, Any]:
    """Return the contact or gripper settings in `given` that differ from `default`, as text."""
    found: dict[str, Any] = {}
    for one in fields(given):
        value = getattr(given, one.name)
        if value == getattr(default, one.name):
            continue
        if one.name.endswith("_friction"):
            found[one.name] = _coefficients(value)
        elif isinstance(value, tuple):
            found[one.name] = _numbers(value)
        else:
            found[one.name] = _angle(value) if one.name in _ANGLES else _number(value)
    return found


# ---- values --------------------------------------------------------------------------------


def _number(value: float) -> str:
    """Return a number as text that reads back as the same double."""
    value = float(value)
    return str(int(value)) if value == int(value) and abs(value) < 1e6 else repr(value)


def _numbers(values: Any) -> list[str]:
    return [_number(value) for value in np.asarray(values, dtype=float).tolist()]


def _angle(value: float) -> str:
    """Return an angle (rad) as text in degrees if that reads back exactly, else in radians."""
    degrees = round(math.degrees(value), 9)
    text = f"{_number(degrees)}deg"
    if degrees != 0.0 and units.quantity(text, units.ANGLE) == value:
        return text
    return _number(value)


def _node(value: Any) -> Node:
    if isinstance(value, dict):
        return Node(1, {key: (1, _node(child)) for key, child in value.items()})
    if isinstance(value, list):
        return Node(1, [_node(child) for child in value])
    return Node(1, str(value))
