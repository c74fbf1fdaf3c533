"""Paths of steps: indices that locate a step in the nested step lists of a robot.

The first index is the position in the step list of the robot.  If that step is a loop, the next
index is the position in the step list of the loop, and so on.  `(2, 0)` is the first step inside a
loop that is the third step of the robot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from brazo.errors import BrazoError
from brazo.program import steps as s

StepPath = tuple[int, ...]


def outline(steps: Sequence[s.Step], above: StepPath = ()) -> Iterator[tuple[StepPath, s.Step]]:
    """Yield every step with its path, in the order of the file; a loop comes before its steps.

    `above` is the path of the loop that contains `steps`.
    """
    for i, step in enumerate(steps):
        yield (*above, i), step
        if isinstance(step, s.Repeat | s.ForEach):
            yield from outline(step.do, (*above, i))


def step_at(steps: Sequence[s.Step], path: StepPath) -> s.Step:
    """Return the step at a path; raise `BrazoError` if there is none."""
    found: s.Step | None = None
    for i in path:
        if not 0 <= i < len(steps):
            raise BrazoError("that step no longer exists")
        found = steps[i]
        steps = found.do if isinstance(found, s.Repeat | s.ForEach) else ()
    if found is None:
        raise BrazoError("that step no longer exists")
    return found


def expanded_paths(steps: Sequence[s.Step], above: StepPath = ()) -> Iterator[StepPath]:
    """Yield the paths of the steps in order of execution, with all loops unrolled.

    The path of a step in a loop is yielded once per repetition.  The order is the same as in
    `brazo.program.validate.flattened`.  `above` is the path of the loop that contains `steps`.
    """
    for i, step in enumerate(steps):
        if isinstance(step, s.Repeat | s.ForEach):
            for _ in range(step.times if isinstance(step, s.Repeat) else len(step.of)):
                yield from expanded_paths(step.do, (*above, i))
        else:
            yield (*above, i)


def after_insert(path: StepPath, at: StepPath) -> StepPath:
    """Return the new path of the step at `path` after another step was inserted at `at`."""
    depth = len(at) - 1
    if path[:depth] == at[:depth] and len(path) > depth and path[depth] >= at[depth]:
        return (*path[:depth], path[depth] + 1, *path[depth + 1 :])
    return path


def after_delete(path: StepPath, at: StepPath) -> StepPath | None:
    """Return the new path of the step at `path` after the step at `at` was deleted.

    Returns None if the step at `path` was deleted: it was the step at `at`, or inside it.
    """
    depth = len(at) - 1
    if path[: depth + 1] == at:
        return None
    if path[:depth] == at[:depth] and len(path) > depth and path[depth] > at[depth]:
        return (*path[:depth], path[depth] - 1, *path[depth + 1 :])
    return path
