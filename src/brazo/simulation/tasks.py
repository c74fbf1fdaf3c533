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
    """An object that acts in every step, before the controllers.

    A task with a true attribute `background` only observes: no run waits for it, and it is kept in
    a reset.
    """

    def tick(self, sim: Simulation) -> object:
        """Act; return False when the task is done.

        A task may also have an attribute `due` (s): no call is needed before that time, unless a
        contact or a grasp changes, or one of its `conditions` (see `Condition`) no longer holds.
        A method `cell_changed(renamed)` is called after `Simulation.change_cell`, with the new
        names of robots and bodies by old name.
        """


class Tasks(Sequence[Task]):
    """Active tasks of a simulation, in the order in which they are called; `sim.tasks`."""

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
        """Stop calling a task; no effect if it is not active."""
        with self._lock:
            if task in self._active:
                self._active.remove(task)  # type: ignore[arg-type]

    def replace(self, tasks: Iterable[Task]) -> None:
        """Make these the active tasks."""
        self._active = list(tasks)

    @property
    def foreground(self) -> list[Task]:
        """Active tasks that a run waits for."""
        return [task for task in self._active if not _in_background(task)]

    @property
    def background(self) -> list[Task]:
        """Active tasks that only observe."""
        return [task for task in self._active if _in_background(task)]

    def run(self, sim: Simulation) -> bool:
        """Call all tasks and remove those that are done; return whether all of them continue."""
        before = len(self._active)
        for task in tuple(self._active):
            if task.tick(sim) is False and task in self._active:
                self._active.remove(task)
        return len(self._active) == before

    def due(self, now: float) -> float:
        """Time (s) of the next call that a task needs; infinite without tasks."""
        return min([getattr(task, "due", now) for task in self._active], default=np.inf)

    @property
    def conditions(self) -> list[Condition]:
        """Conditions of all tasks; when one no longer holds, its task needs a call."""
        return [one for task in self._active for one in getattr(task, "conditions", ())]


def _in_background(task: Task) -> bool:
    return bool(getattr(task, "background", False))
