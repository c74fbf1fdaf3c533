"""A program meets a cell: do its robots, joints, bodies, poses, laws and frames exist?

Everything that can be said before the first step is said here, all at once, with file and line.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NoReturn

from brazo.control import Controller, controllers
from brazo.errors import BrazoError
from brazo.formats.robot_yaml.joint_fields import outside
from brazo.program import steps as s
from brazo.program.frames import frame_names
from brazo.program.program import Goal, Program
from brazo.simulation import SimRobot, Simulation

MAX_FLAT = 100_000
IDEAL = "ideal"


def flattened(steps: Sequence[s.Step], variables: Mapping[str, str] | None = None) -> list[s.Step]:
    """The steps in the order they are done, loops written out and variables replaced."""
    found: list[s.Step] = []
    for step in _flat(steps, variables or {}):
        found.append(step)
        if len(found) > MAX_FLAT:
            raise BrazoError(f"{_head(step)}more than {MAX_FLAT} steps with all loops written out")
    return found


def validate(program: Program, sim: Simulation) -> dict[str, list[s.Step]]:
    """The steps of each robot, written out, after asking whether the cell has what they need."""
    if not program.steps:
        raise BrazoError(f"program '{program.name}' has no steps")
    flat: dict[str, list[s.Step]] = {}
    wrong = _Wrong()
    for name, steps in program.steps.items():
        if name not in sim.robots:
            close = difflib.get_close_matches(name, list(sim.robots), n=1)
            hint = f"did you mean '{close[0]}'? " if close else ""
            text = (
                f"robots: no robot '{name}' in cell '{sim.cell.name}'; {hint}"
                f"robots: {', '.join(sim.robots)}"
            )
            place = program.places.get(name)
            wrong.add(place, f"{place}: {text}" if place else text)
            continue
        check = _Check(sim, sim.robots[name])
        try:
            flat[name] = flattened(steps)
        except BrazoError as error:
            wrong.add(program.places.get(name), str(error))
            continue
        for step in flat[name]:
            if wrong.knows(step):
                continue
            try:
                check.step(step)
            except BrazoError as error:
                wrong.add(step.place, str(error), step)
    elsewhere = not set(program.steps) & set(sim.robots)  # a cell it was not written for
    for goal in () if elsewhere else program.goals:
        try:
            _Check(sim, next(iter(sim.robots.values()))).goal(goal)
        except BrazoError as error:
            wrong.add(goal.place, str(error))
    if wrong:
        raise BrazoError("\n".join(wrong.lines()))
    _syncs(flat)
    return flat


class _Wrong:
    """What is wrong, once: a loop would say the same of its steps every time."""

    def __init__(self) -> None:
        self._found: list[tuple[int, str]] = []
        self._steps: set[tuple[object, type[s.Step]]] = set()

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, place: s.Place | None, text: str, step: s.Step | None = None) -> None:
        self._found.append((place.line if place else 0, text))
        if place is not None and step is not None:
            self._steps.add((place, type(step)))

    def knows(self, step: s.Step) -> bool:
        return bool(self._steps) and (step.place, type(step)) in self._steps

    def lines(self) -> list[str]:
        """By the lines of the file."""
        found = sorted(self._found, key=lambda one: one[0])
        return list(dict.fromkeys(text for _, text in found))


def _flat(steps: Sequence[s.Step], variables: Mapping[str, str]) -> Iterator[s.Step]:
    for step in steps:
        if isinstance(step, s.Repeat):
            for _ in range(step.times):
                yield from _flat(step.do, variables)
        elif isinstance(step, s.ForEach):
            for one in step.of:
                name = s.substituted(one, variables)
                yield from _flat(step.do, {**variables, step.variable: name})
        else:
            yield s.substituted(step, variables)


def _syncs(flat: Mapping[str, Sequence[s.Step]]) -> None:
    """A meeting one robot alone comes to is a slip of the pen."""
    comes: dict[str, set[str]] = {}
    first: dict[str, s.Step] = {}
    for robot, steps in flat.items():
        for step in steps:
            if isinstance(step, s.Sync):
                comes.setdefault(step.name, set()).add(robot)
                first.setdefault(step.name, step)
    for name, robots in comes.items():
        if len(robots) == 1:
            (robot,) = robots
            others = [one for one in comes if one != name]
            close = difflib.get_close_matches(name, others, n=1)
            hint = f"; did you mean '{close[0]}'?" if close else ""
            _fail(first[name], f"only '{robot}' has a sync named '{name}'{hint}")


class _Check:
    """Asks for one robot."""

    def __init__(self, sim: Simulation, robot: SimRobot) -> None:
        cell = sim.cell
        self.robot = robot
        self.robots = list(sim.robots)
        self.bodies = [body.name for body in cell.bodies]
        self.chutes = [chute.name for chute in cell.chutes]
        self.frames = frame_names(sim)
        labels = sim.world.labels
        self.parts = list(dict.fromkeys(n for label in labels for n in (label.owner, label.name)))
        self.hold_force = cell.clamp.hold_force
        law = robot.controller
        self.law: type[Controller] | None = None if law is None else type(law)
        self.law_known = True  # else whose gains a step sets is not
        self.solids = list(dict.fromkeys(x.owner for x in labels if x.kind != "robot"))
        self.start = next(one.start for one in cell.robots if one.name == robot.name)

    def step(self, step: s.Step) -> None:
        match step:
            case s.MoveJoints():
                self._joints(step)
            case s.MoveTo() | s.Line():
                self.name(step, step.target.frame, self.frames, "frame")
                if step.target.of is not None:
                    self.name(step, step.target.of, self.bodies, "free body")
            case s.FollowPath():
                self.name(step, step.frame, self.frames, "frame")
            case s.Grip():
                self._clamp(step, step.body, step.force, None)
            case s.Release():
                self._clamp(step, None, None, step.opening)
            case s.WaitUntil():
                self._condition(step, step.condition)
            case s.SetController():
                self._controller(step)

    def goal(self, goal: Goal) -> None:
        head = f"{goal.place}: goals: " if goal.place else "goals: "
        self.name(head, goal.body, self.bodies, "free body")
        if goal.chute is not None:
            self.name(head, goal.chute, self.chutes, "chute")
        if goal.on is not None:
            solid = [n for n in self.solids if n != goal.body]
            self.name(head, goal.on, solid, "body or fixture")

    def _controller(self, step: s.SetController) -> None:
        """Law and gains; gains alone are those of the law of the step before."""
        if step.controller is not None:
            self.law_known = step.controller in (*controllers(), IDEAL)
            own = "a controller of your own: brazo run … --controller FILE.py"
            self.name(step, step.controller, [*controllers(), IDEAL], "law", own)
            self.law = controllers().get(step.controller)
        elif not self.law_known:
            return
        if self.law is None:
            if step.gains:
                _fail(
                    step,
                    f"law '{step.controller or self.robot.controller_name}' has no gains to set",
                )
            return
        known = [gain.name for gain in self.law.GAINS]
        if step.controller is not None:
            options = inspect.signature(self.law).parameters.values()
            named = [one.name for one in options if one.kind is not one.VAR_KEYWORD]
            known = list(dict.fromkeys([*known, *named]))
        for gain in step.gains:
            self.name(step, gain, known, f"gain of {self.law.__name__}")

    def _joints(self, step: s.MoveJoints) -> None:
        arm = self.robot.arm
        if isinstance(step.to, str):
            self.name(step, step.to, ["start", *arm.poses], "pose")
            return
        if len(step.to) != arm.n:
            names = ", ".join(arm.joint_names)
            _fail(step, f"{len(step.to)} values for the {arm.n} joints of '{arm.name}': {names}")
        for i, (kind, written) in enumerate(zip(arm.joint_kinds, step.kinds, strict=False)):
            wanted = "angle" if kind == "revolute" else "length"
            if written and written != wanted:
                _fail(step, f"value {i + 1} is of '{arm.joint_names[i]}', which takes a {wanted}")
        for i, (value, (low, high)) in enumerate(zip(step.to, arm.limits, strict=True)):
            if not low - 1e-9 <= value <= high + 1e-9:
                plain = not (step.kinds and step.kinds[i])
                _fail(
                    step, outside(value, low, high, arm.joint_names[i], arm.joint_kinds[i], plain)
                )

    def _clamp(
        self, step: s.Step, body: str | None, force: float | None, opening: float | None
    ) -> None:
        clamp = self.robot.world.clamp
        if clamp is None:
            _fail(step, f"robot '{self.robot.name}' has no clamp")
        gripper = clamp.gripper
        if body is not None:
            self.name(step, body, self.bodies, "free body")
        if force is not None and force > gripper.max_force:
            _fail(step, f"a force of {force:g} N; the clamp gives at most {gripper.max_force:g} N")
        least = self.hold_force
        if force is not None and force < least and not clamp.weld:
            _fail(
                step,
                f"a force of {force:g} N holds nothing: a body counts as held from {least:g} N on "
                "each pad (hold_force of the cell's clamp)",
            )
        if isinstance(step, s.Grip) and not (self.robot.force_feedback or clamp.weld):
            _fail(
                step,
                f"force feedback of '{self.robot.name}' is off, so friction holds nothing; "
                "use grasp: weld in the cell",
            )
        low, high = gripper.opening
        if opening is not None and not low <= opening <= high:
            _fail(step, f"an opening of {opening:g} m; the clamp's is {low:g} to {high:g} m")

    def _condition(self, step: s.Step, condition: s.Condition) -> None:
        match condition:
            case s.Held(body, by, _):
                self.name(step, body, self.bodies, "free body")
                if by is not None:
                    self.name(step, by, self.robots, "robot")
            case s.Touching(first, second):
                self.name(step, first, self.parts, "part")
                self.name(step, second, self.parts, "part")
            case s.Through(body, chute):
                self.name(step, body, self.bodies, "free body")
                self.name(step, chute, self.chutes, "chute")

    def name(
        self, step: s.Step | str, name: str, known: Iterable[str], what: str, more: str = ""
    ) -> None:
        names = list(known)
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean '{close[0]}'? " if close else ""
            listed = ", ".join(names) or "none"
            rest = f"; {more}" if more else ""
            _fail(step, f"no {what} '{name}' here; {hint}there are: {listed}{rest}")


def _head(step: s.Step | str) -> str:
    if isinstance(step, str):
        return step
    verb = s.verb_of(step)
    return f"{step.place}: {verb}: " if step.place else f"{verb}: "


def _fail(step: s.Step | str, message: str) -> NoReturn:
    raise BrazoError(_head(step) + message)
