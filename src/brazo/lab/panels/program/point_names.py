"""Names of points in the text of a program: renamed in place, and added to a text that is saved."""

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
    """Return the text of a program with a point of one robot renamed.

    Only the lines of steps that name the point are changed, so that comments and layout stay.
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
    """Name of the point that a step moves to; empty if there is none."""
    if isinstance(step, s.MoveJoints):
        return step.to if isinstance(step.to, str) else ""
    if isinstance(step, s.MoveTo | s.Line):
        return step.target.point
    return ""


def with_points_block(
    text: str, steps: Mapping[str, Sequence[s.Step]], points: Mapping[str, Iterable[Point]]
) -> str:
    """Return the text with the points of the project that it names, so that it can run alone.

    A text with a field `points` of its own is not changed.
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
