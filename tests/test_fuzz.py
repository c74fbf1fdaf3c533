"""Corrupted files of every kind are read or rejected; `tools/fuzz.py` runs many more."""

from __future__ import annotations

import numpy as np
import pytest

from brazo.checks import positive
from brazo.errors import BrazoError
from brazo.recording.recording import Recording
from brazo.recording.source import event_time
from brazo.trajectory import reading
from tests.fuzzing import Kind, case, kinds

CASES = 20  # of each kind
SEED = 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("samples")


@pytest.fixture(scope="module")
def all_kinds(folder) -> list[Kind]:
    return kinds(folder)


def test_the_samples_are_read(all_kinds, folder):
    for kind in all_kinds:
        for sample in kind.samples:
            path = folder / f"whole{kind.suffix}"
            path.write_bytes(sample)
            kind.read(path)


@pytest.mark.filterwarnings("ignore")
def test_corrupted_files_are_read_or_rejected(all_kinds, folder):
    refused = 0
    for number in range(CASES * len(all_kinds)):
        kind, data = case(all_kinds, SEED, number)
        path = folder / f"case{kind.suffix}"
        path.write_bytes(data)
        try:
            kind.read(path)
        except BrazoError:
            refused += 1
        except Exception as error:
            raise AssertionError(f"{kind.name}, case {number} of seed {SEED}") from error
    assert 0.2 < refused / (CASES * len(all_kinds)) < 0.95  # neither intact nor trivial to reject


def test_integer_too_large_for_a_double_is_rejected_or_ignored():
    """JSON has integers of any size; float() raises OverflowError."""
    huge = 10**400
    with pytest.raises(BrazoError, match="q: not an array of numbers"):
        reading.array([1.0, huge], "q")
    with pytest.raises(BrazoError, match="expected a number greater than 0"):
        positive(huge, "dt")
    assert event_time({"t": huge}) == 0.0
    assert event_time({"t": float("nan")}) == 0.0
    columns = {"t": (np.arange(2.0), "s")}
    with pytest.raises(BrazoError, match=r"about\.limits"):
        Recording(columns, [], {"limits": f'{{"t": [0, {huge}]}}'}).limits  # noqa: B018
