"""Values of a recording at the times of frames."""

from __future__ import annotations

import numpy as np
import pytest

from brazo.recording.frames import elapsed, rows_at, values_at
from brazo.recording.source import BLOCK_ROWS, memory_source


@pytest.fixture
def source():
    rng = np.random.default_rng(3)
    t = np.cumsum(rng.uniform(0.0, 2e-3, 2 * BLOCK_ROWS + 7)) + 5.0
    return memory_source({"t": (t, "s"), "a": (np.sin(t), ""), "b": (t**2, "")})


def test_values_are_interpolated_between_rows(source):
    t = source.columns()["t"][0]
    times = np.linspace(0.0, t[-1] - t[0], 333)
    found = np.array(list(values_at(source, ["b", "a"], times)))
    expected = [np.interp(times + t[0], t, source.columns()[name][0]) for name in ("b", "a")]
    assert found == pytest.approx(np.column_stack(expected), rel=1e-12, abs=1e-12)


def test_rows_are_picked_across_blocks(source):
    rows = np.array([0, 0, 5, BLOCK_ROWS - 1, BLOCK_ROWS, source.rows - 1])
    found = np.array(list(rows_at(source, ["a"], rows)))[:, 0]
    assert (found == source.columns()["a"][0][rows]).all()


def test_time_that_jumps_back_continues():
    source = memory_source({"t": (np.array([1.0, 2.0, 0.0, 0.5]), "s")})
    assert elapsed(source).tolist() == [0.0, 1.0, 1.0, 1.5]
