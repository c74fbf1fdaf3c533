"""Gains of a controller, usually one value per joint, which may be changed during a run.

    pid.gains["kp"]                      (n,) the current values
    pid.gains["kp"] = 40.0               every joint
    pid.gains["kp"] = [40, 40, 25, …]    one value per joint
    pid.gains["kp", "elbow"] = 25.0      one joint, by name or index

Values are checked when they are set.  A compiled controller reads the same memory, so a change
takes effect in the next control period, without recompilation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.trajectory.reading import floats

Key = str | tuple[str, str | int]


@dataclass(frozen=True, slots=True)
class Gain:
    """Declaration of a gain: name, description, unit, and whether a value may be 0.

    A gain has one value per joint, or one per label in `entries`.  `unit` is one unit, or a pair of
    units: for revolute and prismatic joints, or for angular and linear entries.
    """

    name: str
    about: str
    unit: str | tuple[str, str]
    zero: bool = True
    entries: tuple[str, ...] = ()  # labels, if not one value per joint

    @property
    def rule(self) -> str:
        """Condition on the values, as a phrase for error messages."""
        return "must be at least 0" if self.zero else "must be greater than 0"


@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """A gain for display: label, unit and value of each entry."""

    name: str
    about: str
    labels: tuple[str, ...]
    units: tuple[str, ...]
    values: np.ndarray
    zero: bool  # may be 0; never negative


class Gains:
    """All gains of one controller for one robot, stored in one vector."""

    def __init__(
        self,
        owner: str,
        kinds: Sequence[Gain],
        joint_names: Sequence[str],
        joint_kinds: Sequence[str],
        values: Mapping[str, Any],
        changed: Callable[[], None] | None = None,
    ) -> None:
        self._owner, self._changed = owner, None
        #: Called with name and values after each change; not copied.
        self.on_change: Callable[[str, np.ndarray], object] | None = None
        self._kinds = {gain.name: gain for gain in kinds}
        self._joints, self._joint_kinds = tuple(joint_names), tuple(joint_kinds)
        self._slices: dict[str, slice] = {}
        start = 0
        for gain in kinds:
            stop = start + len(self._labels(gain))
            self._slices[gain.name] = slice(start, stop)
            start = stop
        self.vector = np.zeros(max(start, 1))  # input of the compiled control law
        for name, value in values.items():
            self[name] = value
        self._changed = changed

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)

    def __contains__(self, name: object) -> bool:
        return name in self._kinds

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={self[name].tolist()}" for name in self)
        return f"<gains of {self._owner}: {shown}>"

    def __getitem__(self, key: Key) -> Any:
        """Return a copy of the values of a gain, or one value for a key (name, entry)."""
        name, entry = key if isinstance(key, tuple) else (key, None)
        values = self.vector[self._slice(name)].copy()
        return values if entry is None else float(values[self._entry(name, entry)])

    def __setitem__(self, key: Key, value: Any) -> None:
        name, entry = key if isinstance(key, tuple) else (key, None)
        where = self._slice(name)
        size = where.stop - where.start
        given = floats(value, self._what(name))
        wanted = "a number" if entry is not None else f"a number or an array of shape ({size},)"
        if given.shape != () and (entry is not None or given.shape != (size,)):
            raise BrazoError(f"{self._what(name)} has shape {given.shape}; expected {wanted}")
        values = self.vector[where].copy()
        values[slice(None) if entry is None else self._entry(name, entry)] = given
        self.check(name, values)
        before = self.vector[where].copy()
        self.vector[where] = values
        try:
            if self._changed is not None:
                self._changed()
        except BrazoError:
            self.vector[where] = before
            raise
        if self.on_change is not None and not np.array_equal(before, values):
            self.on_change(name, values)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "on_change": None}

    def split(self, vector: Sequence[Any]) -> dict[str, list[Any]]:
        """Split a vector with the layout of `self.vector` into one list per gain, by name."""
        return {name: list(vector[where]) for name, where in self._slices.items()}

    def slice_of(self, name: str) -> slice:
        """Slice of `vector` that holds the values of a gain."""
        return self._slice(name)

    def check(self, name: str, values: np.ndarray) -> None:
        """Raise a `BrazoError` if a value in `values` (..., entries) is not allowed for a gain."""
        gain = self._kinds[name]
        fine = np.isfinite(values) & ((values >= 0.0) if gain.zero else (values > 0.0))
        if not fine.all():
            first = tuple(np.argwhere(~fine)[0])
            bad = int(first[-1])
            label = self._labels(gain)[bad]
            place = f"axis {label}" if gain.entries else f"joint {bad + 1} ({label})"
            raise BrazoError(
                f"{self._what(name)} for {place} is {values[first]:g}; it {gain.rule} and finite"
            )

    def parameters(self) -> tuple[Parameter, ...]:
        """All gains with labels, units and values, for display."""
        return tuple(
            Parameter(
                name=name,
                about=gain.about,
                labels=self._labels(gain),
                units=self._units(gain),
                values=self[name],
                zero=gain.zero,
            )
            for name, gain in self._kinds.items()
        )

    def _labels(self, gain: Gain) -> tuple[str, ...]:
        return gain.entries or self._joints

    def _units(self, gain: Gain) -> tuple[str, ...]:
        if isinstance(gain.unit, str):
            return (gain.unit,) * len(self._labels(gain))
        if gain.entries:  # six axes of a tool: three linear, three angular
            half = len(gain.entries) // 2
            return (gain.unit[1],) * half + (gain.unit[0],) * half
        return tuple(gain.unit[kind == "prismatic"] for kind in self._joint_kinds)

    def _slice(self, name: str) -> slice:
        if name not in self._slices:
            raise BrazoError(
                f"{self._owner} has no gain '{name}'; gains: {', '.join(self._kinds) or 'none'}"
            )
        return self._slices[name]

    def _entry(self, name: str, entry: str | int) -> int:
        labels = self._labels(self._kinds[name])
        if isinstance(entry, str) and entry in labels:
            return labels.index(entry)
        if isinstance(entry, int) and 0 <= entry < len(labels):
            return entry
        raise BrazoError(
            f"{self._what(name)}: no entry {entry!r}; entries: {', '.join(labels)}, "
            f"or 0 to {len(labels) - 1}"
        )

    def _what(self, name: str) -> str:
        return f"{self._owner}: gain '{name}'"
