"""The Studies panel without a page: change of the project, a process that cannot start, folders."""

from __future__ import annotations

import json
import threading
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from brazo.lab.app.jobs import Jobs
from brazo.lab.panels.studies import panel as module
from brazo.lab.panels.studies.panel import StudiesPanel
from brazo.study.background import SUMMARY, StudyOutcome

KEY = "file:mine.yaml"


@pytest.fixture
def panel(monkeypatch):
    monkeypatch.setattr(module, "describe", lambda source: ("about", "8 runs"))
    context = MagicMock()
    context.saving.project = None
    context.post = lambda call: call()
    context.jobs = Jobs(context.post, lambda shown: None)
    panel = StudiesPanel(context)
    yield panel
    panel.closed()


def project(folder, runs: int):
    """A project with a study file and, if `runs` is not 0, results."""
    results = folder / "studies" / "results" / "file-mine"
    results.mkdir(parents=True)
    (folder / "studies" / "mine.yaml").write_text("")
    if runs:
        (results / SUMMARY).write_text(json.dumps({"state": "done", "runs": runs, "total": runs}))
    return SimpleNamespace(folder=folder)


def opened(panel: StudiesPanel, project) -> None:
    panel.context.saving.project = project
    panel.restore(project)


def test_another_project_shows_its_own_results(panel, tmp_path) -> None:
    opened(panel, project(tmp_path / "a", 8))
    panel._choose(KEY)
    assert panel.values()["runs"] == "8 of 8"
    opened(panel, project(tmp_path / "b", 5))
    shown = panel.values()
    assert (shown["chosen"], shown["runs"], shown["any"]) == (KEY, "5 of 5", True)
    opened(panel, project(tmp_path / "c", 0))
    assert panel.values()["runs"] == "–"


def test_a_study_that_ends_after_the_project_changed_is_not_shown_there(panel, tmp_path) -> None:
    opened(panel, project(tmp_path / "a", 8))
    panel._choose(KEY)
    source = panel._sources[KEY]
    opened(panel, project(tmp_path / "b", 0))
    panel._ended(source, StudyOutcome("failed", "of the other project"))
    assert panel.values()["runs"] == "–" and panel.values()["problem"] == ""


def test_a_process_that_cannot_start_does_not_block_the_next(panel, tmp_path, monkeypatch) -> None:
    opened(panel, project(tmp_path / "a", 0))

    def start(*_: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(module, "StudyProcess", start)
    for _ in range(2):
        panel._run()
        assert panel._idle.wait(60.0)
        while panel._job.state == "running":
            threading.Event().wait(0.005)
        assert panel._job.state == "failed" and panel.values()["may-run"]
        assert panel.values()["problem"] == "the study cannot be started: Cannot allocate memory"


def test_the_temporary_folder_is_made_only_without_a_project(panel, tmp_path) -> None:
    opened(panel, project(tmp_path / "a", 0))
    panel.values()
    assert panel._scratch is None
    panel.context.saving.project = None
    panel._list()
    assert panel._scratch is not None and panel._scratch.is_dir()


def test_closing_waits_for_the_process_before_its_folder_is_removed(panel, monkeypatch) -> None:
    panel._list()
    folder, started = panel._scratch, threading.Event()

    class Slow:
        """A study that writes while it is cancelled."""

        progress, running, outcome = None, True, StudyOutcome("stopped")

        def __init__(self, *_: object) -> None:
            started.set()

        def cancel(self) -> None:
            threading.Event().wait(0.05)
            (folder / "late").mkdir(parents=True)

    monkeypatch.setattr(module, "StudyProcess", Slow)
    panel._run()
    started.wait()
    panel.closed()
    assert not folder.exists()
