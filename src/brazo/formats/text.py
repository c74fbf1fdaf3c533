"""Text of the robot file of a robot, including changes made to the robot in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brazo.arrays import float_array
from brazo.errors import BrazoError
from brazo.formats.load import Source
from brazo.formats.robot_yaml.edit import edited
from brazo.formats.robot_yaml.from_dh import placement
from brazo.formats.robot_yaml.robot_file import RobotFile
from brazo.formats.robot_yaml.writer import robot_yaml
from brazo.model.description import Array, DeltaModel, Inertia, Model, TreeModel
from brazo.model.payload import Carrying


def robot_text(source: Source, overrides: Mapping[str, float]) -> str:
    """Return the text of the robot file of a robot.

    `overrides` (SI) replace parameter values.  The inertia of a payload is added to the last link.
    For a Delta robot, the mass of the payload is added to the platform.
    """
    file, model = source.described_by, source.model
    if file is None:
        where = f" was read from {model.path}, which" if model.path else ""
        raise BrazoError(
            f"robot '{model.name}'{where} has no D-H table, so it cannot be written as a robot "
            "file; use to_urdf or to_mjcf"
        )
    if payload_of(source.rebuild) is not None:
        file = loaded_file(file, model)
    # Radii derived from the new lengths would differ from those that are drawn.
    root = edited(file.root, {"body.radii": file.radii}) if overrides else file.root
    return robot_yaml(root, overrides)


def loaded_file(file: RobotFile, model: Model) -> RobotFile:
    """Return the robot file with the last link's inertia (Delta: platform mass) set as in `model`.

    This inertia includes the tool and the payload, so the mass, com and inertia of the field `tool`
    are removed.
    """
    tool = {f"tool.{key}": None for key in ("mass", "com", "inertia")}
    return RobotFile(edited(file.root, {**tool, **_fields_of(model).load()}))


def payload_of(rebuild: Callable[..., Model]) -> Inertia | None:
    """Return the total payload of a robot, in the tool frame; None without a payload.

    `rebuild` is the function of a `Source` that rebuilds the robot's model.
    """
    from brazo.model.inertia import merge

    load: Inertia | None = None
    while isinstance(rebuild, Carrying):
        load = rebuild.load if load is None else merge(load, rebuild.load)
        rebuild = rebuild.rebuild
    return load


def edits_for(what: str, value: Array, model: Model) -> dict[str, Any]:
    """Return the new field values, by field name, that set `what` of a robot file to `value`.

    If `what` is "tool" or "base", `value` is a pose (4, 4).  If `what` is "limits", `value` (n, 2)
    contains the joint limits.
    """
    fields = _fields_of(model)
    if what == "limits":
        return fields.limits(value)
    if what == "base":
        fields.check_base()
    return {f"{what}.{key}": numbers for key, numbers in placement(value, what).items()}


def limits_array(
    limits: ArrayLike | Mapping[str, tuple[float, float]], names: tuple[str, ...], known: Array
) -> Array:
    """Return joint limits as an array (n, 2); raise BrazoError if they are invalid.

    `limits` is an array (n, 2), or a mapping from joint names to (low, high).  Joints that are not
    in the mapping keep their limits in `known` (n, 2).
    """
    if isinstance(limits, Mapping):
        merged = known.copy()
        for name, pair in limits.items():
            if name not in names:
                raise BrazoError(f"no joint named '{name}'; joints: {', '.join(names)}")
            try:
                low, high = np.array(pair, dtype=float).tolist()
            except (TypeError, ValueError):
                raise BrazoError(
                    f"limits of joint '{name}': expected (low, high) in rad or m, got {pair!r}"
                ) from None
            merged[names.index(name)] = low, high
        limits = merged
    values = float_array(limits, "limits")
    if values.shape != known.shape or not (values[:, 0] < values[:, 1]).all():
        raise BrazoError(
            f"limits: expected shape {known.shape} with low < high, got {values.tolist()}"
        )
    return values


@dataclass(frozen=True)
class _TreeFields:
    """New field values for the robot file of a serial arm."""

    model: TreeModel

    def check_base(self) -> None:
        """Do nothing, because a serial arm can have any base frame."""

    def limits(self, value: Array) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for i, (low, high) in enumerate(value.tolist()):
            if np.isinf(low) != np.isinf(high):
                raise BrazoError(
                    f"limits of joint {i + 1}: {low:g} to {high:g}; in a robot file both limits "
                    "must be finite, or both infinite"
                )
            fields[f"joints[{i}].limits"] = None if np.isinf(low) else [low, high]
        return fields

    def load(self) -> dict[str, Any]:
        """Return the field values, by field name, that set the last link's inertia.

        The inertia includes the tool and the payload.
        """
        held = self.model.bodies[self.model.tip].inertia
        assert held is not None
        last = f"joints[{len(self.model.joints) - 1}]"
        return {f"{last}.mass": held.mass, f"{last}.com": held.com, f"{last}.inertia": held.tensor}


@dataclass(frozen=True)
class _DeltaFields:
    """New field values for the robot file of a Delta robot."""

    model: DeltaModel

    def check_base(self) -> None:
        raise BrazoError(
            f"robot '{self.model.name}' is a Delta, whose robot file has no field 'base'; set its "
            "pose in a cell instead"
        )

    def limits(self, value: Array) -> dict[str, Any]:
        if np.isinf(value).any() or np.ptp(value, axis=0).any():
            raise BrazoError(
                f"limits: robot '{self.model.name}' is a Delta; all arms must have the same finite "
                f"limits, got {value.tolist()}"
            )
        return {"limits": value[0]}

    def load(self) -> dict[str, Any]:
        """Return the field values, by field name, that set the mass of the platform.

        The mass includes the tool and the payload.
        """
        return {"platform_mass": self.model.platform_mass}


def _fields_of(model: Model) -> _TreeFields | _DeltaFields:
    return (
        _DeltaFields(model) if isinstance(model, DeltaModel) else _TreeFields(model.require_tree())
    )
