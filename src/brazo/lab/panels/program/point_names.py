"""Named points in the text of a program: rename a point, and add point definitions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from brazo.operate import Point
from brazo.program import steps as s
from brazo.program.flow import plain_text
from brazo.program.point_file import points_yaml
from brazo.program.program import walk

NEAR = 4  # lines after the verb of a step in which its field `to` is searched


def renamed(text: str, steps: Sequence[s.Step], old: str, new: str) -> str:
    """Text of a program with a point of one robot renamed; `steps` are the steps of this robot.

    Only lines of steps that use the point are changed, so that comments and layout are kept.
    """
    lines = text.splitlines(keepends=True)
    name = re.escape(old)
    field = re.compile(
        rf"((?:\bto|\bmove_joints|\bmove_to|\bline)\s*:\s*)"
        rf"(?:{name}|'{name}'|\"{name}\")(?=\s*(?:[,}}#\]]|$))"
    )
    for step in walk(steps):
        if point_of(step) != old or step.place is None:
            continue
        for i in range(step.place.line - 1, min(step.place.line - 1 + NEAR, len(lines))):
            lines[i], count = field.subn(lambda m: m[1] + plain_text(new), lines[i])
            if count:
                break
    return "".join(lines)


def point_of(step: s.Step) -> str:
    """Name of the point that a step moves to; empty if its target is not a named point."""
    if isinstance(step, s.MoveJoints):
        return step.to if isinstance(step.to, str) else ""
    if isinstance(step, s.MoveTo | s.Line):
        return step.target.point
    return ""


def with_points_block(
    text: str, steps: Mapping[str, Sequence[s.Step]], points: Mapping[str, Iterable[Point]]
) -> str:
    """Add a field `points` to a program text, with the points of the project that it uses.

    The program can then run without the project.  `steps` and `points` map robot names to the
    robot's steps and points.  The text is returned unchanged if it uses no points of the project or
    already has a field `points`.
    """
    used: dict[str, list[Point]] = {}
    for robot, some in points.items():
        names = {point_of(step) for step in walk(steps.get(robot, ()))}
        if found := [point for point in some if point.name in names]:
            used[robot] = found
    if not used or re.search(r"^points\s*:", text, re.MULTILINE):
        return text
    block = "".join(f"  {line}\n" for line in points_yaml(used).splitlines())
    return re.sub(
        r"^(?=robots\s*:)", lambda _: f"points:\n{block}", text, count=1, flags=re.MULTILINE
    )
