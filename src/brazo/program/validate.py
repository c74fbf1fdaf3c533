"""Validation of a program for a cell: robots, joints, bodies, poses, controllers and frames.

Everything that can be checked before the first step is checked here.  The errors of all steps and
goals are reported at once, with file and line.  Syncs are checked only if there are no other
errors.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NoReturn

from brazo.control import Controller, controllers
from brazo.errors import BrazoError
from brazo.formats.robot_yaml.joint_fields import outside
from brazo.program import steps as s
from brazo.program.controller_options import make_controller, option_mistake, option_types
from brazo.program.frames import frame_names
from brazo.program.point_targets import named, resolved
from brazo.program.program import Goal, Program
from brazo.simulation import SimRobot, Simulation
from brazo.world.grasps import KEEP_SHARE
from brazo.world.gripper import PAD_SHARE, WorldGripper

MAX_FLAT = 100_000
IDEAL = "ideal"


def flattened(steps: Sequence[s.Step], variables: Mapping[str, str] | None = None) -> list[s.Step]:
    """Return the steps in order of execution, with loops unrolled and variables replaced."""
    found: list[s.Step] = []
    for step in _flat(steps, variables or {}):
        found.append(step)
        if len(found) > MAX_FLAT:
            raise BrazoError(
                f"{_head(step)}more than {MAX_FLAT} steps with all loops unrolled; "
                "use fewer repetitions"
            )
    return found


def validate(program: Program, sim: Simulation) -> dict[str, list[s.Step]]:
    """Check a program for the cell of a simulation; return the steps of each robot.

    In the result, loops are unrolled, and names of points are replaced by their values.  Raises
    `BrazoError` if the program is not valid.
    """
    if not program.steps:
        raise BrazoError(f"program '{program.name}' has no steps; add a step")
    flat: dict[str, list[s.Step]] = {}
    errors = _Errors()
    for name, steps in program.steps.items():
        if name not in sim.robots:
            close = difflib.get_close_matches(name, list(sim.robots), n=1)
            hint = f"did you mean '{close[0]}'? " if close else ""
            text = (
                f"robots: no robot '{name}' in cell '{sim.cell.name}'; {hint}"
                f"robots: {', '.join(sim.robots)}"
            )
            place = program.places.get(name)
            errors.add(place, f"{place}: {text}" if place else text)
            continue
        check = _Check(sim, sim.robots[name])
        points = named(program.points.get(name, ()))
        check.points = list(points)
        try:
            flat[name] = [resolved(step, points, check.robot.arm) for step in flattened(steps)]
        except BrazoError as error:
            errors.add(program.places.get(name), str(error))
            continue
        for step in flat[name]:
            if errors.knows(step):
                continue
            try:
                check.step(step)
            except BrazoError as error:
                errors.add(step.place, str(error), step)
    elsewhere = not set(program.steps) & set(sim.robots)  # the program is for another cell
    for goal in () if elsewhere else program.goals:
        try:
            _Check(sim, next(iter(sim.robots.values()))).goal(goal)
        except BrazoError as error:
            errors.add(goal.place, str(error))
    if errors:
        raise BrazoError("\n".join(errors.lines()))
    _syncs(flat)
    return flat


class _Errors:
    """Collected errors.  A step inside a loop is reported once, not for each repetition."""

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
        """Return the messages in the order of the lines of the file."""
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
    """Raise `BrazoError` if a sync name occurs at one robot only; it is probably misspelt."""
    members: dict[str, set[str]] = {}
    first: dict[str, s.Step] = {}
    for robot, steps in flat.items():
        for step in steps:
            if isinstance(step, s.Sync):
                members.setdefault(step.name, set()).add(robot)
                first.setdefault(step.name, step)
    for name, robots in members.items():
        if len(robots) == 1:
            (robot,) = robots
            others = [one for one in members if one != name]
            close = difflib.get_close_matches(name, others, n=1)
            hint = f"; did you mean '{close[0]}'?" if close else ""
            _fail(first[name], f"only '{robot}' has a sync named '{name}'{hint}")


def force_mistake(
    force: float, gripper: WorldGripper, hold_force: float, held: bool = False
) -> str:
    """Return a message if a gripper cannot grip with `force` (N); "" if it can.

    `hold_force` (N) is the force that a grasp needs on each pad; the force on each pad is
    `PAD_SHARE` times `force`.  If `held`, the gripper already holds a body, and `KEEP_SHARE` times
    `hold_force` is sufficient.
    """
    maximum = gripper.description.max_force
    if force > maximum:
        return f"force {force:g} N; the max of the gripper is {maximum:g} N"
    minimum = KEEP_SHARE * hold_force if held else hold_force
    if PAD_SHARE * force < minimum and not gripper.weld:
        what = "a body that is held" if held else "a grasp"
        share = f"{KEEP_SHARE:.0%} of hold_force" if held else "hold_force"
        return (
            f"force {force:g} N is too low: it gives {PAD_SHARE * force:g} N on each pad, and "
            f"{what} needs {minimum:g} N ({share} of the cell's gripper); use at least "
            f"{minimum / PAD_SHARE:g} N"
        )
    return ""


class _Check:
    """Checker of the steps of one robot."""

    def __init__(self, sim: Simulation, robot: SimRobot) -> None:
        cell = sim.cell
        self.robot = robot
        self.points: list[str] = []  # names of the points of the robot
        self.robots = list(sim.robots)
        self.bodies = [body.name for body in cell.bodies]
        self.chutes = [chute.name for chute in cell.chutes]
        self.frames = frame_names(sim)
        labels = sim.world.labels
        self.parts = list(dict.fromkeys(n for label in labels for n in (label.owner, label.name)))
        self.hold_force = cell.gripper.hold_force
        self.gripping = False  # True after a grip, until the next release
        controller = robot.controller
        self.controller: type[Controller] | None = None if controller is None else type(controller)
        self.controller_known = True  # False after a step with an unknown controller
        self.solids = list(dict.fromkeys(x.owner for x in labels if x.kind != "robot"))
        self.start = next(one.start for one in cell.robots if one.name == robot.name)

    def step(self, step: s.Step) -> None:
        match step:
            case s.MoveJoints():
                self._joints(step)
            case s.MoveTo() | s.Line():
                if step.target.point:
                    self.name(step, step.target.point, self.points, "point")
                self.name(step, step.target.frame, self.frames, "frame")
                if step.target.of is not None:
                    self.name(step, step.target.of, self.bodies, "free body")
            case s.FollowPath():
                self.name(step, step.frame, self.frames, "frame")
            case s.Grip():
                self._gripper(step, step.body, step.force, None)
                self.gripping = True
            case s.Release():
                self.gripping = False
                self._gripper(step, None, None, step.opening)
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
        """Check the controller and its gains.

        If the step names no controller, the gains must be those of the current controller.
        """
        if step.controller is not None:
            self.controller_known = step.controller in (*controllers(), IDEAL)
            own = "for a controller of your own: brazo run … --controller FILE.py"
            self.name(step, step.controller, [*controllers(), IDEAL], "controller", own)
            self.controller = controllers().get(step.controller)
        elif not self.controller_known:
            return
        if self.controller is None:
            if step.gains:
                _fail(
                    step,
                    f"controller '{step.controller or self.robot.controller_name}' has no gains "
                    "to set",
                )
            return
        types = option_types(self.controller)
        gains = [gain.name for gain in self.controller.GAINS]
        known = gains if step.controller is None else list(types)
        for gain, value in step.gains.items():
            self.name(step, gain, known, f"gain of {self.controller.__name__}")
            if mistake := option_mistake(gain, value, types[gain]):
                _fail(step, mistake)
        if step.controller is not None:
            try:
                make_controller(self.controller, step.gains)  # its constructor checks the values
            except BrazoError as error:
                _fail(step, str(error))

    def _joints(self, step: s.MoveJoints) -> None:
        arm = self.robot.arm
        if isinstance(step.to, str):
            what = "point or pose" if self.points else "pose"
            self.name(step, step.to, [*self.points, "start", *arm.poses], what)
            return
        if len(step.to) != arm.n:
            names = ", ".join(arm.joint_names)
            _fail(step, f"{len(step.to)} values for the {arm.n} joints of '{arm.name}': {names}")
        for i, (kind, written) in enumerate(zip(arm.joint_kinds, step.kinds, strict=False)):
            wanted = "angle" if kind == "revolute" else "length"
            if written and written != wanted:
                article = "an" if wanted == "angle" else "a"
                _fail(step, f"value {i + 1}: joint '{arm.joint_names[i]}' takes {article} {wanted}")
        for i, (value, (low, high)) in enumerate(zip(step.to, arm.limits, strict=True)):
            if not low - 1e-9 <= value <= high + 1e-9:
                plain = not (step.kinds and step.kinds[i])
                _fail(
                    step, outside(value, low, high, arm.joint_names[i], arm.joint_kinds[i], plain)
                )

    def _gripper(
        self, step: s.Step, body: str | None, force: float | None, opening: float | None
    ) -> None:
        gripper = self.robot.world.gripper
        if gripper is None:
            _fail(step, f"robot '{self.robot.name}' has no gripper")
        if body is not None:
            self.name(step, body, self.bodies, "free body")
        if force is not None and (
            mistake := force_mistake(force, gripper, self.hold_force, self.gripping)
        ):
            _fail(step, mistake)
        if isinstance(step, s.Grip) and not (self.robot.contact_response or gripper.weld):
            _fail(
                step,
                f"contact response of '{self.robot.name}' is off, so friction cannot hold a body; "
                "use grasp: weld in the cell",
            )
        low, high = gripper.description.opening
        if opening is not None and not low <= opening <= high:
            _fail(step, f"opening {opening:g} m; the gripper's range is {low:g} to {high:g} m")

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
            _fail(step, f"no {what} '{name}'; {hint}available: {listed}{rest}")


def _head(step: s.Step | str) -> str:
    if isinstance(step, str):
        return step
    verb = s.verb_of(step)
    return f"{step.place}: {verb}: " if step.place else f"{verb}: "


def _fail(step: s.Step | str, message: str) -> NoReturn:
    raise BrazoError(_head(step) + message)
