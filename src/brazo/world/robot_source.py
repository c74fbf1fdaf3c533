"""A robot's file, and the edits made to it while it stands in a cell.

Segment lengths and heights are parameters of the file.  The robot's width and its clamp's sizes
are fields of it: an edit writes the new value into the parsed file, as a person would, and reads
the whole anew, so that nothing derived can be left behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from brazo.errors import BrazoError
from brazo.model.description import Array, DeltaModel, JointKind, Model, TreeModel, frozen
from brazo.model.document import Field, Node
from brazo.model.library import find_robot
from brazo.model.load import Source, load_source
from brazo.model.robot_file import RobotFile

_NOTHING: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Edits:
    """What differs from the file: parameters, width (a factor), the clamp's finger and opening."""

    parameters: Mapping[str, float] = field(default_factory=dict)
    width: float | None = None
    finger: tuple[float, ...] | None = None  # m, three sizes
    opening: tuple[float, ...] | None = None  # m, closed and open

    def over(self, earlier: Edits) -> Edits:
        """These edits on top of earlier ones."""
        return Edits(
            {**earlier.parameters, **self.parameters},
            earlier.width if self.width is None else self.width,
            earlier.finger if self.finger is None else self.finger,
            earlier.opening if self.opening is None else self.opening,
        )


@dataclass(frozen=True, eq=False)
class RobotSource:
    """A model, the file it came from and the edits that are in it."""

    model: Model
    edits: Edits
    _file: RobotFile | None = None  # with edited fields; None for formats without parameters
    _source: Source | None = None

    @classmethod
    def load(
        cls, robot: str | Path, parameters: Mapping[str, float] = _NOTHING, folder: Path = Path()
    ) -> RobotSource:
        """A shipped name or a path; relative paths start at `folder`."""
        path = Path(robot).expanduser()
        if path.suffix and not path.is_absolute() and (folder / path).is_file():
            robot = folder / path
        path = find_robot(robot)
        if path.suffix.lower() not in (".yaml", ".yml"):
            source = load_source(path)
            return cls(source.rebuild(parameters), Edits(parameters), _source=source)
        file = RobotFile.read(path)
        return cls(file.build(parameters or None), Edits(parameters), file)

    def edited(self, edits: Edits) -> RobotSource:
        """The same robot with further edits."""
        if edits == Edits():
            return self
        merged = edits.over(self.edits)
        if self._file is None:
            if edits.width is not None or edits.finger is not None or edits.opening is not None:
                raise BrazoError(
                    f"robot '{self.model.name}' was read from {self.model.path}: only robot files "
                    "(.yaml) have a width and a clamp to edit"
                )
            assert self._source is not None
            return replace(self, model=self._source.rebuild(merged.parameters), edits=merged)
        file = self._file
        if replace(edits, parameters={}) != Edits():
            file = RobotFile(_edited_root(file.root, edits))
        return replace(self, model=file.build(merged.parameters), edits=merged, _file=file)

    def rebuild(self, parameters: Mapping[str, float]) -> Model:
        """The model with some parameters changed, every other edit kept."""
        return self.edited(Edits(dict(parameters))).model


def limits_of(model: Model) -> Array:
    """Joint limits (n, 2); infinite where there are none."""
    if isinstance(model, DeltaModel):
        return frozen(model.limits)
    assert isinstance(model, TreeModel)
    return frozen([joint.limits for joint in model.coordinates], (model.n, 2))


def kinds_of(model: Model) -> tuple[JointKind, ...]:
    """What each entry of q is."""
    if isinstance(model, DeltaModel):
        return ("revolute", "revolute", "revolute")
    assert isinstance(model, TreeModel)
    return tuple(joint.kind for joint in model.coordinates)


def joint_names_of(model: Model) -> tuple[str, ...]:
    """Names of the joints, in the order of q."""
    if isinstance(model, DeltaModel):
        return model.joint_names
    assert isinstance(model, TreeModel)
    return tuple(joint.name for joint in model.coordinates)


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
        node = _written(node, ("gripper", key), _list(sizes))
    return Field(node, root.name, root.path)


def _written(node: Node, keys: Sequence[str], value: Node) -> Node:
    """A copy of a mapping with one field, however deep, given another value."""
    if not keys:
        return value
    fields = dict(node.value) if isinstance(node.value, dict) else {}
    line, child = fields.get(keys[0], (node.line, Node(node.line, None)))
    fields[keys[0]] = (line, _written(child, keys[1:], value))
    return Node(node.line, fields)


def _number(value: float) -> Node:
    if not np.isfinite(value):
        raise BrazoError(f"an edit must be a finite number, got {value}")
    return Node(1, repr(float(value)))


def _list(values: Sequence[float]) -> Node:
    return Node(1, [_number(value) for value in values])
