"""Source of a robot in a cell: its file and the edits applied to it.

Segment lengths and heights are parameters of the file.  Width, gripper sizes and masses are fields
of the file.  An edit writes the new value into the parsed file and reads the whole file again, so
that all derived values are updated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from brazo.body.drawable import require_drawable
from brazo.errors import BrazoError
from brazo.files import is_regular
from brazo.formats.document import Field, Node
from brazo.formats.library import find_robot
from brazo.formats.load import Source, load_source
from brazo.formats.robot_yaml.link_table import LinkRow, link_table
from brazo.formats.robot_yaml.part_fields import read_style
from brazo.formats.robot_yaml.robot_file import RobotFile
from brazo.formats.robot_yaml.writer import robot_yaml
from brazo.model.description import Array, JointKind, Model

_NOTHING: Mapping[str, float] = MappingProxyType({})
_FIELD = re.compile(r"([A-Za-z_]\w*)((?:\[\d+\])*)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Edits:
    """Differences from the file: parameters, width (a factor), finger and opening of the gripper.

    `fields` maps the path of a field in the file, such as `joints[1].mass`, to a number or a list
    of numbers.
    """

    parameters: Mapping[str, float] = field(default_factory=dict)
    width: float | None = None
    finger: tuple[float, ...] | None = None  # m, three sizes
    opening: tuple[float, ...] | None = None  # m, min and max
    fields: Mapping[str, Any] = field(default_factory=dict)

    def over(self, earlier: Edits) -> Edits:
        """Return the combination of earlier edits and these; these take precedence."""
        return Edits(
            {**earlier.parameters, **self.parameters},
            earlier.width if self.width is None else self.width,
            earlier.finger if self.finger is None else self.finger,
            earlier.opening if self.opening is None else self.opening,
            {**earlier.fields, **self.fields},
        )


@dataclass(frozen=True, eq=False)
class RobotSource:
    """A model, the file it was read from and the edits applied to it."""

    model: Model
    edits: Edits
    _file: RobotFile | None = None  # with edited fields; None for formats other than robot files
    _source: Source | None = None

    def __post_init__(self) -> None:
        if self._file is None and self._source is not None:
            object.__setattr__(self, "_file", self._source.file)

    @property
    def file(self) -> RobotFile | None:
        """Return the robot file with edited fields and its original parameters; None for others."""
        return self._file

    @property
    def width(self) -> float:
        """Factor on all radii of the robot."""
        if self._file is None:
            return 1.0
        return read_style(self._file.root.mapping().get("body"), self._file.names()).width

    @classmethod
    def load(
        cls,
        robot: str | Path,
        parameters: Mapping[str, float] = _NOTHING,
        folder: Path = Path(),
        tip: str | None = None,
    ) -> RobotSource:
        """Load a robot by name or path (relative to `folder`); `tip` as in `load_source`."""
        path = Path(robot)
        if path.suffix and not path.is_absolute() and is_regular(folder / path):
            robot = folder / path
        path = find_robot(robot)
        if tip is not None or path.suffix.lower() not in (".yaml", ".yml"):
            source = load_source(path, tip)
            return cls(source.rebuild(parameters), Edits(dict(parameters)), _source=source)
        file = RobotFile.read(path)
        return cls(file.build(parameters or None), Edits(dict(parameters)), file)

    def edited(self, edits: Edits) -> RobotSource:
        """Return the robot with further edits; raise an error if it could not be drawn."""
        if edits == Edits():
            return self
        merged = edits.over(self.edits)
        if self._file is None:
            if replace(edits, parameters={}) != Edits():
                raise BrazoError(
                    f"robot '{self.model.name}' was read from {self.model.path}: only robot files "
                    "(.yaml) have a width, a gripper and masses to edit"
                )
            assert self._source is not None
            model = self._source.rebuild(merged.parameters)
            require_drawable(model)
            return replace(self, model=model, edits=merged)
        file = self._file
        if replace(edits, parameters={}) != Edits():
            file = RobotFile(_edited_root(file.root, edits))
        model = file.build(merged.parameters)
        require_drawable(model)
        return replace(self, model=model, edits=merged, _file=file)

    def rebuild(self, parameters: Mapping[str, float]) -> Model:
        """Return the model with some parameters changed; all other edits are kept."""
        return self.edited(Edits(dict(parameters))).model

    def links(self) -> tuple[LinkRow, ...]:
        """Return current masses, centres of mass and friction; empty for other formats."""
        return () if self._file is None else link_table(self._file, self.edits.parameters)

    def text(self) -> str:
        """Return the text of a robot file that describes the robot with its edits."""
        if self._file is None:
            raise BrazoError(
                f"robot '{self.model.name}' was read from {self.model.path}, not from a robot "
                "file (.yaml): it cannot be written as one; `brazo export` writes URDF and MJCF"
            )
        root = self._file.root
        if self.edits.parameters:
            # The radii are written explicitly: derived from the new lengths, the flanges would
            # change.
            node = _written(root.node, ("body", "radii"), _value(self._file.radii))
            root = Field(node, root.name, root.path)
        return robot_yaml(root, self.edits.parameters)


def limits_of(model: Model) -> Array:
    """Joint limits (n, 2); infinite where there are none."""
    return model.limits


def kinds_of(model: Model) -> tuple[JointKind, ...]:
    """Joint kind of each entry of q."""
    return model.joint_kinds


def joint_names_of(model: Model) -> tuple[str, ...]:
    """Names of the joints, in the order of q."""
    return model.joint_names


def _edited_root(root: Field, edits: Edits) -> Field:
    node = root.node
    if edits.width is not None:
        node = _written(node, ("body", "width"), _number(edits.width))
    for key, sizes in (("finger", edits.finger), ("opening", edits.opening)):
        if sizes is None:
            continue
        held = node.value.get("gripper") if isinstance(node.value, dict) else None
        if held is None or held[1].value is None:
            raise BrazoError(f"{root.path}: the robot has no gripper, so no {key} to edit")
        node = _written(node, ("gripper", key), _value(sizes))
    for name, value in edits.fields.items():
        node = _written(node, _place(name), _value(value), name)
    return Field(node, root.name, root.path)


def _place(name: str) -> list[str | int]:
    """Split a field path such as `joints[1].friction.coulomb` into keys and indices."""
    keys: list[str | int] = []
    for part in name.split("."):
        match = _FIELD.fullmatch(part)
        if match is None:
            raise BrazoError(f"'{name[:80]}' is no field of a robot file; write joints[1].mass")
        keys += [match[1], *(int(i) for i in re.findall(r"\d+", match[2]))]
    return keys


def _written(node: Node, keys: Sequence[str | int], value: Node, name: str = "") -> Node:
    """Return a copy of a tree with the value of one (nested) field replaced."""
    if not keys:
        return value
    key, deeper = keys[0], keys[1:]
    if isinstance(key, int):
        items = list(node.value) if isinstance(node.value, list) else []
        if key >= len(items):
            raise BrazoError(f"{name}: there is no entry {key}; the list has {len(items)}")
        items[key] = _written(items[key], deeper, value, name)
        return Node(node.line, items)
    fields = dict(node.value) if isinstance(node.value, dict) else {}
    line, child = fields.get(key, (node.line, Node(node.line, None)))
    fields[key] = (line, _written(child, deeper, value, name))
    return Node(node.line, fields)


def _value(value: Any) -> Node:
    if isinstance(value, (list, tuple, np.ndarray)):
        return Node(1, [_value(item) for item in value])
    return _number(value)


def _number(value: Any) -> Node:
    if not isinstance(value, (int, float)) or not np.isfinite(value):
        raise BrazoError(f"an edit must be a finite number, got {value!r}")
    return Node(1, repr(float(value)))
