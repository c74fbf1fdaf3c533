"""Folders of jobs: removed after the hand-over, a cancel, an error, and when the lab closes."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from brazo.errors import BrazoError
from brazo.lab.app.job_folders import JobFolders
from brazo.lab.app.jobs import Jobs


@pytest.fixture
def jobs():
    return Jobs(lambda call: call(), lambda shown: None)


def ended(job) -> None:
    moment = threading.Event()
    while job.state == "running":
        moment.wait(0.005)


def test_the_file_exists_until_it_is_handed_over(jobs) -> None:
    folders, seen = JobFolders(), []

    def work(job, folder: Path) -> Path:
        (folder / "a.txt").write_text("text")
        return folder / "a.txt"

    job = folders.start(jobs, "Write", work, lambda path: seen.append((path, path.read_text())))
    ended(job)
    ((path, text),) = seen
    assert job.state == "done" and text == "text" and not path.parent.exists()


def test_a_failed_job_leaves_no_folder(jobs) -> None:
    folders, seen = JobFolders(), []

    def work(job, folder: Path) -> Path:
        seen.append(folder)
        raise BrazoError("disk full")

    job = folders.start(jobs, "Write", work, seen.append)
    ended(job)
    assert job.state == "failed" and job.text == "disk full"
    assert len(seen) == 1 and not seen[0].exists()


def test_closing_waits_until_a_cancelled_job_has_stopped_writing(jobs) -> None:
    folders, writing, cancelled, seen = JobFolders(), threading.Event(), threading.Event(), []

    def work(job, folder: Path) -> Path:
        seen.append(folder)
        writing.set()
        cancelled.wait()
        (folder / "late.txt").write_text("written after the cancel")
        job.check()
        raise AssertionError("not cancelled")

    job = folders.start(jobs, "Write", work, seen.append)
    writing.wait()
    job.cancel()
    cancelled.set()
    folders.close()
    assert len(seen) == 1 and not seen[0].exists()


def test_closing_removes_a_file_that_was_not_handed_over() -> None:
    posted = threading.Event()
    jobs = Jobs(lambda call: posted.set(), lambda shown: None)  # the lab's thread has ended
    folders, seen = JobFolders(), []

    def work(job, folder: Path) -> Path:
        seen.append(folder)
        return folder / "a.txt"

    folders.start(jobs, "Write", work, seen.append)
    posted.wait()
    folders.close()
    assert not seen[0].exists()
