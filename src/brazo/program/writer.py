"""Writer of a `Program` as a program file, in SI units and radians.

Reading the file gives an equal program.  Fields with default values are omitted.  Each step is one
line; loops are nested.  `step_lines` writes a single step in more readable units.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from brazo.program import steps as s
from brazo.program.flow import flow as _flow
from brazo.program.flow import plain_text as _text
from brazo.program.point_file import points_yaml
from brazo.program.program import Program

_MM, _DEG, _S, _N = ("mm", 1e3, 6), ("deg", 180.0 / math.pi, 7), ("s", 1.0, 9), ("N", 1.0, 9)
_UNITS = {  # of fields: unit, its factor and digits
    **dict.fromkeys(("xyz", "by", "within", "opening", "centre", "radius", "points"), _MM),
    **dict.fromkeys(("side", "blend", "radii", "amplitudes", "pitch"), _MM),
    **dict.fromkeys(("rpy", "phases"), _DEG),
    **dict.fromkeys(("time", "timeout", "settle", "at", "wait"), _S),
    "force": _N,
    "tool_speed": ("m/s", 1.0, 9),
}


def to_yaml(program: Program) -> str:
    """Return the program as the text of a program file."""
    blank = Program(program.name)
    lines = [f"name: {_text(program.name)}"]
    for name in ("about", "cell", "speed", "clearance", "watch", "planner"):
        value = getattr(program, name)
        if value != getattr(blank, name):
            lines.append(f"{name}: {_flow(value)}")
    if program.goals:
        lines.append("goals:")
        lines += [f"  - {_flow(goal.plain)}" for goal in program.goals]
    if program.points:
        lines.append("points:")
        lines += [f"  {line}" for line in points_yaml(program.points).splitlines()]
    lines.append("robots:")
    for robot, steps in program.steps.items():
        lines.append(f"  {_text(robot)}:" + ("" if steps else " []"))
        lines += _block(steps, "    ")
    return "\n".join(lines) + "\n"


def step_lines(step: s.Step) -> list[str]:
    """Return the lines of a step in a program file, with readable units.

    Fields in `_UNITS` are in mm, degrees, s, N and m/s; other numbers, such as joint values, are in
    SI units and radians.
    """
    return _block((step,), "", readable)


def readable(value: Any, name: str = "") -> str:
    """Return the value of the field `name` as YAML text.

    Floats of the fields in `_UNITS` have a unit and are rounded to 1 nm, 1e-7 degrees or 1e-9 of
    the SI unit.
    """
    if isinstance(value, Mapping):
        inner = (f"{_text(key)}: {readable(one, key)}" for key, one in value.items())
        return "{" + ", ".join(inner) + "}" if value else ""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(readable(one, name) for one in value) + "]"
    if isinstance(value, str | bool | int) or name not in _UNITS:
        return _flow(value)
    unit, scale, digits = _UNITS[name]
    number = round(scale * value, digits)
    return "0" if number == 0.0 and unit in ("mm", "deg") else f"{number:.15g}{unit}"


def _block(
    steps: Sequence[s.Step], indent: str, written: Callable[[Any, str], str] | None = None
) -> list[str]:
    write = written or (lambda value, _: _flow(value))
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
            lines += _block(step.do, inner + "  ", written)
        else:
            lines.append(f"{indent}- {verb}: {write(_value(step), verb)}".rstrip())
    return lines


def _value(step: s.Step) -> Any:
    """Return the value that follows the verb of a step in a program file."""
    match step:
        case s.MoveJoints():
            return {"to": step.point or step.to, **_speed(step), **_rest(step, "plan")}
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
    """Return the fields in `names` whose values differ from the default."""
    found = {}
    for f in fields(step):
        value = getattr(step, f.name)
        if f.name in names and value != f.default and not (value is None or value == {}):
            found[f.name] = value
    return found


def _speed(step: s.MoveJoints | s.MoveTo | s.Line | s.FollowPath) -> dict[str, float]:
    """Return the fields for speed and tolerance of a motion that differ from the defaults."""
    speed, tolerance, default = step.speed, step.tolerance, s.Tolerance()
    named = {"speed": speed.fraction, "time": speed.time, "tool_speed": speed.tool_speed}
    for name in ("within", "timeout"):
        if getattr(tolerance, name) != getattr(default, name):
            named[name] = getattr(tolerance, name)
    return {name: value for name, value in named.items() if value is not None}


def _target(target: s.Target) -> dict[str, Any]:
    if target.point:
        return {"to": target.point, **({} if target.of is None else {"of": target.of})}
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
