"""`WorldStepper`: makes the steps of a world.

A step writes the forces that the engine does not compute itself (grippers, friction), stores the
state in the ring buffer of the last steps, advances the engine, checks for divergence and notifies
the subscribers of contact and grasp events.
"""

from __future__ import annotations

from typing import Any

from brazo.formats.mjcf.engine import engine
from brazo.world.compiled import CompiledWorld
from brazo.world.contacts import Contacts
from brazo.world.last_steps import LastSteps
from brazo.world.observer import Observer


class WorldStepper:
    """Makes the steps of one world.

    When the world is edited, the same object is attached to the new model by `bind`.
    """

    def __init__(self, observer: Observer) -> None:
        mujoco = engine()
        self._mj_step, self._mj_forward = mujoco.mj_step, mujoco.mj_forward
        self._observer = observer
        self._compiled: CompiledWorld
        #: The last steps, after `remember` was called.
        self.last_steps: LastSteps | None = None
        self._contact_time = 0.0  # s, time to which the engine's contacts belong
        self._contacts: Contacts | None = None

    def bind(self, compiled: CompiledWorld) -> None:
        """Attach to a newly compiled model."""
        self._compiled = compiled
        self._contact_time, self._contacts = 0.0, None
        if self.last_steps is not None:
            self.remember()

    def remember(self) -> None:
        """From now on, store the states of the last steps, to reproduce a divergence."""
        self.last_steps = LastSteps(self._compiled.model)

    def forget(self) -> None:
        """Discard the stored states; call this when the next step does not continue from them."""
        if self.last_steps is not None:
            self.last_steps.clear()

    def advance(self) -> None:
        """Make one step."""
        compiled = self._compiled
        model, data = compiled.model, compiled.data
        start = data.time
        for _ in range(compiled.substeps):
            self._drive(data)
            if self.last_steps is not None:
                self.last_steps.add(data)
            self._mj_step(model, data)
        self.stepped(start)
        self.observe()

    def stepped(self, start: float) -> None:
        """Record that the engine made a step that started at time `start` (s)."""
        self._contact_time, self._contacts = start, None

    def observe(self) -> None:
        """Complete a step: raise `Diverged` if the step diverged, and notify the subscribers."""
        compiled = self._compiled
        compiled.guard.check()
        if self._observer.watches:
            self._observer.observe(self.contacts, self._contact_time, compiled.model, compiled.data)

    def forward(self) -> None:
        """Compute contacts and accelerations for the current state, without advancing time."""
        data = self._compiled.data
        self._mj_forward(self._compiled.model, data)
        self.stepped(float(data.time))

    def prepare_row(self) -> None:
        """Compute the forces and accelerations at the start of the next step.

        A recorder calls this before each step in `exact` mode, because the engine still contains
        the forces of the last Runge–Kutta stage of the previous step.  The solver's warm start is
        restored, so the simulation is not affected.
        """
        data = self._compiled.data
        self._drive(data)
        warm = data.qacc_warmstart.copy()
        self._mj_forward(self._compiled.model, data)
        data.qacc_warmstart[:] = warm

    def contacts(self) -> Contacts:
        """Return the contacts and contact forces of the last step or call of `forward`."""
        if self._contacts is None:
            self._contacts = self._compiled.reader.read(self._compiled.data, self._contact_time)
        return self._contacts

    def _drive(self, data: Any) -> None:
        """Write the forces that the engine does not compute itself: grippers and friction."""
        compiled = self._compiled
        for gripper in compiled.grippers:
            gripper.drive()
        if compiled.friction.by_formula:
            compiled.friction.apply(data)
        if compiled.mode == "exact":
            compiled.friction.hold(compiled.model, data)
