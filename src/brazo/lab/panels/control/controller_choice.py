"""Options of the controllers other than gains, and copies of a controller with other options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from brazo.control import Controller, controllers
from brazo.control.feedforward import FEEDFORWARDS
from brazo.control.pid import WINDUPS
from brazo.errors import BrazoError
from brazo.simulation.robot import IDEAL

_AHEAD = {"none": "none", "gravity": "gravity", "full": "full model"}
_OFF_ON = {"": "off", "on": "on"}
TITLES = {
    "CartesianImpedance": "Cartesian impedance",
    "ComputedTorque": "Computed torque",
    "PDGravity": "PD with gravity",
    "SlidingMode": "Sliding mode",
}


@dataclass(frozen=True, slots=True)
class Option:
    """Option of a controller: its attribute name, label and allowed values."""

    name: str
    title: str
    values: Mapping[str, str]  # value sent by a page -> label

    def shown(self, value: Any) -> str:
        """Convert a controller's value to the form used by a page."""
        return ("on" if value else "") if self.values is _OFF_ON else str(value)

    def read(self, sent: str) -> Any:
        """Convert a value sent by a page to the controller's; raises `BrazoError` if unknown."""
        if sent not in self.values:
            raise BrazoError(f"{self.title}: choose one of {', '.join(self.values.values())}")
        return bool(sent) if self.values is _OFF_ON else sent


_AHEAD_OPTION = Option("feedforward", "Feed-forward", {k: _AHEAD[k] for k in FEEDFORWARDS})
_AHEAD_SWITCH = Option("feedforward", "Feed-forward", _OFF_ON)
OPTIONS: dict[str, tuple[Option, ...]] = {
    "PID": (
        _AHEAD_OPTION,
        Option("windup", "Anti-windup", {one: one for one in WINDUPS}),
    ),
    "LQR": (_AHEAD_OPTION,),
    "PDGravity": (_AHEAD_SWITCH,),
    "CartesianImpedance": (
        _AHEAD_SWITCH,
        Option("frame", "Axes", {"tool": "Tool", "base": "Base"}),
    ),
}


def titles(with_laws: bool) -> dict[str, str]:
    """Labels of the available controllers, by name.

    A robot without masses (`with_laws` false) has ideal positioning only.
    """
    found = {}
    if with_laws:
        found = {name: TITLES.get(name) or _spaced(name) for name in controllers()}
    return {**found, IDEAL: "Ideal positioning"}


def changed(law: Controller, **options: Any) -> Controller:
    """Copy of a controller with the same gains and other options, not yet bound to a robot."""
    kept = {one.name: getattr(law, one.name) for one in OPTIONS.get(law.name, ())}
    if hasattr(law, "pose"):
        kept["pose"] = law.pose  # pyright: ignore[reportAttributeAccessIssue]
    gains = {name: law.gains[name] for name in law.gains}
    return type(law)(**gains, **{**kept, **options})


def as_program(robot: str, law: Controller, cell: str) -> str:
    """Text of a program that sets this controller with these gains on a robot."""
    from brazo.program.program import Program
    from brazo.program.steps import SetController

    gains = {name: tuple(float(one) for one in law.gains[name]) for name in law.gains}
    step = SetController(controller=law.name, gains=gains)
    return Program(f"{robot} gains", cell=cell, steps={robot: [step]}).to_yaml()


def _spaced(name: str) -> str:
    """Split a class name into words: `MyController` gives `My controller`."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)
    return " ".join([words[0], *(w if w.isupper() else w.lower() for w in words[1:])])
