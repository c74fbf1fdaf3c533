"""Writes a `Program` as a program file, in SI units and radians; reading it back gives an equal
one.

Fields with default values are omitted; each step is one line, loops are nested.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import yaml

from brazo.program import steps as s
from brazo.program.program import Program

_PLAIN = re.compile(r"[A-Za-z_$][A-Za-z0-9_$./]*(?: [A-Za-z0-9_$./]+)*")
_WORDS = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}


def to_yaml(program: Program) -> str:
    """The text of a program file."""
    blank = Program(program.name)
    lines = [f"name: {_text(program.name)}"]
    for name in ("about", "cell", "speed", "clearance", "watch", "planner"):
        value = getattr(program, name)
        if value != getattr(blank, name):
            lines.append(f"{name}: {_flow(value)}")
    if program.goals:
        lines.append("goals:")
        lines += [f"  - {_flow(goal.plain)}" for goal in program.goals]
    lines.append("robots:")
    for robot, steps in program.steps.items():
        lines.append(f"  {_text(robot)}:" + ("" if steps else " []"))
        lines += _block(steps, "    ")
    return "\n".join(lines) + "\n"


def _block(steps: Sequence[s.Step], indent: str) -> list[str]:
    lines = []
    for step in steps:
        verb = s.verb_of(step)
        if isinstance(step, (s.Repeat, s.ForEach)):
            lines.append(f"{indent}- {verb}:")
            inner = indent + "    "
            if isinstance(step, s.Repeat):
                lines.append(f"{inner}times: {step.times}")
            else:
                lines.append(f"{inner}as: {step.variable}")
                lines.append(f"{inner}of: {_flow(step.of)}")
            lines.append(f"{inner}do:" + ("" if step.do else " []"))
            lines += _block(step.do, inner + "  ")
        else:
            lines.append(f"{indent}- {verb}: {_flow(_value(step))}")
    return lines


def _value(step: s.Step) -> Any:
    """The value of a step's verb."""
    match step:
        case s.MoveJoints():
            return {"to": step.to, **_speed(step), **_rest(step, "plan")}
        case s.MoveTo():
            own = _rest(step, "plan", "branch", "orientation", "gripper_symmetric")
            return {**_target(step.target), **_speed(step), **own}
        case s.Line():
            return {
                **_target(step.target),
                **_speed(step),
                **_rest(step, "plan", "orientation"),
            }
        case s.FollowPath():
            frame = {} if step.frame == "world" else {"in": step.frame}
            turn = {} if step.rpy is None else {"rpy": step.rpy}
            own = _rest(step, "plan", "orientation")
            return {step.curve: dict(step.values), **turn, **frame, **_speed(step), **own}
        case s.WaitUntil():
            return {**_condition(step.condition), **_rest(step, "timeout")}
        case s.Note():
            return step.text
        case s.Wait():
            return step.time
        case _:
            names = [f.name for f in fields(step) if f.name != "place"]
            given = {f.name: getattr(step, f.name) for f in fields(step) if f.name == "name"}
            return {**given, **_rest(step, *[name for name in names if name != "name"])}


def _rest(step: s.Step, *names: str) -> dict[str, Any]:
    """Fields with a non-default value."""
    found = {}
    for f in fields(step):
        value = getattr(step, f.name)
        if f.name in names and value != f.default and not (value is None or value == {}):
            found[f.name] = value
    return found


def _speed(step: s.MoveJoints | s.MoveTo | s.Line | s.FollowPath) -> dict[str, float]:
    """Speed and tolerance of a motion, if not the default."""
    speed, tolerance, default = step.speed, step.tolerance, s.Tolerance()
    named = {"speed": speed.fraction, "time": speed.time, "tool_speed": speed.tool_speed}
    for name in ("within", "timeout"):
        if getattr(tolerance, name) != getattr(default, name):
            named[name] = getattr(tolerance, name)
    return {name: value for name, value in named.items() if value is not None}


def _target(target: s.Target) -> dict[str, Any]:
    named = {
        "xyz": target.xyz,
        "by": target.by,
        "rpy": target.rpy,
        "in": None if target.frame == "world" else target.frame,
        "of": target.of,
    }
    return {name: value for name, value in named.items() if value is not None}


def _condition(condition: s.Condition) -> dict[str, Any]:
    match condition:
        case s.Held(body, by, off):
            return {"free" if off else "held": body, **({} if by is None else {"by": by})}
        case s.Touching(first, second):
            return {"touching": (first, second)}
        case s.Signal(name):
            return {"signal": name}
        case s.At(time):
            return {"at": time}
        case s.Through(body, chute):
            return {"through": chute, "body": body}


def _flow(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_text(k)}: {_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(_flow(one) for one in value) + "]"
    return repr(float(value)) if isinstance(value, float) else str(value)


def _text(text: str) -> str:
    """YAML text, quoted if it could be misread."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return yaml.dump(text, default_style='"', width=float("inf")).rstrip("\n")
