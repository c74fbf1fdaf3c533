"""Selectable options of the controllers, such as feed-forward; gains are not options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from brazo.control import Controller
from brazo.control.feedforward import FEEDFORWARDS
from brazo.control.pid import WINDUPS
from brazo.errors import BrazoError

_AHEAD = {"none": "none", "gravity": "gravity", "full": "full model"}
_OFF_ON = {"": "off", "on": "on"}


@dataclass(frozen=True, slots=True)
class Option:
    """Selectable option of a controller: its attribute name, label and allowed values."""

    name: str
    title: str
    values: Mapping[str, str]  # value sent by a page -> label

    def shown(self, value: Any) -> str:
        """Convert the value of the controller's attribute to a key of `values`."""
        return ("on" if value else "") if self.values is _OFF_ON else str(value)

    def read(self, sent: str) -> Any:
        """Convert a key of `values`, sent by a page, to the value of the controller's attribute.

        Raises `BrazoError` for an unknown key.
        """
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


def changed(controller: Controller, **options: Any) -> Controller:
    """Copy of a controller with the same gains and the given options changed.

    The copy is not yet bound to a robot.
    """
    kept = {one.name: getattr(controller, one.name) for one in OPTIONS.get(controller.name, ())}
    if hasattr(controller, "pose"):
        kept["pose"] = controller.pose  # pyright: ignore[reportAttributeAccessIssue]
    gains = {name: controller.gains[name] for name in controller.gains}
    return type(controller)(**gains, **{**kept, **options})


def as_program(robot: str, controller: Controller, cell: str) -> str:
    """Text (YAML) of a program that sets this controller and its gains on a robot.

    `robot` and `cell` are the names of the robot and of its cell.
    """
    from brazo.program.program import Program
    from brazo.program.steps import SetController

    gains = {name: tuple(float(one) for one in controller.gains[name]) for name in controller.gains}
    step = SetController(controller=controller.name, gains=gains)
    return Program(f"{robot} gains", cell=cell, steps={robot: [step]}).to_yaml()
