"""Find the active program, and resume a paused program when all its robots are at rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from brazo.errors import BrazoError

if TYPE_CHECKING:
    from brazo.program import Execution
    from brazo.simulation import Simulation

NEAR = 1e-9  # rad and m, tolerance for a robot that has not been moved


def program_in(sim: Simulation) -> Execution | None:
    """The active program of a simulation; None if there is none."""
    from brazo.program import Execution

    return next((task for task in sim.tasks if isinstance(task, Execution)), None)


def describe_run(execution: Execution) -> str:
    """Describe an unfinished program, for example `Program pick is paused at step 3 of 8`."""
    status = "paused" if execution.paused else "running"
    states = [state for state in execution.states.values() if state.status != "done"]
    alone = len(execution.states) == 1
    steps = ", ".join(
        f"{'' if alone else f'{state.robot} '}at step {state.index + 1} of {state.count}"
        for state in states
    )
    name = execution.program.name
    return f"Program {name} is {status}{' ' if alone or not steps else ': '}{steps}".rstrip()


class Rests:
    """Task that stores the joint positions at which the robots of a paused program came to rest.

    A robot that was jogged afterwards must return to its stored position before the program
    resumes.
    """

    background = True

    def __init__(self, execution: Execution) -> None:
        self.execution = execution
        self._names = tuple(execution.states)
        self._places: dict[str, np.ndarray] = {}
        self._since = execution.paused_at

    def tick(self, sim: Simulation) -> bool:
        if self.execution.done or self.execution not in sim.tasks:
            return False
        if not self.execution.paused or self.execution.paused_at != self._since:
            self._since = self.execution.paused_at
            self._places.clear()
        if self.execution.paused and len(self._places) < len(self._names):
            for name in self._names:
                robot = sim.robots[name]
                if name not in self._places and not robot.moving:
                    self._places[name] = robot.reference.q.copy()
        return True

    def away(self, sim: Simulation) -> dict[str, np.ndarray]:
        """Robots that are no longer at their stored position: robot name -> stored position (n,).

        A robot is in the result if its reference position, not its actual position, differs from
        the stored one.
        """
        return {
            name: q
            for name, q in self._places.items()
            if np.abs(sim.robots[name].reference.q - q).max() > NEAR
        }


class GoOn:
    """Task that resumes a paused program when all its robots are at rest.

    If `once` is true, the program pauses again after one robot completes a step.  `failed(why)` is
    called if the program cannot resume.
    """

    def __init__(self, execution: Execution, once: bool, failed: Callable[[str], None]) -> None:
        self.execution = execution
        self._once, self._failed = once, failed
        self._off = False

    def pause(self) -> None:
        """Cancel the pending resume of the program; called by STOP."""
        self._off = True

    def tick(self, sim: Simulation) -> bool:
        execution = self.execution
        if self._off or execution.done:
            return False
        if execution.paused and any(sim.robots[name].moving for name in execution.states):
            return True  # robots are still braking
        try:
            execution.step() if self._once else execution.resume()
        except BrazoError as error:
            self._failed(str(error))
        return False
