"""Paths of steps: a path is the index of a step in the list of its robot, then in each loop around
it.  `(2, 0)` is the first step inside the loop that is the third step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from brazo.errors import BrazoError
from brazo.program import steps as s

StepPath = tuple[int, ...]


def outline(steps: Sequence[s.Step], above: StepPath = ()) -> Iterator[tuple[StepPath, s.Step]]:
    """Every step with its path, in the order of the file; a loop before its steps."""
    for i, step in enumerate(steps):
        yield (*above, i), step
        if isinstance(step, s.Repeat | s.ForEach):
            yield from outline(step.do, (*above, i))


def step_at(steps: Sequence[s.Step], path: StepPath) -> s.Step:
    """The step at a path."""
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
    """Paths of the steps in order of execution, with loops expanded.

    In the same order as `brazo.program.validate.flattened`.
    """
    for i, step in enumerate(steps):
        if isinstance(step, s.Repeat | s.ForEach):
            for _ in range(step.times if isinstance(step, s.Repeat) else len(step.of)):
                yield from expanded_paths(step.do, (*above, i))
        else:
            yield (*above, i)


def after_insert(path: StepPath, at: StepPath) -> StepPath:
    """The path of a step after another one was inserted at the path `at`."""
    depth = len(at) - 1
    if path[:depth] == at[:depth] and len(path) > depth and path[depth] >= at[depth]:
        return (*path[:depth], path[depth] + 1, *path[depth + 1 :])
    return path


def after_delete(path: StepPath, at: StepPath) -> StepPath | None:
    """The path of a step after the one at `at` was deleted; None if it was part of that one."""
    depth = len(at) - 1
    if path[: depth + 1] == at:
        return None
    if path[:depth] == at[:depth] and len(path) > depth and path[depth] > at[depth]:
        return (*path[:depth], path[depth] - 1, *path[depth + 1 :])
    return path
