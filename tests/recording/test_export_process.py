"""Exports in a separate process: no delay of other loops, constant memory, no files left over."""

import json
import subprocess
import sys
import time

import numpy as np
import pytest
import python_calamine

import brazo
from brazo.recording.export_process import Export
from brazo.recording.recording import Recording
from tests.recording import stepping
from tests.recording.stepping import Stepping

ROWS, WIDTH = 60_000, 40


def made(rows, width=WIDTH):
    t = np.arange(rows) * 1e-3
    signals = {
        f"arm{k // 6}.q.j{k % 6}": (np.sin((1 + 0.1 * k) * t), "rad") for k in range(width - 1)
    }
    return Recording({"t": (t, "s"), **signals})


@pytest.fixture(scope="module")
def minute():
    """60 s at 1 kHz, 40 columns."""
    return made(ROWS)


def test_export_does_not_delay_a_1_khz_loop(minute, tmp_path):
    """A loop during an export is as punctual as one in a process that exports nothing."""
    alone = subprocess.Popen(
        [sys.executable, stepping.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    seen = []
    with Stepping() as beside:
        minute.to_xlsx(tmp_path / "run.xlsx", progress=seen.append)
    out, _ = alone.communicate()
    reference = json.loads(out)
    # With an export in a thread of this process half of the steps would be missed.
    assert beside.made > 0.9 * reference["made"]
    assert beside.late < 2 * reference["late"] + 0.02
    assert seen == sorted(seen) and seen[-1] == 1.0 and len(seen) > 10

    book = python_calamine.CalamineWorkbook.from_path(tmp_path / "run.xlsx")
    found = np.array(book.get_sheet_by_name("data").to_python()[2:])
    wanted = np.column_stack([minute[name] for name in minute])
    assert np.array_equal(found, wanted)


CONVERT = """
import gc, sys, tracemalloc
import pyarrow
from brazo.recording.conversion import convert
tracemalloc.start()
for source in sys.argv[2:]:
    gc.collect()
    tracemalloc.reset_peak()
    convert(source, sys.argv[1])
    print(tracemalloc.get_traced_memory()[1], pyarrow.default_memory_pool().max_memory())
"""


@pytest.mark.parametrize("ending", [".csv", ".xlsx", ".mcap", ".parquet"])
def test_memory_is_independent_of_the_length(tmp_path, ending):
    """Memory of Python and Arrow; the rows are 1.1 MB, 20 MB as Python objects."""
    sources = [tmp_path / f"{rows}.parquet" for rows in (17_000, 50_000)]
    for source in sources:
        made(int(source.stem), 4).to_parquet(source)
    command = [sys.executable, "-c", CONVERT, tmp_path / f"x{ending}", *sources]
    lines = subprocess.check_output(command, text=True).splitlines()
    short, long = (np.array(line.split(), dtype=float) for line in lines)
    assert (long - short < 0.7e6).all()


def test_export_can_be_cancelled(minute, tmp_path):
    export = minute.export(tmp_path / "run.xlsx")
    while export.fraction < 0.05:
        time.sleep(0.01)
    export.cancel()
    export.cancel()
    assert export.done
    with pytest.raises(brazo.BrazoError, match="cancelled"):
        export.wait()
    assert not list(tmp_path.iterdir())


def test_several_exports_run_at_the_same_time(tmp_path):
    recording = made(500)
    exports = [recording.export(tmp_path / name) for name in ("a.xlsx", "b.csv", "c.mcap")]
    assert [e.wait(60) for e in exports] == [tmp_path / n for n in ("a.xlsx", "b.csv", "c.mcap")]
    assert np.array_equal(Recording.open(tmp_path / "b.csv").t, recording.t)


def test_errors_of_the_process_are_raised_here(tmp_path):
    recording = made(10)
    with pytest.raises(brazo.BrazoError, match=r"nowhere.*cannot be written"):
        recording.to_xlsx(tmp_path / "nowhere" / "run.xlsx")
    with pytest.raises(brazo.BrazoError, match="unknown format"):
        recording.export(tmp_path / "run.txt")
    with pytest.raises(brazo.BrazoError, match=r"missing\.parquet: no such file"):
        Export(tmp_path / "missing.parquet", tmp_path / "run.csv").wait()


def test_killed_process_raises(minute, tmp_path):
    export = minute.export(tmp_path / "run.xlsx")
    while export.fraction < 0.02:
        time.sleep(0.01)
    export._process.kill()
    with pytest.raises(brazo.BrazoError, match="ended early"):
        export.wait(10)
    assert not (tmp_path / "run.xlsx").exists()
