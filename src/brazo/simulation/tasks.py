"""Tasks of a simulation: objects that act in every step, before the controllers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from brazo.errors import BrazoError
from brazo.simulation.conditions import Condition
from brazo.simulation.step_lock import StepLock

if TYPE_CHECKING:
    from brazo.simulation.simulation import Simulation


class Task(Protocol):
    """An object whose `tick` is called in every step, before the controllers.

    A task may have an attribute `background`.  If it is True, the task only observes: a run does
    not wait for its end, and `Simulation.reset` keeps it.
    """

    def tick(self, sim: Simulation) -> object:
        """Perform the task in the current step; return False when the task is done.

        A task may have an attribute `due` (s).  Then `tick` need not be called before that time,
        unless a contact or grasp changes, or one of the task's `conditions` (see `Condition`) no
        longer holds.  A task may have a method `cell_changed(renamed)`, which is called after
        `Simulation.change_cell`.  `renamed` maps old to new names of robots and bodies.
        """


class Tasks(Sequence[Task]):
    """Active tasks of a simulation (`sim.tasks`), in the order in which each step calls them."""

    def __init__(self, lock: StepLock) -> None:
        self._lock = lock
        self._active: list[Task] = []

    def __iter__(self) -> Iterator[Task]:
        return iter(tuple(self._active))

    def __getitem__(self, index: Any) -> Any:
        return self._active[index]

    def __len__(self) -> int:
        return len(self._active)

    def __contains__(self, task: object) -> bool:
        return task in self._active

    def add(self, task: Task) -> None:
        """Call `task.tick(sim)` before the controllers in every step, until it returns False."""
        if not callable(getattr(task, "tick", None)):
            raise BrazoError(f"a task must have a method tick(sim); {task!r} has none")
        with self._lock:
            self._active.append(task)

    def remove(self, task: object) -> None:
        """Remove a task; this has no effect if the task is not active."""
        with self._lock:
            if task in self._active:
                self._active.remove(task)  # type: ignore[arg-type]

    def replace(self, tasks: Iterable[Task]) -> None:
        """Replace all active tasks by `tasks`."""
        self._active = list(tasks)

    @property
    def foreground(self) -> list[Task]:
        """Active tasks that must end before a run ends."""
        return [task for task in self._active if not _in_background(task)]

    @property
    def background(self) -> list[Task]:
        """Active tasks that only observe; a run does not wait for their end."""
        return [task for task in self._active if _in_background(task)]

    def run(self, sim: Simulation) -> bool:
        """Call all tasks and remove those that are done.

        Return True if the active tasks are the same as before the call.
        """
        before = tuple(self._active)
        for task in before:
            if task.tick(sim) is False and task in self._active:
                self._active.remove(task)
        return tuple(self._active) == before

    def due(self, now: float) -> float:
        """Return the time (s) at which the next task is due; infinite if there are no tasks.

        A task without an attribute `due` is due at the current time `now` (s).
        """
        return min([getattr(task, "due", now) for task in self._active], default=np.inf)

    @property
    def conditions(self) -> list[Condition]:
        """Conditions of all tasks; a task must be called when one of them no longer holds."""
        return [one for task in self._active for one in getattr(task, "conditions", ())]


def _in_background(task: Task) -> bool:
    return bool(getattr(task, "background", False))
