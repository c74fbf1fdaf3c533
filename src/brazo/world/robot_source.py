"""A robot's file, and the edits made to it while it stands in a cell.

Segment lengths and heights are parameters of the file.  The robot's width, its clamp's sizes and
its masses are fields of it: an edit writes the new value into the parsed file, as a person would,
and reads the whole anew, so that nothing derived can be left behind.
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
    """What differs from the file: parameters, width (a factor), the clamp's finger and opening.

    `fields` are numbers, or lists of them, by their place in the file: `joints[1].mass`.
    """

    parameters: Mapping[str, float] = field(default_factory=dict)
    width: float | None = None
    finger: tuple[float, ...] | None = None  # m, three sizes
    opening: tuple[float, ...] | None = None  # m, closed and open
    fields: Mapping[str, Any] = field(default_factory=dict)

    def over(self, earlier: Edits) -> Edits:
        """These edits on top of earlier ones."""
        return Edits(
            {**earlier.parameters, **self.parameters},
            earlier.width if self.width is None else self.width,
            earlier.finger if self.finger is None else self.finger,
            earlier.opening if self.opening is None else self.opening,
            {**earlier.fields, **self.fields},
        )


@dataclass(frozen=True, eq=False)
class RobotSource:
    """A model, the file it came from and the edits that are in it."""

    model: Model
    edits: Edits
    _file: RobotFile | None = None  # with edited fields; None for formats without parameters
    _source: Source | None = None

    def __post_init__(self) -> None:
        if self._file is None and self._source is not None:
            object.__setattr__(self, "_file", self._source.file)

    @property
    def file(self) -> RobotFile | None:
        """The robot file with its edited fields, but the file's own parameters; None for others."""
        return self._file

    @property
    def width(self) -> float:
        """The factor on all its radii."""
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
        """A shipped name or a path; relative paths start at `folder`, `tip` is as for `load`."""
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
        """The same robot with further edits; refused where its body could not be drawn."""
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
        """The model with some parameters changed, every other edit kept."""
        return self.edited(Edits(dict(parameters))).model

    def links(self) -> tuple[LinkRow, ...]:
        """Masses, centres and friction as the file has them now; empty for other formats."""
        return () if self._file is None else link_table(self._file, self.edits.parameters)

    def text(self) -> str:
        """A robot file of the robot as it is now."""
        if self._file is None:
            raise BrazoError(
                f"robot '{self.model.name}' was read from {self.model.path}, not from a robot "
                "file (.yaml): it cannot be written as one; `brazo export` writes URDF and MJCF"
            )
        root = self._file.root
        if self.edits.parameters:
            # Read back, flanges would follow the new lengths.
            node = _written(root.node, ("body", "radii"), _value(self._file.radii))
            root = Field(node, root.name, root.path)
        return robot_yaml(root, self.edits.parameters)


def limits_of(model: Model) -> Array:
    """Joint limits (n, 2); infinite where there are none."""
    return model.limits


def kinds_of(model: Model) -> tuple[JointKind, ...]:
    """What each entry of q is."""
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
    """`joints[1].friction.coulomb` as the keys that lead there."""
    keys: list[str | int] = []
    for part in name.split("."):
        match = _FIELD.fullmatch(part)
        if match is None:
            raise BrazoError(f"'{name[:80]}' is no field of a robot file; write joints[1].mass")
        keys += [match[1], *(int(i) for i in re.findall(r"\d+", match[2]))]
    return keys


def _written(node: Node, keys: Sequence[str | int], value: Node, name: str = "") -> Node:
    """A copy of a tree with one field, however deep, given another value."""
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
