"""Readers of the steps of a program file: one function per verb.

A step with a single value has a short form: `wait: 2s`, `grip: 60N`, `note: …`, `move_joints:
home`, `sync: both`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any, cast

from brazo import units
from brazo.control import controllers
from brazo.errors import BrazoError
from brazo.formats.document import Field
from brazo.program import steps as s
from brazo.program.controller_options import option_types, read_option
from brazo.trajectory.curve_fields import CURVES, read_curve

MAX_STEPS = 1000
MAX_NAMES = 1000
_SPEED = ("speed", "time", "tool_speed")
_TOLERANCE = ("within", "timeout")
RENAMED = {"either_way": "gripper_symmetric", "law": "controller"}  # old name: new name
_TARGET = ("xyz", "rpy", "in", "by", "of", "to")
_CONDITIONS = ("held", "free", "by", "touching", "signal", "at", "through", "body", "timeout")


def read_steps(field: Field, variables: frozenset[str] = frozenset()) -> list[s.Step]:
    """Read a list of steps; `variables` are the variables of the enclosing loops."""
    if field.is_null:
        return []
    return [_step(item, variables) for item in field.items(MAX_STEPS)]


def _step(item: Field, variables: frozenset[str]) -> s.Step:
    if not item.is_mapping:
        item.fail(f"a step must be 'verb: value'; verbs: {', '.join(s.VERBS)}")
    given = item.mapping()
    if len(given) != 1:
        item.fail(
            f"a step must have one verb, not {len(given)} ({', '.join(given)}); "
            "write one step per entry"
        )
    ((verb, field),) = given.items()
    if verb not in s.VERBS:
        close = difflib.get_close_matches(verb[:80], list(s.VERBS), n=1)
        hint = f"did you mean '{close[0]}'? " if close else ""
        item.fail(f"no verb '{verb[:40]}'; {hint}verbs: {', '.join(s.VERBS)}", field.line)
    place = s.Place(item.path, field.line, item.folder)
    try:
        return _READERS[verb](_StepReader(field, variables), place)
    except _Refused as error:
        field.fail(str(error))


class _Refused(BrazoError):
    """Raised for an invalid step; the message does not contain the location in the file."""


class _StepReader:
    """Reader of the fields of one step, with helpers shared by all verbs."""

    def __init__(self, field: Field, variables: frozenset[str]) -> None:
        self.field = field
        self.variables = variables
        self.given: dict[str, Field] = {}

    def take(self, *allowed: str, short: str | None = None) -> _StepReader:
        """Read the fields of the step, whose names must be in `allowed`; return this object.

        If the step is a value without field names, it is read as the field `short`.
        """
        if short is not None and not self.field.is_mapping:
            self.given = {short: self.field}
            return self
        self.given = self.field.mapping(allowed, RENAMED)
        return self

    def make(self, kind: Callable[..., s.Step], place: s.Place, **values: Any) -> s.Step:
        return _made(kind, place=place, **values)

    def has(self, name: str) -> bool:
        return name in self.given and not self.given[name].is_null

    def need(self, name: str, what: str) -> Field:
        if not self.has(name):
            self.field.missing(name, what)
        return self.given[name]

    def number(self, name: str, dimension: units.Dimension) -> float | None:
        return self.given[name].number(dimension) if self.has(name) else None

    def options(self, *names: tuple[str, units.Dimension]) -> dict[str, float]:
        """Return {name: value} for the fields in `names` that the step has."""
        found = {name: self.number(name, dimension) for name, dimension in names}
        return {name: value for name, value in found.items() if value is not None}

    def name(self, name: str) -> str | None:
        return self.text(self.given[name]) if self.has(name) else None

    def text(self, field: Field) -> str:
        """Return the text of a field that is a name; reject an unknown `$variable` in it."""
        return self.known(field, field.identifier())

    def known(self, field: Field, text: str) -> str:
        for found in s.VARIABLE.finditer(text):
            if found[1] not in self.variables:
                there = ", ".join(f"${one}" for one in sorted(self.variables)) or "none"
                loops = tuple(f"{around.name}.as" for around in field.around())
                field.fail(f"no variable '${found[1]}'; variables: {there}", rests=loops)
        return text

    def choice(self, name: str, allowed: tuple[str, ...], default: str) -> Any:
        return self.given[name].choice(*allowed) if self.has(name) else default

    def switch(self, name: str, default: bool) -> bool:
        if not self.has(name):
            return default
        return self.given[name].switch()

    def triple(self, name: str, dimension: units.Dimension) -> s.Triple | None:
        if not self.has(name):
            return None
        return cast(s.Triple, tuple(self.given[name].numbers(3, dimension)))

    def speed(self) -> s.Speed:
        numbers = (
            self.number("speed", units.NUMBER),
            self.number("time", units.TIME),
            self.number("tool_speed", units.SPEED),
        )
        return _made(s.Speed, *numbers)

    def tolerance(self) -> s.Tolerance:
        given = self.options(("within", units.LENGTH), ("timeout", units.TIME))
        return _made(s.Tolerance, **given)

    def target(self) -> s.Target:
        if self.has("to"):
            for name in ("xyz", "rpy", "in", "by"):
                if self.has(name):
                    self.given[name].fail("is not allowed with 'to', which names a point")
            return _made(s.Target, of=self.name("of"), point=self.name("to"))
        return _made(
            s.Target,
            self.triple("xyz", units.LENGTH),
            self.triple("rpy", units.ANGLE),
            self.name("in") or "world",
            self.triple("by", units.LENGTH),
            self.name("of"),
        )


def _made(kind: Callable[..., Any], *values: Any, **named: Any) -> Any:
    """Return `kind(*values, **named)`; convert a `BrazoError` to `_Refused`."""
    try:
        return kind(*values, **named)
    except BrazoError as error:
        raise _Refused(str(error)) from None


# ---- motion --------------------------------------------------------------------------------


def _move_joints(r: _StepReader, place: s.Place) -> s.Step:
    r.take("to", "plan", "speed", "time", *_TOLERANCE, short="to")
    field = r.need("to", "joint values, or the name of a point or pose")
    kinds: tuple[str, ...] = ()
    if field.is_list:
        quantities = [item.quantity() for item in field.items(100)]
        for item, quantity in zip(field.items(100), quantities, strict=True):
            if quantity.dimension not in (None, units.ANGLE, units.LENGTH):
                item.fail(
                    f"a joint value must be an angle or a length, not "
                    f"{units.dimension_name(quantity.dimension)}"
                )
        names = {units.ANGLE: "angle", units.LENGTH: "length"}
        kinds = tuple(names[q.dimension] if q.dimension else "" for q in quantities)
        to: tuple[float, ...] | str = tuple(q.value for q in quantities)
    else:
        to = r.text(field)
    plan = r.choice("plan", s.PLANS, "direct")
    how = {"speed": r.speed(), "tolerance": r.tolerance(), "plan": plan}
    return r.make(s.MoveJoints, place, to=to, kinds=kinds, **how)


def _short_field(r: _StepReader) -> str | None:
    """Return "to" if a step has the short form with the name of a point (`line: P1`), else None."""
    return None if r.field.is_mapping or r.field.is_list or r.field.is_null else "to"


def _move_to(r: _StepReader, place: s.Place) -> s.Step:
    r.take(
        *_TARGET, "speed", "time", *_TOLERANCE, "plan", "branch", "orientation",
        "gripper_symmetric", short=_short_field(r)
    )  # fmt: skip
    return r.make(
        s.MoveTo,
        place,
        target=r.target(),
        speed=r.speed(),
        tolerance=r.tolerance(),
        plan=r.choice("plan", s.PLANS, "direct"),
        branch=r.name("branch"),
        orientation=r.choice("orientation", s.ORIENTATIONS, "full"),
        gripper_symmetric=r.switch("gripper_symmetric", False),
    )


def _line(r: _StepReader, place: s.Place) -> s.Step:
    r.take(*_TARGET, *_SPEED, *_TOLERANCE, "plan", "orientation", short=_short_field(r))
    return r.make(
        s.Line,
        place,
        target=r.target(),
        speed=r.speed(),
        tolerance=r.tolerance(),
        plan=r.choice("plan", s.PLANS, "direct"),
        orientation=r.choice("orientation", s.ORIENTATIONS, "full"),
    )


def _path(r: _StepReader, place: s.Place) -> s.Step:
    r.take(*CURVES, "rpy", "in", *_SPEED, *_TOLERANCE, "plan", "orientation")
    curves = [name for name in CURVES if r.has(name)]
    if len(curves) != 1:
        r.field.fail(f"give exactly one curve: {', '.join(CURVES)}")
    (curve,) = curves
    values = read_curve(curve, r.given[curve])
    return r.make(
        s.FollowPath,
        place,
        curve=curve,
        values=values,
        rpy=r.triple("rpy", units.ANGLE),
        frame=r.name("in") or "world",
        speed=r.speed(),
        tolerance=r.tolerance(),
        plan=r.choice("plan", s.PLANS, "direct"),
        orientation=r.choice("orientation", s.ORIENTATIONS, "full"),
    )


# ---- gripper, waits, signals ---------------------------------------------------------------


def _grip(r: _StepReader, place: s.Place) -> s.Step:
    if r.field.is_null:
        return r.make(s.Grip, place)
    r.take("force", "body", "settle", "timeout", short="force")
    times = r.options(("settle", units.TIME), ("timeout", units.TIME))
    return r.make(s.Grip, place, body=r.name("body"), force=r.number("force", units.FORCE), **times)


def _release(r: _StepReader, place: s.Place) -> s.Step:
    if r.field.is_null:
        return r.make(s.Release, place)
    r.take("opening", "timeout", short="opening")
    given = r.options(("opening", units.LENGTH), ("timeout", units.TIME))
    return r.make(s.Release, place, **given)


def _wait(r: _StepReader, place: s.Place) -> s.Step:
    r.take("time", short="time")
    return r.make(s.Wait, place, time=r.need("time", "seconds").number(units.TIME))


def _wait_until(r: _StepReader, place: s.Place) -> s.Step:
    r.take(*_CONDITIONS)
    kinds = [
        name for name in ("held", "free", "touching", "signal", "at", "through") if r.has(name)
    ]
    if len(kinds) != 1:
        r.field.fail("give exactly one of 'held', 'free', 'touching', 'signal', 'at' and 'through'")
    (kind,) = kinds
    used = {
        kind,
        "timeout",
        *{"held": ("by",), "free": ("by",), "through": ("body",)}.get(kind, ()),
    }
    for name in r.given:
        if name not in used:
            r.given[name].fail(f"is not allowed with '{kind}'")
    condition: s.Condition
    if kind in ("held", "free"):
        condition = s.Held(r.text(r.given[kind]), r.name("by"), off=kind == "free")
    elif kind == "touching":
        names = [r.text(item) for item in r.given[kind].items()]
        if len(names) != 2:
            r.given[kind].fail(f"{len(names)} names; expected 2")
        condition = s.Touching(*names)
    elif kind == "signal":
        condition = s.Signal(r.text(r.given[kind]))
    elif kind == "at":
        condition = s.At(r.given[kind].number(units.TIME, at_least=0.0))
    else:
        body = r.text(r.need("body", "the body that passes through the chute"))
        condition = s.Through(body, r.text(r.given[kind]))
    return r.make(s.WaitUntil, place, condition=condition, **r.options(("timeout", units.TIME)))


def _set_signal(r: _StepReader, place: s.Place) -> s.Step:
    r.take("name", "on", short="name")
    name = r.text(r.need("name", "the name of the signal"))
    return r.make(s.SetSignal, place, name=name, on=r.switch("on", True))


def _sync(r: _StepReader, place: s.Place) -> s.Step:
    r.take("name", "timeout", short="name")
    name = r.text(r.need("name", "the name of the sync"))
    return r.make(s.Sync, place, name=name, **r.options(("timeout", units.TIME)))


def _set_controller(r: _StepReader, place: s.Place) -> s.Step:
    r.take("controller", "gains", short="controller")
    controller = r.given["controller"].identifier() if r.has("controller") else None
    kind = controllers().get(controller or "")
    types = {} if kind is None else option_types(kind)  # validation checks the other types
    gains = {}
    if r.has("gains"):
        for name, field in r.given["gains"].mapping().items():
            gains[name] = read_option(field, types.get(name))
    return r.make(s.SetController, place, controller=controller, gains=gains)


def _note(r: _StepReader, place: s.Place) -> s.Step:
    text = r.field.text(at_most=400)
    return r.make(s.Note, place, text=r.known(r.field, text))


# ---- loops ---------------------------------------------------------------------------------


def _repeat(r: _StepReader, place: s.Place) -> s.Step:
    r.take("times", "do")
    times = r.need("times", "the number of repetitions").number()
    do = tuple(read_steps(r.need("do", "the steps"), r.variables))
    return r.make(s.Repeat, place, times=int(times) if times == int(times) else times, do=do)


def _for_each(r: _StepReader, place: s.Place) -> s.Step:
    r.take("as", "of", "do")
    variable = r.need("as", "the variable's name").identifier()
    of = tuple(r.text(item) for item in r.need("of", "names").items(MAX_NAMES))
    if variable in r.variables:
        r.given["as"].fail(f"'{variable}' is already the variable of an enclosing loop")
    do = tuple(read_steps(r.need("do", "the steps"), r.variables | {variable}))
    return r.make(s.ForEach, place, variable=variable, of=of, do=do)


_READERS: dict[str, Callable[[_StepReader, s.Place], s.Step]] = {
    "move_joints": _move_joints,
    "move_to": _move_to,
    "line": _line,
    "path": _path,
    "grip": _grip,
    "release": _release,
    "wait": _wait,
    "wait_until": _wait_until,
    "set_signal": _set_signal,
    "sync": _sync,
    "set_controller": _set_controller,
    "note": _note,
    "repeat": _repeat,
    "for_each": _for_each,
}
