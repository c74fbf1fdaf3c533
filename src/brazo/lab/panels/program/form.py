"""Form that edits a program step: conversion from a step to form fields and back.

Form fields show values in mm, degrees, s, N and percent.  Steps store values in SI units.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.orientation import matrix_from_rpy, rpy_from_matrix
from brazo.lab.app.quantities import Quantity, read_quantity
from brazo.program import steps as s

Kind = Literal["number", "text", "choice", "switch"]
Pose = tuple[s.Triple, s.Triple]  # xyz (m) and rpy (rad)
AXES = ("x", "y", "z")
ANGLES = ("roll", "pitch", "yaw")
POINT, NAMED = "point:", "pose:"  # prefixes of values of the field `target`
SPEEDS = {
    "default": "Program default",
    "fraction": "% of limits",
    "time": "Duration",
    "tool_speed": "Tool speed",
}
PLANS = {
    "direct": "Straight, checked",
    "free": "Around obstacles",
    "unchecked": "Straight, unchecked",
}
ORIENTATIONS = {"full": "Fixed", "nearest": "Closest feasible", "free": "Free"}
CONDITIONS = {
    "held": "Body is held",
    "free": "Body is free",
    "signal": "Signal is on",
    "at": "Simulation time",
}


@dataclass(frozen=True, slots=True)
class FormField:
    """Field of the form; `options` are pairs of value and text, for a choice."""

    id: str
    label: str
    value: Any
    kind: Kind = "number"
    unit: str = ""  # shown behind the field
    digits: int = 1
    options: tuple[tuple[str, str], ...] = ()

    def shown(self) -> dict[str, Any]:
        """The field as a dict for JSON, as sent to the page."""
        return {
            "id": self.id,
            "label": self.label,
            "value": self.value,
            "kind": self.kind,
            "unit": self.unit,
            "digits": self.digits,
            "options": [list(one) for one in self.options],
        }


@dataclass(frozen=True, slots=True)
class StepNames:
    """Names that the fields of a step can refer to, gripper limits, and poses of frames."""

    points: Sequence[str]
    poses: Sequence[str]
    bodies: Sequence[str]
    frames: Sequence[str]
    robots: Sequence[str]
    controllers: Sequence[str]
    syncs: Sequence[str]
    max_force: float  # N
    max_opening: float  # m
    target_in: Callable[[str], Pose]  # pose of the target of the step in a frame
    frame: Callable[[str], np.ndarray]  # pose (4, 4) of a frame in the world


def fields_of(step: s.Step, names: StepNames) -> list[FormField]:
    """Form fields of a step."""
    match step:
        case s.MoveJoints() | s.MoveTo() | s.Line():
            return _move(step, names)
        case s.FollowPath():
            return _path(step, names)
        case s.Grip():
            force = names.max_force if step.force is None else step.force
            return [
                _choice("body", "Body", step.body or "", {"": "Any body", **_same(names.bodies)}),
                FormField("force", "Force", force, unit="N"),
                FormField("settle", "Hold time", step.settle, unit="s", digits=2),
                FormField("timeout", "Timeout", step.timeout, unit="s"),
            ]
        case s.Release():
            opening = names.max_opening if step.opening is None else step.opening
            return [
                FormField("opening", "Opening", 1e3 * opening, unit="mm"),
                FormField("timeout", "Timeout", step.timeout, unit="s"),
            ]
        case s.Wait():
            return [FormField("time", "Time", step.time, unit="s", digits=2)]
        case s.WaitUntil():
            return _condition(step, names)
        case s.SetSignal():
            return [
                FormField("name", "Signal", step.name, "text"),
                FormField("on", "On", step.on, "switch"),
            ]
        case s.Sync():
            return [
                FormField("name", "Name", step.name, "text", options=_pairs(names.syncs)),
                FormField("timeout", "Timeout", step.timeout, unit="s"),
            ]
        case s.SetController():
            known = {"": "Keep", **_same(names.controllers)}
            return [_choice("controller", "Controller", step.controller or "", known)]
        case s.Note():
            return [FormField("text", "Text", step.text, "text")]
        case s.Repeat():
            return [FormField("times", "Times", step.times, digits=0)]
        case s.ForEach():
            return [
                FormField("variable", "Variable", step.variable, "text"),
                FormField("of", "Names", ", ".join(step.of), "text"),
            ]
        case _:
            return []


def with_value(step: s.Step, field: str, value: Any, names: StepNames) -> s.Step:
    """Copy of the step with one form field changed.

    Raises `BrazoError` for an unknown field, or if a number cannot be read.  Other errors in the
    new step are found when the program is validated.
    """
    match step:
        case s.MoveJoints() | s.MoveTo() | s.Line():
            return _with_move(step, field, value, names)
        case s.FollowPath():
            return _with_path(step, field, value, names)
        case s.WaitUntil():
            return _with_condition(step, field, value, names)
        case s.Repeat():
            times = read_quantity(value, "number")
            return replace(step, times=int(times) if times == int(times) else times)  # type: ignore[arg-type]
        case s.ForEach():
            if field == "variable":
                return replace(step, variable=_text(value))
            return replace(
                step, of=tuple(one.strip() for one in _text(value).split(",") if one.strip())
            )
        case s.SetSignal() if field == "on":
            return replace(step, on=_on(value))
    plain = {one.id: one for one in fields_of(step, names)}
    if field not in plain:
        raise BrazoError(f"this step has no field '{field}'")
    if plain[field].kind == "number":
        return replace(step, **{field: read_quantity(value, _unit(plain[field].unit))})
    text = _text(value)
    optional = field in ("body", "controller")
    return replace(step, **{field: text or None if optional else text})


# ---- motions -----------------------------------------------------------------------------------


def _move(step: s.MoveJoints | s.MoveTo | s.Line, names: StepNames) -> list[FormField]:
    linear = isinstance(step, s.Line)
    found = [
        _choice(
            "motion", "Motion", "line" if linear else "joint", {"joint": "MoveJ", "line": "MoveL"}
        ),
        _choice("target", "Target", target_kind(step), _targets(step, names)),
    ]
    if not isinstance(step, s.MoveJoints) and not step.target.point:
        found += _pose_fields(step.target, names)
    found += _speed(step.speed, linear)
    plans = {key: text for key, text in PLANS.items() if not (linear and key == "free")}
    found.append(_choice("plan", "Path", step.plan, plans))
    if not isinstance(step, s.MoveJoints):
        found.append(_choice("orientation", "Orientation", step.orientation, ORIENTATIONS))
    if isinstance(step, s.MoveTo):
        found.append(
            FormField("symmetric", "Gripper may turn 180°", step.gripper_symmetric, "switch")
        )
    found.append(FormField("within", "Tolerance", 1e3 * step.tolerance.within, unit="mm"))
    return found


def target_kind(step: s.MoveJoints | s.MoveTo | s.Line) -> str:
    """Value of the form field `target` for a step.

    It is `point:NAME`, `pose:NAME`, `joints`, `pose` or `offset`.
    """
    if isinstance(step, s.MoveJoints):
        return f"{NAMED}{step.to}" if isinstance(step.to, str) else "joints"
    if step.target.point:
        return f"{POINT}{step.target.point}"
    return "offset" if step.target.by is not None else "pose"


def _targets(step: s.MoveJoints | s.MoveTo | s.Line, names: StepNames) -> dict[str, str]:
    prefix = NAMED if isinstance(step, s.MoveJoints) else POINT
    found = {f"{prefix}{name}": f"Point {name}" for name in names.points}
    if not isinstance(step, s.Line):
        found |= {f"{NAMED}{name}": f"Pose {name}" for name in names.poses}
    if target_kind(step) == "joints":
        found["joints"] = "Joint values"
    return found | {"pose": "Position in a frame…", "offset": "Offset…"}


def _pose_fields(target: s.Target, names: StepNames) -> list[FormField]:
    values = target.by if target.by is not None else target.xyz
    found = [
        _choice("frame", "Frame", target.frame, _same(names.frames)),
        _choice("of", "Moves", target.of or "", {"": "Tool", **_same(names.bodies)}),
    ]
    for axis, value in zip(AXES, values or (), strict=False):
        found.append(FormField(axis, axis, 1e3 * value, unit="mm", digits=2))
    if target.by is None:
        keeps = target.rpy is None
        found.append(FormField("keeps", "Keep orientation", keeps, "switch"))
        for angle, value in zip(ANGLES, target.rpy or (), strict=False):
            found.append(FormField(angle, angle, math.degrees(value), unit="°", digits=2))
    return found


def _speed(speed: s.Speed, linear: bool) -> list[FormField]:
    named = {"fraction": speed.fraction, "time": speed.time, "tool_speed": speed.tool_speed}
    kind = next((name for name, value in named.items() if value is not None), "default")
    allowed = {key: text for key, text in SPEEDS.items() if linear or key != "tool_speed"}
    found = [_choice("speed", "Speed", kind, allowed)]
    if kind == "fraction":
        found.append(FormField("fraction", "", 100.0 * (speed.fraction or 0.0), unit="%", digits=0))
    elif kind == "time":
        found.append(FormField("time", "", speed.time, unit="s", digits=2))
    elif kind == "tool_speed":
        found.append(FormField("tool_speed", "", 1e3 * (speed.tool_speed or 0.0), unit="mm/s"))
    return found


def _with_move(
    step: s.MoveJoints | s.MoveTo | s.Line, field: str, value: Any, names: StepNames
) -> s.Step:
    common = {"speed": step.speed, "tolerance": step.tolerance, "plan": step.plan}
    if field == "motion":
        return _with_motion(step, str(value), common, names)
    if field == "target":
        return _with_target(step, str(value), common, names)
    if (new := _with_common(step, field, value)) is not None:
        return new
    if isinstance(step, s.MoveJoints):
        raise BrazoError(f"this step has no field '{field}'")
    if field == "symmetric" and isinstance(step, s.MoveTo):
        return replace(step, gripper_symmetric=_on(value))
    return replace(step, target=_with_pose(step.target, field, value, names))


def _with_motion(
    step: s.MoveJoints | s.MoveTo | s.Line, motion: str, common: dict[str, Any], names: StepNames
) -> s.Step:
    if (motion == "line") == isinstance(step, s.Line):
        return step
    if motion == "line":
        plan = "direct" if step.plan == "free" else step.plan
        if isinstance(step, s.MoveTo):
            target, orientation = step.target, step.orientation
        else:
            assert isinstance(step, s.MoveJoints)
            to = step.to if isinstance(step.to, str) else ""
            known = to in names.points
            target = s.Target(point=to) if known else s.Target(*names.target_in("world"), "world")
            orientation = "full"
        return s.Line(**{**common, "plan": plan}, target=target, orientation=orientation)
    assert isinstance(step, s.Line)
    speed = step.speed if step.speed.tool_speed is None else s.Speed()
    common = {**common, "speed": speed}
    if step.target.point and step.target.of is None:
        return s.MoveJoints(to=step.target.point, **common)
    return s.MoveTo(target=step.target, orientation=step.orientation, **common)


def _with_target(
    step: s.MoveJoints | s.MoveTo | s.Line, kind: str, common: dict[str, Any], names: StepNames
) -> s.Step:
    linear = isinstance(step, s.Line)
    orientation: s.Orientation = "full" if isinstance(step, s.MoveJoints) else step.orientation
    if kind == "joints" or kind == target_kind(step):
        return step
    if kind.startswith((NAMED, POINT)):
        name = kind.partition(":")[2]
        if linear:
            return s.Line(target=s.Target(point=name), orientation=orientation, **common)
        return s.MoveJoints(to=name, **common)
    if kind == "offset":
        target = s.Target(by=(0.0, 0.0, 0.0))
    elif kind == "pose":
        target = s.Target(*names.target_in("world"), "world")
    else:
        raise BrazoError(f"no target type '{kind}': choose one from the list")
    if linear:
        return s.Line(target=target, orientation=orientation, **common)
    return s.MoveTo(target=target, orientation=orientation, **common)


def _with_pose(target: s.Target, field: str, value: Any, names: StepNames) -> s.Target:
    if field == "frame":
        return _in_frame(target, str(value), names)
    if field == "of":
        return replace(target, of=_text(value) or None)
    if field == "keeps":
        return replace(target, rpy=None if _on(value) else names.target_in(target.frame)[1])
    if field in AXES:
        name = "by" if target.by is not None else "xyz"
        given = list(getattr(target, name) or (0.0, 0.0, 0.0))
        given[AXES.index(field)] = read_quantity(value, "mm")
        return replace(target, **{name: tuple(given)})
    if field in ANGLES and target.rpy is not None:
        angles = list(target.rpy)
        angles[ANGLES.index(field)] = read_quantity(value, "deg")
        return replace(target, rpy=cast(s.Triple, tuple(angles)))
    raise BrazoError(f"this step has no field '{field}'")


def _in_frame(target: s.Target, frame: str, names: StepNames) -> s.Target:
    """Convert a target to another frame, so that its pose in the world does not change.

    There are two exceptions: if the target has no position (for example, an offset), or if the old
    or new frame is "tool", the numbers are kept and only the name of the frame is changed.
    """
    if frame not in names.frames:
        raise BrazoError(f"no frame '{frame}'; frames: {', '.join(names.frames)}")
    if target.by is not None or target.xyz is None or "tool" in (frame, target.frame):
        return replace(target, frame=frame)
    old, new = names.frame(target.frame), names.frame(frame)
    T = np.linalg.inv(new) @ old
    xyz = T[:3, :3] @ np.array(target.xyz) + T[:3, 3]
    rpy = target.rpy
    if rpy is not None:
        rpy = rounded_rpy(T[:3, :3] @ matrix_from_rpy(rpy))
    return replace(target, frame=frame, xyz=rounded(xyz), rpy=rpy)


def _with_common(
    step: s.MoveJoints | s.MoveTo | s.Line | s.FollowPath, field: str, value: Any
) -> s.MoveJoints | s.MoveTo | s.Line | s.FollowPath | None:
    """Copy of a motion step with its speed, plan, orientation or tolerance changed.

    None for any other field.
    """
    match field:
        case "speed":
            given = {"default": {}, "fraction": {"fraction": 0.5}, "time": {"time": 2.0}}
            given["tool_speed"] = {"tool_speed": 0.1}
            if value not in given:
                raise BrazoError(f"no speed '{value}': choose one from the list")
            return replace(step, speed=s.Speed(**given[value]))
        case "fraction":
            return replace(step, speed=s.Speed(fraction=read_quantity(value, "percent")))
        case "time":
            return replace(step, speed=s.Speed(time=read_quantity(value, "s")))
        case "tool_speed":
            if isinstance(value, str):
                raise BrazoError(f"tool speed '{value}': expected a number in mm/s")
            return replace(step, speed=s.Speed(tool_speed=1e-3 * value))
        case "plan":
            return replace(step, plan=value)
        case "orientation" if not isinstance(step, s.MoveJoints):
            return replace(step, orientation=value)
        case "within":
            return replace(
                step, tolerance=replace(step.tolerance, within=read_quantity(value, "mm"))
            )
        case _:
            return None


# ---- arcs --------------------------------------------------------------------------------------

ARC_POINTS = ("start", "via", "end")


def _path(step: s.FollowPath, names: StepNames) -> list[FormField]:
    found = [_choice("frame", "Frame", step.frame, _same(names.frames))]
    if step.curve == "arc":
        for name, point in zip(ARC_POINTS, step.values["points"], strict=True):
            for axis, value in zip(AXES, point, strict=True):
                label = f"{name} {axis}"
                found.append(FormField(f"{name}-{axis}", label, 1e3 * value, unit="mm", digits=2))
    plans = {key: text for key, text in PLANS.items() if key != "free"}
    return [
        *found,
        *_speed(step.speed, True),
        _choice("plan", "Path", step.plan, plans),
        _choice("orientation", "Orientation", step.orientation, ORIENTATIONS),
        FormField("within", "Tolerance", 1e3 * step.tolerance.within, unit="mm"),
    ]


def _with_path(step: s.FollowPath, field: str, value: Any, names: StepNames) -> s.Step:
    if (new := _with_common(step, field, value)) is not None:
        return new
    if field == "frame":
        if value not in names.frames:
            raise BrazoError(f"no frame '{value}'; frames: {', '.join(names.frames)}")
        if step.curve != "arc" or "tool" in (value, step.frame):
            return replace(step, frame=value)
        T = np.linalg.inv(names.frame(value)) @ names.frame(step.frame)
        moved = tuple(rounded(T[:3, :3] @ np.array(p) + T[:3, 3]) for p in step.values["points"])
        return replace(step, frame=value, values={"points": moved})
    name, _, axis = field.partition("-")
    if step.curve != "arc" or name not in ARC_POINTS or axis not in AXES:
        raise BrazoError(f"this step has no field '{field}'")
    points = [list(point) for point in step.values["points"]]
    points[ARC_POINTS.index(name)][AXES.index(axis)] = read_quantity(value, "mm")
    return replace(step, values={"points": tuple(tuple(point) for point in points)})


def arc_point(step: s.FollowPath, which: int, xyz: s.Triple) -> s.FollowPath:
    """Copy of an arc step with its start (0), via (1) or end point (2) replaced."""
    points = [*step.values["points"]]
    points[which] = xyz
    return replace(step, values={"points": tuple(points)})


# ---- conditions --------------------------------------------------------------------------------


def _condition(step: s.WaitUntil, names: StepNames) -> list[FormField]:
    condition = step.condition
    timeout = FormField("timeout", "Timeout", step.timeout, unit="s")
    match condition:
        case s.Held(body, by, off):
            kind = "free" if off else "held"
            own = [
                _choice("body", "Body", body, _same(names.bodies)),
                _choice("by", "By", by or "", {"": "This robot", **_same(names.robots)}),
            ]
        case s.Signal(name):
            kind, own = "signal", [FormField("name", "Signal", name, "text")]
        case s.At(time):
            kind, own = "at", [FormField("time", "Time", time, unit="s", digits=2)]
        case _:
            return [timeout]  # contacts and chutes: in the text
    return [_choice("condition", "Until", kind, CONDITIONS), *own, timeout]


def _with_condition(step: s.WaitUntil, field: str, value: Any, names: StepNames) -> s.Step:
    condition = step.condition
    match field, condition:
        case "timeout", _:
            return replace(step, timeout=read_quantity(value, "s"))
        case "condition", _:
            return replace(step, condition=first_condition(str(value), names.bodies))
        case (("body" | "by"), s.Held()):
            return replace(step, condition=replace(condition, **{field: _text(value) or None}))
        case "name", s.Signal():
            return replace(step, condition=s.Signal(_text(value)))
        case "time", s.At():
            return replace(step, condition=s.At(read_quantity(value, "s")))
        case _:
            raise BrazoError(f"this step has no field '{field}'")


def first_condition(kind: str, bodies: Sequence[str]) -> s.Condition:
    """Initial condition of a new `WaitUntil` step; `kind` is a key of `CONDITIONS`."""
    if kind in ("held", "free"):
        if not bodies:
            raise BrazoError("the cell has no free body: add one in the Scene panel")
        return s.Held(bodies[0], off=kind == "free")
    return s.At(1.0) if kind == "at" else s.Signal("go")


# ---- helpers -----------------------------------------------------------------------------------


def rounded(xyz: Iterable[float]) -> s.Triple:
    """Position (x, y, z) in m, rounded to 1 µm."""
    x, y, z = (round(float(value), 6) + 0.0 for value in xyz)
    return x, y, z


def rounded_rpy(R: np.ndarray) -> s.Triple:
    """Roll, pitch and yaw (rad) of a rotation matrix, rounded to 0.0001°."""
    angles = np.round(np.degrees(rpy_from_matrix(R)), 4) + 0.0
    return cast(s.Triple, tuple(np.radians(angles).tolist()))


def _choice(id: str, label: str, value: str, options: Mapping[str, str]) -> FormField:
    known = options if value in options else {**options, value: value.partition(":")[2] or value}
    return FormField(id, label, value, "choice", options=tuple(known.items()))


def _same(names: Iterable[str]) -> dict[str, str]:
    return {name: name for name in names}


def _pairs(names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, name) for name in names)


def _unit(shown: str) -> Quantity:
    return cast(Quantity, {"°": "deg", "%": "percent", "": "number"}.get(shown, shown))


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).strip()


def _on(value: Any) -> bool:
    return str(value) in ("on", "True", "true", "1")
