"""Text of program steps for display: a verb and its arguments, in mm and degrees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from brazo.program import steps as s

VERBS = {
    "move_joints": "MoveJ",
    "move_to": "MoveJ",
    "line": "MoveL",
    "repeat": "loop",
    "for_each": "for each",
    "wait_until": "wait until",
    "set_signal": "signal",
    "sync": "sync",
    "set_controller": "controller",
}


def verb(step: s.Step) -> str:
    """Verb of a step as displayed, e.g. `MoveJ`."""
    if isinstance(step, s.FollowPath) and step.curve == "arc":
        return "arc"
    name = s.verb_of(step)
    return VERBS.get(name, name)


def about(step: s.Step) -> str:
    """Arguments of a step as text, e.g. `to (100, 0, 50) mm`; empty if the step has none."""
    match step:
        case s.MoveJoints():
            if step.point:
                return f"to {step.point}"
            return f"to {step.to}" if isinstance(step.to, str) else "to joint target"
        case s.MoveTo() | s.Line():
            return _target(step.target)
        case s.FollowPath():
            curve = "" if step.curve == "arc" else step.curve
            if step.curve == "arc":
                curve = f"to {_point(step.values['points'][-1])}"
            return curve + ("" if step.frame == "world" else f" in {step.frame}")
        case s.Grip():
            force = "" if step.force is None else f"{step.force:g} N"
            return ", ".join(part for part in (step.body or "", force) if part)
        case s.Release():
            return "" if step.opening is None else f"to {1e3 * step.opening:g} mm"
        case s.Wait():
            return f"{step.time:g} s"
        case s.WaitUntil():
            return _condition(step.condition)
        case s.SetSignal():
            return f"{step.name} {'on' if step.on else 'off'}"
        case s.Sync():
            return step.name
        case s.SetController():
            gains = ", ".join(step.gains)
            return " ".join(part for part in (step.controller or "", gains) if part)
        case s.Note():
            return step.text
        case s.Repeat():
            return f"{step.times} times"
        case s.ForEach():
            return f"${step.variable} of {', '.join(step.of)}"
        case _:
            return ""


def _target(target: s.Target) -> str:
    of = f"{target.of} " if target.of else ""
    if target.point:
        return f"{of}to {target.point}"
    frame = "" if target.frame == "world" else f" in {target.frame}"
    if target.by is not None:
        return f"{of}by {_point(target.by)}{frame}"
    if target.xyz is not None:
        return f"{of}to {_point(target.xyz)}{frame}"
    assert target.rpy is not None
    angles = ", ".join(_short(v) for v in np.degrees(target.rpy))
    return f"{of}rotated ({angles})°{frame}"


def _condition(condition: s.Condition) -> str:
    match condition:
        case s.Held(body, by, off):
            who = f" by {by}" if by else ""
            return f"{body} is {'free' if off else 'held'}{who}"
        case s.Touching(first, second):
            return f"{first} touches {second}"
        case s.Signal(name):
            return f"signal {name}"
        case s.At(time):
            return f"{time:g} s"
        case s.Through(body, chute):
            return f"{body} has passed {chute}"
        case _:
            return ""


def _point(values: Sequence[float]) -> str:
    return f"({', '.join(_short(1e3 * v) for v in values)}) mm"


def _short(value: float) -> str:
    return f"{round(value, 2) + 0.0:g}".replace("-", "−")
