"""Where the rows of a recording go, for machine code that fills them (`loop_code`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from brazo.codegen.native import address
from brazo.simulation.block import Block
from brazo.simulation.recorder import RunRecorder
from brazo.simulation.stretch.distance_code import NEAREST, NearestRecord
from brazo.simulation.stretch.loop_code import COPY, STRETCH


class RowTable:
    """The records of a recording under way."""

    def __init__(self, words: memoryview, data: Any, ask: int) -> None:
        self._words, self._data, self._ask = words, data, ask
        self._block: Block | None = None
        self._kept: list[np.ndarray] = []
        self._pairs: list[NearestRecord] = []
        self._distances = np.zeros(0)

    def begin(self, recorder: RunRecorder | None) -> bool:
        """Get ready for the next rows; False where they have to be made in Python."""
        words = self._words
        words[STRETCH.recording] = recorder is not None
        if recorder is None:
            return True
        block = recorder.block
        nearest, every, since = recorder.signals.measuring
        if not block.plain or (nearest and not block.filled):
            return False  # the first row of a block tells all others their distances
        if block is not self._block:
            self._take(recorder)
        words[STRETCH.row] = block.filled
        if nearest:
            words[STRETCH.every], words[STRETCH.since] = every, since % every
            self._distances[:] = block.distance[block.filled]
            for pair in self._pairs:
                pair.begin()
        return True

    def end(self, recorder: RunRecorder, rows: int, begun: bool) -> None:
        """Tell the recording how many rows there are now."""
        for pair in self._pairs:
            pair.end()
        recorder.filled(rows, begun, self._distances.copy())

    def _take(self, recorder: RunRecorder) -> None:
        """Look at the columns of a new block."""
        words, block = self._words, recorder.block
        nearest = recorder.signals.measuring[0]
        before, after = (_copies(pairs) for pairs in block.copies)
        pairs = np.zeros((len(nearest), len(NEAREST)), np.int64)
        self._distances = np.zeros(len(nearest))
        self._pairs = [
            NearestRecord(one, row, self._data, self._ask)
            for one, row in zip(nearest, pairs, strict=True)
        ]
        self._block, self._kept = block, [before, after, pairs]
        for name, value in (
            ("before", address(before)),
            ("before_count", len(before)),
            ("after", address(after)),
            ("after_count", len(after)),
            ("t", address(block.t)),
            ("reference", address(block.reference)),
            ("reference_step", block.reference.strides[0]),
            ("pairs", address(pairs)),
            ("pair_count", len(pairs)),
            ("distances", address(self._distances)),
            ("distance", address(block.distance)),
        ):
            words[getattr(STRETCH, name)] = value


def _copies(pairs: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    rows = np.zeros((len(pairs), len(COPY)), np.int64)
    for row, (column, source) in zip(rows, pairs, strict=True):
        assert source.flags.c_contiguous and column.flags.c_contiguous
        row[:] = address(column), column.strides[0], address(source), source.size
    return rows
