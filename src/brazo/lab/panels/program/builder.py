"""Editing of a program with buttons: add steps at the current pose, edit, move and delete them.

Every edit changes the text of the program (`brazo.program.text_edits`), so that the list of steps
and the text always show the same program.  Every edit can be undone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from brazo.control import controllers
from brazo.errors import BrazoError
from brazo.lab.app.context import PanelContext
from brazo.lab.panels.program import form
from brazo.lab.panels.program.form import StepNames, rounded, rounded_rpy
from brazo.lab.panels.program.point_names import point_of
from brazo.operate import Point, Points
from brazo.program import Program, parse_program, text_edits
from brazo.program import steps as s
from brazo.program.frames import frame_names, frame_pose, reference_tool
from brazo.program.step_paths import StepPath, after_delete, after_insert, outline, step_at
from brazo.program.validate import IDEAL
from brazo.project.history import Edit
from brazo.simulation import SimRobot, Simulation

ADDED = {  # buttons that add a step: kind, label and title
    "movej": ("MoveJ", "Joint motion to the current pose"),
    "movel": ("MoveL", "Linear motion to the current pose"),
    "arc": ("Arc", "Circular motion that ends at the current position"),
    "grip": ("Grip", "Close the gripper and wait for a grasp"),
    "release": ("Release", "Open the gripper"),
    "wait": ("Wait", "Wait for a given time"),
    "sync": ("Sync", "Wait until all robots with this sync name have reached it"),
    "loop": ("Loop", "Repeat the steps inside"),
    "controller": ("Controller", "Set the controller"),
}
MORE = {"wait_until": "Wait until…", "signal": "Set signal", "note": "Note"}
SAME = 1e-6  # rad, m: the robot is at a point that exists
NO_POSITION = "the new position of the step no longer exists in the program: move the step again"


@dataclass(frozen=True, slots=True)
class Selected:
    """Position of a step in a program: the robot, and the path in the robot's list of steps.

    It identifies the selected step or a breakpoint.  The path has one index per nesting level of
    loops: (2, 0) is the first step inside the loop that is the third step.
    """

    robot: str
    path: StepPath


@dataclass(frozen=True, slots=True)
class _State:
    """Snapshot of everything that an edit can change, for undo."""

    program: Any
    points: Mapping[str, tuple[Point, ...]]
    breaks: frozenset[Selected] = field(compare=False)
    selected: Selected | None = field(compare=False)


class Edited(Protocol):
    """Interface of the program that a `Builder` edits: the text, and data derived from the text."""

    @property
    def text(self) -> str: ...
    @property
    def source(self) -> Program | None:
        """The parsed program; None while the text cannot be parsed."""
        ...

    def own_points(self, robot: str) -> Collection[str]:
        """Names of the robot's points that are defined in the program text.

        They take precedence over points of the project with the same names.
        """
        ...

    def state(self) -> Any: ...
    def restore_state(self, state: Any) -> None: ...
    def take_text(self, text: str) -> None: ...
    def reached(self, at: Selected) -> np.ndarray | None:
        """Joint values (n,) of the robot after the step `at`; None if unknown."""
        ...


class Builder:
    """Editor of a program's steps, with the selected step and the breakpoints.

    Use on the lab's thread only.
    """

    def __init__(self, context: PanelContext, edited: Edited) -> None:
        self._context, self._edited = context, edited
        self.selected: Selected | None = None
        self.breaks: frozenset[Selected] = frozenset()
        self.teach_in = ""  # frame of the points that are made; empty for joint values

    @property
    def _sim(self) -> Simulation:
        return self._context.session.sim

    @property
    def _robot(self) -> SimRobot:
        return self._context.session.robot

    # ---- selection and breakpoints ---------------------------------------------------------------

    def select(self, robot: str, path: Sequence[Any]) -> None:
        """Select the step at this path, and its robot."""
        at = self._at(robot, path)
        if robot in self._sim.robots and self._context.session.selection.robot != robot:
            self._context.session.select(robot)
        self.selected = at

    def toggle_break(self, robot: str, path: Sequence[Any]) -> None:
        """Set or clear the breakpoint of a step."""
        self.breaks = self.breaks ^ {self._at(robot, path)}

    def robot_renamed(self, old: str, new: str) -> None:
        """Update selection, breakpoints and teaching frame after a rename in the cell.

        `old` and `new` are names of a robot or another element.
        """

        def now(one: Selected) -> Selected:
            return Selected(new, one.path) if one.robot == old else one

        self.breaks = frozenset(map(now, self.breaks))
        self.selected = None if self.selected is None else now(self.selected)
        self.teach_in = new if self.teach_in == old else self.teach_in

    def forget_missing(self) -> None:
        """Remove the selection and breakpoints of steps that no longer exist."""
        steps = self._steps
        known = {Selected(robot, path) for robot in steps for path, _ in outline(steps[robot])}
        if self._edited.source is not None:
            self.breaks &= known
            self.selected = self.selected if self.selected in known else None

    @property
    def step(self) -> s.Step | None:
        """The selected step; None if no step is selected."""
        at = self.selected
        return None if at is None else step_at(self._steps.get(at.robot, ()), at.path)

    def _at(self, robot: str, path: Sequence[Any]) -> Selected:
        if not path or not all(type(i) is int for i in path):
            raise BrazoError("this step no longer exists")
        at = Selected(robot, tuple(path))
        step_at(self._steps.get(robot, ()), at.path)
        return at

    @property
    def _steps(self) -> Mapping[str, Sequence[s.Step]]:
        source = self._edited.source
        return {} if source is None else source.steps

    def _require(self) -> tuple[Selected, s.Step]:
        step = self.step
        if self.selected is None or step is None:
            raise BrazoError("select a step first")
        return self.selected, step

    # ---- adding ----------------------------------------------------------------------------------

    def add(self, kind: str) -> None:
        """Add a step of a kind in `ADDED` or `MORE` for the selected robot, and select the step.

        The step is added after the selected step, or at the end of a selected loop.  If no step of
        this robot is selected, the step is added at the end of its steps.
        """
        robot = self._robot
        path = self._next(robot.name)

        def change() -> None:
            step = self._new(kind, robot, path)
            self._insert(robot.name, path, step)

        label = ADDED[kind][0] if kind in ADDED else MORE.get(kind, kind).rstrip("…")
        self._do(f"add {label} of {robot.name}", robot.name, change)

    def _next(self, robot: str) -> StepPath:
        steps, at = self._steps.get(robot, ()), self.selected
        if at is None or at.robot != robot:
            return (len(steps),)
        step = step_at(steps, at.path)
        if isinstance(step, s.Repeat | s.ForEach):
            return (*at.path, len(step.do))
        return (*at.path[:-1], at.path[-1] + 1)

    def _new(self, kind: str, robot: SimRobot, path: StepPath) -> s.Step:
        match kind:
            case "movej":
                return s.MoveJoints(to=self._point_here(robot))
            case "movel":
                return s.Line(target=s.Target(point=self._point_here(robot)))
            case "arc":
                return self._arc(robot, path)
            case "grip" | "release":
                if robot.world.gripper is None:
                    raise BrazoError(
                        f"{robot.name} has no gripper: attach one in the Scene panel (Flange)"
                    )
                return s.Grip(body=self._body_near(robot)) if kind == "grip" else s.Release()
            case "wait":
                return s.Wait(time=1.0)
            case "sync":
                return s.Sync(name=self._sync_name(robot.name))
            case "loop":
                return s.Repeat(times=2, do=())
            case "controller":
                return s.SetController(controller=robot.controller_name)
            case "wait_until":
                bodies = [body.name for body in self._sim.cell.bodies]
                return s.WaitUntil(condition=form.first_condition("signal", bodies))
            case "signal":
                return s.SetSignal(name="go")
            case "note":
                return s.Note(text="note")
            case _:
                raise BrazoError(f"no step type '{kind}': choose one from the list")

    def _point_here(self, robot: SimRobot) -> str:
        """Name of the point at the robot's current pose; a new point is taught if none exists.

        If points are taught in a frame (`teach_in`), a new point is always taught.
        """
        points, q, frame = self._context.points.of(robot.name), robot.reference.q, self.teach_in
        own = self._edited.own_points(robot.name)
        for point in () if frame else points:
            if point.name in own:
                continue  # in this program the name is that of another point
            same = point.T is None and point.q is not None and point.q.shape == q.shape
            if same and np.abs(np.asarray(point.q) - q).max() < SAME:
                return point.name
        T = None if not frame else self._tool_in(robot, frame)
        made: list[Point] = []
        number = int(points.next_name[1:])
        while f"P{number}" in own:
            number += 1

        def teach(points: Points) -> None:
            made.append(points.teach(q, f"P{number}", T, frame or "base"))

        self._context.points.edit(f"teach P{number}", robot.name, teach)
        return made[0].name

    def _tool_in(self, robot: SimRobot, frame: str) -> np.ndarray:
        return np.linalg.inv(frame_pose(self._sim, robot, frame)) @ reference_tool(robot)

    def _body_near(self, robot: SimRobot) -> str | None:
        """Name of the body nearest to the tool; None if the cell has no bodies."""
        at = reference_tool(robot)[:3, 3]
        world = self._sim.world
        far = {
            body.name: float(np.linalg.norm(world.pose(body.name)[:3, 3] - at))
            for body in self._sim.cell.bodies
        }
        return min(far, key=lambda name: far[name], default=None)

    def _sync_name(self, robot: str) -> str:
        """Name for a new sync step of a robot.

        It is the first sync name that another robot uses but this robot does not.  If there is
        none, it is a new name.
        """
        own = [one.name for one in _syncs(self._steps.get(robot, ()))]
        others = [
            one.name
            for name, steps in self._steps.items()
            if name != robot
            for one in _syncs(steps)
        ]
        for name in others:
            if name not in own:
                return name
        taken, number = {*own, *others}, 1
        while f"sync {number}" in taken:
            number += 1
        return f"sync {number}"

    def _arc(self, robot: SimRobot, path: StepPath) -> s.FollowPath:
        """Arc step from the target of the previous step to the current tool position.

        If that target is unknown or at the current tool position, the arc starts 0.1 m from the
        current tool position in −x.
        """
        end = reference_tool(robot)[:3, 3]
        before = self._before(robot, path)
        if before is None or np.linalg.norm(before - end) < 1e-3:
            before = end - (0.1, 0.0, 0.0)
        length = float(np.linalg.norm(end - before))
        side = np.cross(end - before, (0.0, 0.0, 1.0))
        out = np.array([0.0, 0.0, 1.0]) if np.linalg.norm(side) > 0.1 * length else np.eye(3)[0]
        via = 0.5 * (before + end) + 0.25 * length * out
        points = tuple(rounded(point) for point in (before, via, end))
        return s.FollowPath(curve="arc", values={"points": points})

    def _before(self, robot: SimRobot, path: StepPath) -> np.ndarray | None:
        """World position (3,) of the tool before the step at `path`; None if unknown."""
        if path[-1] == 0:
            return None
        q = self._edited.reached(Selected(robot.name, (*path[:-1], path[-1] - 1)))
        return None if q is None else (robot.base @ robot.arm.fk(q))[:3, 3]

    # ---- editing ---------------------------------------------------------------------------------

    def set_field(self, name: str, value: Any) -> None:
        """Change a form field of the selected step."""
        at, step = self._require()
        new = form.with_value(step, name, value, self.names())
        if new != step:
            self._replace(at, new, f"edit {s.verb_of(new)} of {at.robot}")

    def touch_up(self) -> None:
        """Set the target of the selected step to the current pose of its robot.

        If the target is a named point of the project, the point itself is changed.
        """
        at, step = self._require()
        robot = self._sim.robots[at.robot]
        name = point_of(step)
        if name in self._edited.own_points(at.robot):
            raise BrazoError(f"{name} is defined in the program text, in 'points': change it there")
        point = self._context.points.of(at.robot).find(name) if name else None
        if point is not None:
            T = None if point.T is None else self._tool_in(robot, point.frame)
            change = lambda points: points.update(point.number, robot.reference.q, T)  # noqa: E731
            self._context.points.edit(f"touch up {name}", at.robot, change)
            return
        if not isinstance(step, s.MoveTo | s.Line) or step.target.xyz is None:
            raise BrazoError("this step has no pose to touch up: choose a point as target first")
        T = self._tool_in(robot, step.target.frame)
        rpy = None if step.target.rpy is None else rounded_rpy(T[:3, :3])
        target = replace(step.target, xyz=rounded(T[:3, 3]), rpy=rpy)
        self._replace(at, replace(step, target=target), f"touch up {s.verb_of(step)}")

    def set_arc_point(self, which: int) -> None:
        """Set the start, via or end point of the selected arc to the current tool position."""
        at, step = self._require()
        if not isinstance(step, s.FollowPath) or step.curve != "arc" or not 0 <= which < 3:
            raise BrazoError("select an arc first")
        xyz = rounded(self._tool_in(self._sim.robots[at.robot], step.frame)[:3, 3])
        self._replace(at, form.arc_point(step, which, xyz), f"edit arc of {at.robot}")

    def delete(self) -> None:
        """Delete the selected step and select the next step, or the new last step of its list."""
        at, step = self._require()

        def change() -> None:
            text = text_edits.delete(self._text(), at.robot, at.path)
            self._take(text, at.robot, lambda path: after_delete(path, at.path))
            left = len(self._siblings(at))
            here = min(at.path[-1], left - 1)
            self.selected = Selected(at.robot, (*at.path[:-1], here)) if left else None

        self._do(f"delete {s.verb_of(step)} of {at.robot}", at.robot, change)

    def duplicate(self) -> None:
        """Insert a copy of the selected step after it, and select the copy."""
        at, step = self._require()
        path = (*at.path[:-1], at.path[-1] + 1)

        def change() -> None:
            text = text_edits.duplicate(self._text(), at.robot, at.path)
            self._take(text, at.robot, lambda one: after_insert(one, path))
            self.selected = Selected(at.robot, path)

        self._do(f"duplicate {s.verb_of(step)} of {at.robot}", at.robot, change)

    def shift(self, by: int) -> None:
        """Move the selected step up (-1) or down (1) by one line, also into and out of loops."""
        at, _ = self._require()
        to = self._neighbour(at, by)
        if to is not None:
            self.move(at.robot, at.path, to)

    def _neighbour(self, at: Selected, by: int) -> StepPath | None:
        """Path at which a step is inserted when it is moved up (-1) or down (1) by one line.

        None if the step is already the first or last one.
        """
        siblings, index, above = self._siblings(at), at.path[-1], at.path[:-1]
        other = index + by
        if not 0 <= other < len(siblings):
            if not above:
                return None
            return above if by < 0 else (*above[:-1], above[-1] + 1)  # out of the loop
        step = siblings[other]
        if isinstance(step, s.Repeat | s.ForEach):  # into it
            return (*above, other, len(step.do) if by < 0 else 0)
        return (*above, other if by < 0 else other + 1)

    def move(self, robot: str, path: Sequence[Any], to: Sequence[Any], other: str = "") -> None:
        """Move the step at `path` before the step at `to`.

        If `to` is after the last step of a list, the step is moved to the end of that list.
        `other` is the robot to which the step is moved (default: `robot`).
        """
        other = other or robot
        if other != robot:
            self._move_to_robot(robot, path, to, other)
            return
        at, target = self._at(robot, path), tuple(to)
        if not target or not all(type(i) is int and i >= 0 for i in target):
            raise BrazoError(NO_POSITION)
        verb = s.verb_of(step_at(self._steps[robot], at.path))

        def change() -> None:
            text, new = text_edits.move(self._text(), robot, at.path, target)

            def moved(one: StepPath) -> StepPath | None:
                if one[: len(at.path)] == at.path:
                    return (*new, *one[len(at.path) :])
                left = after_delete(one, at.path)
                return None if left is None else after_insert(left, new)

            self._take(text, robot, moved)
            self.selected = Selected(robot, new)

        self._do(f"move {verb} of {robot}", robot, change)

    def _move_to_robot(
        self, robot: str, path: Sequence[Any], to: Sequence[Any], other: str
    ) -> None:
        """Move the step at `path` to position `to` in the steps of the robot `other`."""
        at, target = self._at(robot, path), tuple(to)
        steps = self._steps.get(other, ())
        if other not in self._sim.robots:
            raise BrazoError(f"there is no robot '{other}' in this cell")
        if not target or not all(type(i) is int and i >= 0 for i in target):
            raise BrazoError(NO_POSITION)
        if len(target) > 1 and not isinstance(step_at(steps, target[:-1]), s.Repeat | s.ForEach):
            raise BrazoError(NO_POSITION)
        verb = s.verb_of(step_at(self._steps[robot], at.path))

        def change() -> None:
            text, new = text_edits.move(self._text(), robot, at.path, target, other)
            depth, found = len(at.path), set[Selected]()
            for one in self.breaks:
                step: StepPath | None = one.path
                name = one.robot
                if name == robot and one.path[:depth] == at.path:
                    name, step = other, (*new, *one.path[depth:])
                elif name == robot:
                    step = after_delete(one.path, at.path)
                elif name == other:
                    step = after_insert(one.path, new)
                if step is not None:
                    found.add(Selected(name, step))
            self.breaks = frozenset(found)
            self._edited.take_text(text)
            self.selected = Selected(other, new)

        self._do(f"move {verb} of {robot} to {other}", robot, change)
        self._context.session.select(other)

    def names(self) -> StepNames:
        """Names and limits that the fields of the selected step can use.

        Raises `BrazoError` if no step is selected or its robot is not in the cell.
        """
        at, _ = self._require()
        sim = self._sim
        robot = sim.robots.get(at.robot)
        if robot is None:
            raise BrazoError(f"there is no robot '{at.robot}' in this cell")
        gripper = robot.world.gripper
        source = self._edited.source
        own = () if source is None else source.points.get(at.robot, ())
        points = [*own, *self._context.points.of(at.robot)]

        def target_in(frame: str) -> form.Pose:
            q = self._edited.reached(at)
            T_tool = reference_tool(robot) if q is None else robot.base @ robot.arm.fk(q)
            T = np.linalg.inv(frame_pose(sim, robot, frame)) @ T_tool
            return rounded(T[:3, 3]), rounded_rpy(T[:3, :3])

        return StepNames(
            points=list(dict.fromkeys(point.name for point in points)),
            poses=["start", *robot.arm.poses],
            bodies=[body.name for body in sim.cell.bodies],
            frames=frame_names(sim),
            robots=list(sim.robots),
            controllers=[*controllers(), IDEAL],
            syncs=sorted({one.name for steps in self._steps.values() for one in _syncs(steps)}),
            max_force=0.0 if gripper is None else gripper.description.max_force,
            max_opening=0.0 if gripper is None else gripper.description.opening[1],
            target_in=target_in,
            frame=lambda name: frame_pose(sim, robot, name),
        )

    # ---- helpers ---------------------------------------------------------------------------------

    def _insert(self, robot: str, path: StepPath, step: s.Step) -> None:
        text = text_edits.insert(self._text(), robot, path, step)
        self._take(text, robot, lambda one: after_insert(one, path))
        self.selected = Selected(robot, path)

    def _replace(self, at: Selected, step: s.Step, label: str) -> None:
        def change() -> None:
            self._edited.take_text(text_edits.replace(self._text(), at.robot, at.path, step))

        self._do(label, at.robot, change)

    def _siblings(self, at: Selected) -> Sequence[s.Step]:
        steps = self._steps.get(at.robot, ())
        if len(at.path) == 1:
            return steps
        loop = step_at(steps, at.path[:-1])
        assert isinstance(loop, s.Repeat | s.ForEach)
        return loop.do

    def _text(self) -> str:
        """Program text, rewritten in YAML block style if its steps cannot be edited in place.

        Raises `BrazoError` if the text cannot be parsed.
        """
        text = self._edited.text
        if self._edited.source is None:
            raise BrazoError("the program text has an error: correct it first")
        return text if text_edits.editable(text) else parse_program(text).to_yaml()

    def _take(
        self, text: str, robot: str, path_after: Callable[[StepPath], StepPath | None]
    ) -> None:
        """Replace the program text and keep the breakpoints at their steps.

        `path_after` maps the old path of a step of `robot` to its new path, or to None if the step
        was deleted.
        """
        found: set[Selected] = set()
        for one in self.breaks:
            path = path_after(one.path) if one.robot == robot else one.path
            if path is not None:
                found.add(Selected(one.robot, path))
        self.breaks = frozenset(found)
        self._edited.take_text(text)

    def _do(self, label: str, robot: str, change: Callable[[], None]) -> None:
        """Call `change` as one undoable edit, which includes points taught by it."""
        before = self._state(robot)
        after: _State | None = None

        def apply() -> None:
            nonlocal after
            if after is not None:
                self._restore(after)
                return
            try:
                change()
            except BaseException:
                self._restore(before)
                raise
            after = self._state(robot)

        self._context.history.do(Edit(label, apply, lambda: self._restore(before)))

    def _state(self, robot: str) -> _State:
        points = {robot: self._context.points.of(robot).state}
        return _State(self._edited.state(), points, self.breaks, self.selected)

    def _restore(self, state: _State) -> None:
        for robot, points in state.points.items():
            if self._context.points.of(robot).state != points:
                self._context.points.edit("", robot, lambda all, own=points: all.restore(own))
        self._edited.restore_state(state.program)
        self.breaks, self.selected = state.breaks, state.selected


def _syncs(steps: Sequence[s.Step]) -> list[s.Sync]:
    return [step for _, step in outline(steps) if isinstance(step, s.Sync)]
