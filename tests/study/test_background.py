"""A study in a process of its own: progress, results, cancelling, and errors of its file."""

import json
import time
from pathlib import Path

import numpy as np
import pytest

from brazo.study import Study, background, grid, load_study, read_results
from brazo.study.background import REPORT, StudyProcess, read_summary

QUICK = """
robots: [scara2]
controllers: [PID, ComputedTorque]
duration: 100ms
factors: {payload: {grid: [0, 2, 4]}}
"""
LONG = """
robots: [scara2]
controllers: [PID]
physics: contact
duration: 2s
factors: {position_noise: {grid: [0, 0.001, 400]}}
"""


def wait(study: StudyProcess, until=lambda study: False) -> None:
    while study.running and not until(study):
        time.sleep(0.01)


def test_a_study_in_a_process_has_the_results_of_one_here(tmp_path) -> None:
    file = tmp_path / "quick.yaml"
    file.write_text(QUICK)
    study = StudyProcess(file, tmp_path / "out", jobs=1)
    wait(study)
    outcome = study.outcome
    assert (outcome.state, outcome.runs, outcome.total, outcome.failed) == ("done", 8, 8, 0)
    assert study.progress is not None and study.progress.done == 8
    factors = {"payload": grid(0.0, 2.0, 4)}
    here = Study("scara2", ["PID", "ComputedTorque"], factors=factors, duration=0.1)
    expected = here.run(tmp_path / "here", jobs=1)
    found = read_results(tmp_path / "out")
    assert all(np.array_equal(found[k], expected[k], equal_nan=True) for k in expected.columns)
    (table,) = outcome.tables
    best = expected.ranking("scara2")[0].controller
    assert table.title == "scara2" and table.rows[0][:2] == ("1", best)
    assert (tmp_path / "out" / REPORT).is_file()
    summary = read_summary(tmp_path / "out")
    assert summary is not None and summary.tables == outcome.tables


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_cancelled_study_keeps_its_runs_and_continues(tmp_path, monkeypatch, jobs) -> None:
    monkeypatch.setattr(background, "GRACE", 300.0)  # on a loaded computer
    file = tmp_path / "long.yaml"
    file.write_text(LONG)
    study = StudyProcess(file, tmp_path / "out", jobs=jobs)
    wait(study, lambda one: one.progress is not None and one.progress.done > 0)
    study.cancel()
    outcome = study.outcome
    assert not study.running and outcome.state == "stopped" and 0 < outcome.runs < outcome.total
    assert read_summary(tmp_path / "out") == outcome
    kept = len(list((tmp_path / "out" / "chunks").iterdir()))
    assert kept > 0
    description = json.loads((tmp_path / "out" / "study.json").read_text())
    assert description["fingerprint"]
    shown = []

    def stop(now) -> None:
        shown.append(now.done)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_study(file).run(tmp_path / "out", jobs=1, progress=stop)
    assert shown[0] >= kept and len(read_results(tmp_path / "out")) == shown[0]


def test_a_study_that_is_killed_after_cancel_is_stopped(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(background, "GRACE", 0.0)
    file = tmp_path / "long.yaml"
    file.write_text(LONG)
    study = StudyProcess(file, tmp_path / "out", jobs=1)
    study.cancel()
    assert study.outcome.state == "stopped" and not study.running


NOISY = """
import os
print("not a message")
os.write(1, b"from a library\\n")
os.write(2, b"warning\\n" * 40_000)  # more than a pipe holds
"""


def test_prints_warnings_and_the_current_folder_do_not_disturb_a_study(
    tmp_path, monkeypatch
) -> None:
    """A module of the parent's search path prints while the study file is read."""
    here, modules = tmp_path / "here", tmp_path / "modules"
    here.mkdir()
    modules.mkdir()
    (here / "json.py").write_text("open('executed', 'w')")
    (modules / "brazo_noise.py").write_text(NOISY)
    monkeypatch.chdir(here)
    monkeypatch.syspath_prepend(str(modules))
    monkeypatch.setattr(
        background,
        "_WORKER",
        background._WORKER.replace(
            "work(job)",
            "import brazo.study.study_file as f; load = f.load_study\n"
            "f.load_study = lambda source: (__import__('brazo_noise'), load(source))[1]\n"
            "work(job)",
        ),
    )
    file = tmp_path / "quick.yaml"
    file.write_text(QUICK)
    study = StudyProcess(file, tmp_path / "out", jobs=1)
    wait(study)
    assert (study.outcome.state, study.outcome.runs) == ("done", 8)
    assert not (here / "executed").exists()


def test_a_bad_file_is_named(tmp_path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(QUICK.replace("payload", "paylod"))
    study = StudyProcess(file, tmp_path / "out")
    wait(study)
    assert study.outcome.state == "failed"
    assert "bad.yaml:5: factors.paylod: unknown factor" in study.outcome.text
    assert read_summary(Path(tmp_path / "out")) is None
