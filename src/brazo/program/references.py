"""Names in a cell that a program uses: robots, bodies, fixtures, chutes and frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from brazo.operate.points import Point
from brazo.program import steps as s
from brazo.program.point_targets import named
from brazo.program.program import Program

_OWN = ("world", "base", "tool")  # frames that every cell has


def names_used(program: Program) -> dict[str, list[str]]:
    """Return the robots, bodies, fixtures, chutes and frames that a program names.

    Each name is mapped to the locations where it is used, such as `arm, step 3 (grip)`, with the
    line if the program was read from a file.  The frame of a point counts as used by the steps that
    move to the point.
    """
    found: dict[str, list[str]] = {}

    def use(name: str | None, where: str) -> None:
        if name and name not in _OWN and not s.VARIABLE.search(name):
            places = found.setdefault(name, [])
            if where not in places:
                places.append(where)

    for robot, steps in program.steps.items():
        use(robot, f"steps of {robot}")
        points = named(program.points.get(robot, ()))
        for number, step in enumerate(steps, 1):
            for one in _inner(step):
                line = "" if step.place is None else f", line {step.place.line}"
                where = f"{robot}, step {number} ({s.verb_of(one)}{line})"
                for name in (*_names(one), *_point_frames(one, points)):
                    use(name, where)
    for goal in program.goals:
        for name in (goal.body, goal.chute, goal.on):
            use(name, "goals")
    return found


def _inner(step: s.Step) -> Iterator[s.Step]:
    yield step
    if isinstance(step, s.Repeat | s.ForEach):
        for one in step.do:
            yield from _inner(one)


def _names(step: s.Step) -> Sequence[str | None]:
    match step:
        case s.MoveTo() | s.Line():
            return (step.target.frame, step.target.of)
        case s.FollowPath():
            return (step.frame,)
        case s.Grip():
            return (step.body,)
        case s.ForEach():
            return step.of
        case s.WaitUntil(condition=s.Held(body, by, _)):
            return (body, by)
        case s.WaitUntil(condition=s.Touching(first, second)):
            return (first.partition("/")[0], second.partition("/")[0])
        case s.WaitUntil(condition=s.Through(body, chute)):
            return (body, chute)
        case _:
            return ()


def _point_frames(step: s.Step, points: Mapping[str, Point]) -> list[str]:
    """Return the frames of the points to which a step moves."""
    match step:
        case s.MoveJoints(to=str(name)):
            pass
        case s.MoveTo(target=s.Target(point=str(name))) | s.Line(target=s.Target(point=str(name))):
            pass
        case _:
            return []
    # A variable may stand for any point.
    any_point = s.VARIABLE.search(name) is not None
    return [p.frame for p in points.values() if p.T is not None and (any_point or p.name == name)]
