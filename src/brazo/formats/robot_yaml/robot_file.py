"""Robot file: conversion of YAML fields to a `TreeModel` or `DeltaModel`.

Expressions of `parameters` are evaluated when a model is built.  The model keeps their syntax trees
for the symbolic equations.  `RobotFile.build` accepts other parameter values and evaluates
everything again, which keeps all derived numbers consistent.

    parameter_fields.py                  parameters
    composed_joints.py                   joints with several degrees of freedom as D-H rows
    common_fields.py                     blocks that all kinds of robots have
    serial_fields.py, delta_fields.py    the fields of serial arms and of Delta robots
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from brazo.body.delta_body import delta_size
from brazo.body.layout import Sizes, proportions
from brazo.formats.document import Field, parse_document, read_document
from brazo.formats.robot_yaml.composed_joints import expanded
from brazo.formats.robot_yaml.delta_fields import DeltaFields
from brazo.formats.robot_yaml.joint_fields import Names
from brazo.formats.robot_yaml.parameter_fields import read_parameters
from brazo.formats.robot_yaml.part_fields import read_style
from brazo.formats.robot_yaml.serial_fields import SerialFields
from brazo.model.description import Model


@dataclass(frozen=True)
class RobotFile:
    """Parsed robot file, from which models with various parameter values can be built."""

    root: Field

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", expanded(self.root))

    @classmethod
    def read(cls, path: Path) -> RobotFile:
        return cls(read_document(path))

    @classmethod
    def parse(cls, text: str | bytes, path: Path | None = None) -> RobotFile:
        return cls(parse_document(text, path))

    def build(self, overrides: Mapping[str, float] | None = None) -> Model:
        """Return the model; `overrides` (SI) replace parameter values of the file."""
        if not self.root.is_mapping:
            self.root.fail("expected a robot file: fields such as name, joints, parameters")
        if self._kind == "delta":
            size = self._own_size if overrides else None
            return DeltaFields(self.root, overrides or {}).read(size)
        sizes = self._own_sizes if overrides else None
        return SerialFields(self.root, overrides or {}).read(sizes)

    @property
    def _kind(self) -> str:
        given = self.root.mapping()
        return given["kind"].choice("serial", "delta") if "kind" in given else "serial"

    def names(self, overrides: Mapping[str, float] | None = None) -> Names:
        """Return the evaluated parameters; `overrides` (SI) replace values of the file."""
        return read_parameters(self.root, self.root.mapping(), overrides or {})

    @property
    def radii(self) -> tuple[float, ...]:
        """Radii (m) of the joints and the tool flange in the generated geometry.

        The radii are given in the file as `body: radii`, or else computed from the lengths in the
        file.  The `overrides` of `build` do not change them.  A Delta robot has only one radius,
        that of its drives.
        """
        if self._kind == "delta":
            return (self._own_size,)
        return self._own_sizes.radii

    @cached_property
    def _own_sizes(self) -> Sizes:
        """Joint and flange radii (m) for the parameter values of the file.

        Models with other parameter values use the same radii.
        """
        model = SerialFields(self.root, {}).read(None)
        limits = [joint.limits for joint in model.joints]
        given = self._given_radii()
        return Sizes(given) if given else proportions(model.dh, limits, model.tool)

    @cached_property
    def _own_size(self) -> float:
        """Radius (m) of the drive hubs of a Delta robot for the parameter values of the file.

        Models with other parameter values use the same radius.
        """
        model = DeltaFields(self.root, {}).read(None)
        given = self._given_radii()
        return given[0] if given else delta_size(model.R, model.L1, model.L2)

    def _given_radii(self) -> tuple[float, ...]:
        return read_style(self.root.mapping().get("body"), self.names()).radii
