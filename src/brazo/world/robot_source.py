"""`RobotSource`: the file of a robot in a cell, with the edits applied to it.

Segment lengths and heights are parameters of the file; edited values are stored separately and
replace the values of the file.  Width, gripper sizes and masses are fields of the file; edited
values are written into the parsed file.  Each edit builds the model again, so that all derived
values are updated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from brazo.body.drawable import require_drawable
from brazo.errors import BrazoError
from brazo.files import is_regular
from brazo.formats.document import Field
from brazo.formats.library import find_robot
from brazo.formats.load import Fixed, Source, load_source
from brazo.formats.robot_yaml.edit import edited, node_of, written
from brazo.formats.robot_yaml.link_table import LinkRow, link_table
from brazo.formats.robot_yaml.part_fields import read_style
from brazo.formats.robot_yaml.robot_file import RobotFile
from brazo.formats.robot_yaml.writer import robot_yaml
from brazo.formats.text import loaded_file, payload_of
from brazo.model.description import Inertia, Model
from brazo.world.attachment import AttachedGripper, Attachment, with_attachment

_NOTHING: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Edits:
    """Edits of a robot: its differences from its file.

    `parameters` are new values of parameters of the file.  `width` is a factor on all radii;
    `finger` and `opening` are sizes of the gripper.  `fields` maps the location of a field in the
    file, such as `joints[1].mass`, to a number or a list of numbers.
    """

    parameters: Mapping[str, float] = field(default_factory=dict)
    width: float | None = None
    finger: tuple[float, ...] | None = None  # m, three sizes
    opening: tuple[float, ...] | None = None  # m, min and max
    fields: Mapping[str, Any] = field(default_factory=dict)

    def over(self, earlier: Edits) -> Edits:
        """Return these edits combined with earlier ones; these edits take precedence."""
        return Edits(
            {**earlier.parameters, **self.parameters},
            earlier.width if self.width is None else self.width,
            earlier.finger if self.finger is None else self.finger,
            earlier.opening if self.opening is None else self.opening,
            {**earlier.fields, **self.fields},
        )


@dataclass(frozen=True, eq=False)
class RobotSource:
    """A robot of a cell: its model, the file it was read from, and the edits applied to it."""

    model: Model
    edits: Edits
    _file: RobotFile | None = None  # with edited fields; None for formats other than robot files
    _source: Source | None = None
    _load: Inertia | None = None  # payload in the tool frame, which is not in `_file`
    attachment: Attachment | None = None  # gripper or tool on the flange, which is in `model`
    _bare: Model | None = None  # the model without its attachment

    def __post_init__(self) -> None:
        if self._file is None and self._source is not None:
            object.__setattr__(self, "_file", self._source.described_by)
            object.__setattr__(self, "_load", payload_of(self._source.rebuild))

    @property
    def file(self) -> RobotFile | None:
        """The robot file with the edited fields; None for other formats (URDF, MJCF).

        Edited parameters are not written into this file.  If the robot has a payload, the inertia
        of the last link in this file includes the payload.
        """
        if self._file is None or self._load is None:
            return self._file
        return loaded_file(self._file, self.bare)

    @property
    def bare(self) -> Model:
        """The model without the attached gripper or tool."""
        return self.model if self._bare is None else self._bare

    @property
    def is_its_file(self) -> bool:
        """Whether the file `model.path` describes the robot, except for parameters and attachment.

        If this robot file no longer exists, the result is True unless the robot has edits other
        than parameters.
        """
        path, file = self.model.path, self.file
        if path is None or replace(self.edits, parameters={}) != Edits():
            return False
        if file is None:
            return self._source is None or isinstance(self._source.rebuild, Fixed)
        # A robot changed in Python has a file of its own that keeps the path.
        if not is_regular(path):
            return True
        return robot_yaml(file.root) == robot_yaml(RobotFile.read(path).root)

    @property
    def width(self) -> float:
        """Factor on all radii of the robot; 1 for a robot without a robot file."""
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
        """Load a robot, given its name or its path relative to `folder`.

        `parameters` replace parameter values of the file.  `tip` is the name of the link that is
        used as the last link, as in `load_source`.
        """
        path = Path(robot)
        if path.suffix and not path.is_absolute() and is_regular(folder / path):
            robot = folder / path
        path = find_robot(robot)
        if tip is not None or path.suffix.lower() not in (".yaml", ".yml"):
            source = load_source(path, tip)
            return cls(source.rebuild(parameters), Edits(dict(parameters)), _source=source)
        file = RobotFile.read(path)
        return cls(file.build(parameters or None), Edits(dict(parameters)), file)

    def attached(self, attachment: Attachment | None) -> RobotSource:
        """Return the robot with this gripper or tool on its flange; None removes the attachment."""
        if attachment is None:
            return replace(self, model=self.bare, attachment=None, _bare=None)
        model = with_attachment(self.bare, attachment)
        return replace(self, model=model, attachment=attachment, _bare=self.bare)

    def edited(self, edits: Edits) -> RobotSource:
        """Return the robot with additional edits; raise `BrazoError` if they make it invalid."""
        if edits == Edits():
            return self
        if self.attachment is not None:
            attachment, edits = _edited_attachment(self.attachment, edits)
            return self.attached(None).edited(edits).attached(attachment)
        merged = edits.over(self.edits)
        if self._file is None:
            if replace(edits, parameters={}) != Edits():
                raise BrazoError(
                    f"robot '{self.model.name}' was not read from a robot file (.yaml), so its "
                    "width, gripper and masses cannot be edited"
                )
            assert self._source is not None
            model = self._source.rebuild(merged.parameters)
            require_drawable(model)
            return replace(self, model=model, edits=merged)
        file = self._file
        if replace(edits, parameters={}) != Edits():
            file = RobotFile(_edited_root(file.root, edits))
        model = file.build(merged.parameters)
        if self._load is not None:
            model = model.loaded(self._load)
        require_drawable(model)
        return replace(self, model=model, edits=merged, _file=file)

    def restructured(self, change: Callable[[RobotFile], RobotFile]) -> RobotSource:
        """Return the robot after `change` was applied to its file, for example to add a joint.

        `brazo.formats.robot_yaml.structure` contains such functions.
        """
        if self._file is None:
            raise BrazoError(
                f"robot '{self.model.name}' was not read from a robot file (.yaml), so its joints "
                "cannot be edited"
            )
        if self.attachment is not None:
            return self.attached(None).restructured(change).attached(self.attachment)
        file = change(self._file)
        model = file.build(self.edits.parameters)
        if self._load is not None:
            model = model.loaded(self._load)
        require_drawable(model)
        return replace(self, model=model, _file=file)

    def rebuild(self, parameters: Mapping[str, float]) -> Model:
        """Return the model with some parameters changed; all other edits are kept."""
        return self.edited(Edits(dict(parameters))).model

    def links(self) -> tuple[LinkRow, ...]:
        """Return mass, centre of mass and friction of each link; empty without a robot file."""
        return () if self._file is None else link_table(self._file, self.edits.parameters)

    def text(self) -> str:
        """Return the text of a robot file that describes the robot with its edits.

        The attachment is not included.  Raises `BrazoError` for a robot without a robot file.
        """
        file = self.file
        if file is None:
            raise BrazoError(
                f"robot '{self.model.name}' was not read from a robot file (.yaml), so it cannot "
                "be written as a robot file; use `brazo export` to write URDF or MJCF"
            )
        root = file.root
        if self.edits.parameters:
            # The radii are written explicitly: derived from the new lengths, the flanges would
            # change.
            root = edited(root, {"body.radii": file.radii})
        return robot_yaml(root, self.edits.parameters)


def _edited_attachment(attachment: Attachment, edits: Edits) -> tuple[Attachment, Edits]:
    """Return the attachment with the finger and opening edits applied, and all other edits.

    For a tool, both arguments are returned unchanged.
    """
    if not isinstance(attachment, AttachedGripper) or (edits.finger, edits.opening) == (None, None):
        return attachment, edits
    sizes: dict[str, Any] = {}
    for key, values in (("finger", edits.finger), ("opening", edits.opening)):
        if values is not None:
            _require_numbers(values)
            sizes[key] = tuple(map(float, values))
    gripper = replace(attachment.gripper, **sizes)
    low, high = gripper.opening
    if not 0.0 <= low < high or min(gripper.finger) <= 0.0:
        raise BrazoError(
            f"opening [{low:g}, {high:g}] m, finger {list(gripper.finger)} m: a gripper needs "
            "0 <= closed < open, and finger sizes greater than 0"
        )
    return replace(attachment, gripper=gripper), replace(edits, finger=None, opening=None)


def _edited_root(root: Field, edits: Edits) -> Field:
    node = root.node
    _require_numbers((edits.width, edits.finger, edits.opening, *edits.fields.values()))
    if edits.width is not None:
        node = written(node, ("body", "width"), node_of(edits.width, "width"))
    for key, sizes in (("finger", edits.finger), ("opening", edits.opening)):
        if sizes is None:
            continue
        held = node.value.get("gripper") if isinstance(node.value, dict) else None
        if held is None or held[1].value is None:
            raise BrazoError(f"{root.path}: the robot has no gripper, so '{key}' cannot be edited")
        node = written(node, ("gripper", key), node_of(sizes, key))
    return edited(Field(node, root.name, root.path), edits.fields)


def _require_numbers(value: Any) -> None:
    """Raise `BrazoError` unless a value is None, a finite number or a list of such values."""
    if isinstance(value, (list, tuple, np.ndarray)):
        for item in value:
            _require_numbers(item)
    elif value is not None and not (isinstance(value, (int, float)) and np.isfinite(value)):
        raise BrazoError(f"an edit must be a finite number, got {value!r}")
