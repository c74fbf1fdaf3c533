"""`Stretch`: prepares stretches of steps for the machine code, makes them, and tells of them."""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Sequence
from functools import lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.codegen.diagnose import Check
from brazo.codegen.native import address
from brazo.codegen.route import native
from brazo.errors import BrazoError
from brazo.internals.mujoco import engine_view, unusable
from brazo.simulation.idle import Guard, Idle
from brazo.simulation.stretch.loop_code import ARITIES, GUARD, ROBOT, STRETCH, stretch_code
from brazo.simulation.stretch.row_table import RowTable
from brazo.simulation.stretch.seat import Seat, plain
from brazo.simulation.stretch.world_table import WorldTable, world_table

if TYPE_CHECKING:
    from brazo.simulation.simulation import Simulation

NEVER = Idle(0)
LONGEST = 200  # steps; others who want the lock have to wait for so long
NEAR = 0.01  # of a step; a moment this near to a step's is taken as that step's, or as before it


def steps_before(wait: float, dt: float) -> int:
    """How many steps begin before `wait` seconds are over, the present one included; at least 1."""
    return max(1, math.ceil(wait / dt - NEAR)) if wait < LONGEST * dt else LONGEST


def stretch_check() -> Check:
    """Whether stretches can be made on this machine."""
    try:
        if not native():
            return Check("stretches", "none: no machine code is made; steps are made one by one")
    except BrazoError as error:
        return Check("stretches", str(error), ok=False)
    why = unusable() or (None if _clock() else "the C library has no timespec_get")
    if why is not None:
        return Check("stretches", f"none, steps are made one by one: {why}", ok=False)
    return Check("stretches", f"up to {LONGEST} steps of a simulation in one call")


class Stretch:
    """Makes the stretches of one simulation."""

    def __init__(self, sim: Simulation) -> None:
        self._sim = sim
        self._table: WorldTable | None = None
        self._data: Any = None
        self._array = np.zeros(len(STRETCH), np.int64)
        self._words = self._array.data
        self._at = address(self._array)
        self._seats: list[Seat] = []
        self._guards: list[Guard] = []

    def make(self, most: int) -> int:
        """Make up to `most` steps, after the tasks have acted in the first of them.

        How many were made: 0 where none could be, and the step has to be made otherwise.
        """
        most, guards = self._foresee(most)
        return self._make() if most > 1 and self._begin(most, guards) else 0

    @property
    def half(self) -> bool:
        """Whether the last step is still to be brought to its end."""
        return bool(self._words[STRETCH.open])

    def _foresee(self, most: int) -> tuple[int, list[Guard]]:
        """How many steps there are before something is known to happen, and what tasks watch."""
        sim, guards = self._sim, []
        recorder, dt = sim.recorder, sim.dt
        most = min(most, LONGEST if recorder is None else recorder.room)
        for task in sim.tasks:
            idle = task.idle(sim) if hasattr(task, "idle") else NEVER  # type: ignore[attr-defined]
            most = min(most, 1 + idle.steps)
            if most < 2:
                return most, guards
            guards += idle.guards
        for at, _ in sim.scheduled_faults[:1]:  # it comes in the step nearest to its time
            most = min(most, steps_before(at - sim.time - 0.5 * dt, dt))
        return most, guards

    def _begin(self, most: int, guards: Sequence[Guard]) -> bool:
        """Write everything down that the machine code reads."""
        if self._sim.world.mj_data is not self._data:
            self._attach()
        self._words[STRETCH.steps] = min(most, LONGEST)
        return (
            self._table is not None
            and self._rows.begin(self._sim.recorder)
            and self._table.begin()
            and all(seat.begin() for seat in self._seats)
            and self._write_guards(guards)
        )

    def _make(self) -> int:
        begin = perf_counter()
        try:
            self._call(self._at)
        finally:  # an interrupt from the keyboard comes right after the call
            self._end(perf_counter() - begin)
        return self._words[STRETCH.done]

    def _end(self, spent: float) -> None:
        """Tell everybody of the steps that were made."""
        words, recorder = self._words, self._sim.recorder
        done, half = words[STRETCH.done], words[STRETCH.open]
        for seat in self._seats:
            seat.end(done, done - half)
        if done and self._table is not None:
            self._table.end()
        self._note_costs(done, spent)
        if recorder is not None:
            self._rows.end(recorder, done - half, bool(half))

    def _attach(self) -> None:
        """Look at the arrays of a newly compiled world."""
        sim = self._sim
        world = sim.world
        self._data, self._table = world.mj_data, None
        clock = _clock()
        if not native() or clock is None or any(r.world.loops for r in sim.robots.values()):
            return
        self._table = table = world_table(world)
        view = engine_view(world.mj_model, world.mj_data)
        if table is None or view is None:
            return
        self._library, code = stretch_code()
        self._call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(code)
        self._robots = np.zeros((len(sim.robots), len(ROBOT)), np.int64)
        self._seats, at = [], 0
        for row, robot in zip(self._robots, sim.robots.values(), strict=True):
            self._seats.append(Seat(robot, row, 3 * at))
            at += robot.n
        words = self._words
        words[STRETCH.world], words[STRETCH.clock] = table.address, clock
        words[STRETCH.robots], words[STRETCH.robot_count] = address(self._robots), len(self._robots)
        words[STRETCH.sum_contacts] = view.functions["mj_rnePostConstraint"]
        self._rows = RowTable(words, world.mj_data, view.functions["mj_geomDistance"])

    def _write_guards(self, guards: Sequence[Guard]) -> bool:
        """Where the questions of tasks lie; False where one cannot be asked."""
        words = self._words
        if self._guards == guards:
            return True
        rows = np.zeros((len(guards), len(GUARD)), np.int64)
        lists, values = [], np.zeros(len(guards))
        for i, guard in enumerate(guards):
            kernel, count = guard.kernel, len(guard.inputs) + 1
            if kernel.address is None or count not in ARITIES or not all(map(plain, guard.inputs)):
                return False
            arrays = (*guard.inputs, values[i : i + 1])
            lists.append(np.array([address(array) for array in arrays], np.int64))
            rows[i] = kernel.address, count, address(lists[i]), address(arrays[-1])
        self._guards, self._guard_memory = list(guards), (rows, lists, values)
        words[STRETCH.guards], words[STRETCH.guard_count] = address(rows), len(rows)
        return True

    def _note_costs(self, steps: int, spent: float) -> None:
        meter, words = self._sim.meter, self._words
        parts = [1e-9 * words[k] for k in (STRETCH.engine, STRETCH.control, STRETCH.keeping)]
        meter.stretch(steps, spent, *parts)
        words[STRETCH.engine] = words[STRETCH.control] = words[STRETCH.keeping] = 0


@lru_cache(maxsize=1)
def _clock() -> int | None:
    """The C library's `timespec_get`, with 64-bit seconds."""
    try:
        if os.name == "nt":
            return ctypes.cast(ctypes.CDLL("ucrtbase")._timespec64_get, ctypes.c_void_p).value
        return ctypes.cast(ctypes.CDLL(None).timespec_get, ctypes.c_void_p).value
    except (OSError, AttributeError):
        return None
