"""`NativeSteps`: makes simulation steps in machine code where possible."""

from __future__ import annotations

import ctypes
import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.codegen.call_route import native
from brazo.codegen.diagnose import Check
from brazo.codegen.native import address
from brazo.errors import BrazoError
from brazo.internals.mujoco import engine_view, unusable
from brazo.simulation.conditions import Condition
from brazo.simulation.native.batch_code import (
    ARITIES,
    BATCH,
    CONDITION,
    COPY,
    LAPS,
    ROBOT,
    batch_code,
)
from brazo.simulation.native.robot_record import RobotRecord, is_plain
from brazo.simulation.native.world_table import WorldTable, world_table
from brazo.simulation.raw_rows import RawRows
from brazo.simulation.recorder import RunRecorder

if TYPE_CHECKING:
    from brazo.simulation.simulation import Simulation

__all__ = ["NativeSteps", "native_steps_check"]


def native_steps_check() -> Check:
    """Check whether this machine can run simulation steps in machine code; return the result."""
    try:
        if not native():
            return Check("native steps", "none: machine code is not used; steps run in Python")
    except BrazoError as error:
        return Check("native steps", str(error), ok=False)
    why = unusable() or (None if _clock() else "the C library has no timespec_get")
    if why is not None:
        return Check("native steps", f"none, simulation steps run in Python: {why}", ok=False)
    return Check("native steps", "simulation steps run in machine code")


class NativeSteps:
    """Makes steps of one simulation in machine code."""

    def __init__(self, sim: Simulation) -> None:
        self._sim = sim
        self._table: WorldTable | None = None
        self._data: Any = None
        self._block: RawRows | None = None
        self._array = np.zeros(len(BATCH), np.int64)
        self._words = self._array.data
        self._at = address(self._array)
        self._laps = np.zeros((len(LAPS), 2), np.int64)
        self._robots: list[RobotRecord] = []
        self._conditions: list[Condition] = []

    def make(self, most: int, timed: bool) -> int:
        """Make up to `most` steps in machine code; return the number of steps made.

        The tasks of the first step must have been called already.  The result is 0 if the first
        step has to be made in Python.  If `incomplete` is True afterwards, the last step ended
        after the physics engine, and the caller has to complete it.  If `timed` is True, the first
        step is timed (see `parts`).
        """
        sim, words, table = self._sim, self._words, self._table
        if sim.world.mj_data is not self._data:
            self._attach()
            table = self._table
        if table is None or not table.ready():
            return 0
        for robot in self._robots:
            if not robot.ready():
                return 0
        recorder = sim.recording.recorder
        words[BATCH.recording], words[BATCH.timed] = recorder is not None, timed
        if recorder is not None:
            block = recorder.block
            if block is not self._block and not self._take(block):
                return 0
            words[BATCH.row] = block.filled
            most = min(most, recorder.room)
        foreseen = [robot.begin() for robot in self._robots]  # for every robot, even after a False
        if not all(foreseen):
            most = 1
        if most > 1 and not self._take_conditions(sim.tasks.conditions):
            most = 1
        words[BATCH.steps] = most
        try:
            self._call(self._at)
        finally:  # a keyboard interrupt is raised right after the call
            self._end(table, recorder)
        return words[BATCH.done]

    def _end(self, table: WorldTable, recorder: RunRecorder | None) -> None:
        """Update world, recorder and robots after a batch of native steps."""
        made = self._words[BATCH.done]
        if made:
            table.stepped(made)
            if recorder is not None:
                recorder.filled(made, self.incomplete)
            for robot in self._robots:
                robot.end(made - self.incomplete)

    @property
    def incomplete(self) -> bool:
        """Whether the last step ended after the physics engine and must be completed in Python."""
        return bool(self._words[BATCH.half])

    def parts(self) -> tuple[float, float, float]:
        """Return the times (s) that the timed step spent on control, recording and the engine.

        The times are valid only if the timed step was completed in machine code.
        """
        start, acted, kept, moved, written = (s + 1e-9 * ns for s, ns in self._laps.tolist())
        return acted - start, (kept - acted) + (written - moved), moved - kept

    def _attach(self) -> None:
        """Prepare native steps for a newly compiled world: store the addresses of its arrays."""
        sim = self._sim
        world = sim.world
        self._data, self._table, self._block = world.mj_data, None, None
        clock = _clock()
        if not native() or clock is None or any(r.world.loops for r in sim.robots.values()):
            return
        table = world_table(world)
        view = engine_view(world.mj_model, world.mj_data)
        if table is None or view is None:
            return
        self._library, code = batch_code()
        self._call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(code)
        records = self._records = np.zeros((len(sim.robots), len(ROBOT)), np.int64)
        self._robots, at = [], 0
        for row, robot in zip(records, sim.robots.values(), strict=True):
            self._robots.append(RobotRecord(robot, row, 3 * at))
            at += robot.n
        words = self._words
        words[BATCH.world], words[BATCH.clock] = table.address, clock
        words[BATCH.robots], words[BATCH.robot_count] = address(records), len(records)
        words[BATCH.sum_contacts] = view.functions["mj_rnePostConstraint"]
        words[BATCH.laps] = address(self._laps)
        self._table = table

    def _take_conditions(self, conditions: list[Condition]) -> bool:
        """Set the conditions that native steps check; return False if one has no machine code."""
        if conditions != self._conditions:
            found = _conditions(conditions)
            if found is None:
                return False
            self._conditions, self._condition_memory = conditions, found
            rows = found[0]
            self._words[BATCH.conditions] = address(rows) if len(rows) else 0
            self._words[BATCH.condition_count] = len(rows)
        return True

    def _take(self, block: RawRows) -> bool:
        """Set the block of raw rows into which native steps record.

        Return False if the rows of this block can only be filled in Python.
        """
        if not block.plain:
            return False
        words = self._words
        before, after = (_copies(pairs) for pairs in block.copies)
        self._block, self._kept = block, (before, after)
        for name, value in (
            ("before", address(before)),
            ("before_count", len(before)),
            ("after", address(after)),
            ("after_count", len(after)),
            ("t", address(block.t)),
            ("reference", address(block.reference)),
            ("reference_step", block.reference.strides[0]),
        ):
            words[getattr(BATCH, name)] = value
        return True


def _conditions(conditions: list[Condition]) -> tuple[np.ndarray, object] | None:
    """Return the table of conditions that native steps read, and the arrays it points to.

    Return None if a condition has no machine code.
    """
    rows, values = np.zeros((len(conditions), len(CONDITION)), np.int64), np.zeros(len(conditions))
    lists = []
    for i, (row, one) in enumerate(zip(rows, conditions, strict=True)):
        arrays = (*one.inputs, values[i : i + 1])
        if one.kernel.address is None or not all(map(is_plain, arrays)):
            return None
        assert len(arrays) in ARITIES
        lists.append(np.array([address(array) for array in arrays], np.int64))
        row[:] = one.kernel.address, len(arrays), address(lists[i]), address(arrays[-1])
    return rows, (values, lists)


def _copies(pairs: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    rows = np.zeros((len(pairs), len(COPY)), np.int64)
    for row, (column, source) in zip(rows, pairs, strict=True):
        assert source.flags.c_contiguous and column.flags.c_contiguous
        row[:] = address(column), column.strides[0], address(source), source.size
    return rows


@lru_cache(maxsize=1)
def _clock() -> int | None:
    """Return the address of the C function `timespec_get`; None if the C library has none.

    On Windows the variant with 64-bit seconds is used.
    """
    try:
        if os.name == "nt":
            return ctypes.cast(ctypes.CDLL("ucrtbase")._timespec64_get, ctypes.c_void_p).value
        return ctypes.cast(ctypes.CDLL(None).timespec_get, ctypes.c_void_p).value
    except (OSError, AttributeError):
        return None
