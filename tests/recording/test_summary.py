"""The summary of a recording against the recording itself."""

from __future__ import annotations

import numpy as np
import pytest

from brazo.errors import BrazoError
from brazo.recording.part_file import part_of
from brazo.recording.recording import Recording
from brazo.recording.stream import Recorder
from brazo.recording.summary import summary_of


@pytest.fixture
def recorder(tmp_path):
    return Recorder(tmp_path / "run.parquet", {"t": "s", "q": "rad"}, {"cell": "my cell"})


def fill(recorder, rows: int) -> None:
    t = 2.0 + 1e-3 * np.arange(rows)
    for block in np.array_split(np.column_stack([t, np.sin(t)]), 3):
        recorder.append_block(block)
        recorder.event(float(block[-1, 0]), "note", "x" * 100)


@pytest.mark.parametrize("finished", [True, False])
def test_summary_matches_the_recording(recorder, finished):
    fill(recorder, 40_000)  # several row groups
    if finished:
        path = recorder.close()
    else:
        recorder.abandon()
        path = part_of(recorder.path)
    found, recording = summary_of(path), Recording.open(path)
    assert found.rows == len(recording) == 40_000
    assert (found.start, found.stop) == (recording.t[0], recording.t[-1])
    assert found.seconds == pytest.approx(39.999)
    assert found.about["cell"] == "my cell" and "events" not in found.about


@pytest.mark.parametrize("finished", [True, False])
def test_recording_without_rows_has_no_duration(recorder, finished):
    if finished:
        path = recorder.close()
    else:
        recorder.abandon()
        path = part_of(recorder.path)
    assert summary_of(path).rows == 0 and summary_of(path).seconds == 0.0


def test_summary_of_a_truncated_part_file(recorder):
    fill(recorder, 30)
    recorder.abandon()
    part = part_of(recorder.path)
    part.write_bytes(part.read_bytes()[:-1])  # in the last event
    assert summary_of(part).rows == 30
    part.write_bytes(part.read_bytes()[:-200])  # in the last rows
    assert summary_of(part).rows == len(Recording.open(part)) == 20


@pytest.mark.parametrize("name", ["x.parquet", "x.parquet.part"])
def test_other_files_are_rejected(tmp_path, name):
    (tmp_path / name).write_bytes(b"nothing")
    with pytest.raises(BrazoError, match="not a"):
        summary_of(tmp_path / name)
