"""Long work: its progress, its end, and what the user may do about it."""

from __future__ import annotations

import importlib
import subprocess
import sys
import threading
import time

import pytest

from brazo.errors import BrazoError
from brazo.lab.app.jobs import Jobs


@pytest.fixture
def reported():
    return []


@pytest.fixture
def jobs(reported):
    jobs = Jobs(lambda call: call(), lambda list: reported.append(list))
    yield jobs
    jobs.close()


def until(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def states(reported):
    return [job["state"] for job in reported[-1]]


def test_progress_and_result_are_delivered(jobs, reported):
    results = []

    def work(job):
        job.tell(0.25, "a quarter")
        job.tell(float("nan"), "who knows")
        return 7

    jobs.start("Count", work, results.append)
    until(lambda: states(reported) == ["done"])
    assert results == [7]
    seen = [(job["fraction"], job["text"]) for news in reported for job in news]
    assert (0.25, "a quarter") in seen and (None, "who knows") in seen


def test_cancelled_job_ends_at_its_next_report(jobs, reported):
    begun, results = threading.Event(), []

    def work(job):
        while True:
            begun.set()
            job.tell(0.5, "on and on")
            time.sleep(0.001)

    job = jobs.start("For ever", work, results.append)
    begun.wait()
    jobs.cancel(job.number)
    until(lambda: states(reported) == ["cancelled"])
    assert not results
    jobs.cancel(job.number)  # takes it off the list
    assert reported[-1] == []


def test_settled_job_cannot_be_cancelled(jobs, reported):
    begun, go, results = threading.Event(), threading.Event(), []

    def work(job):
        job.settle()
        begun.set()
        go.wait()
        return 1

    job = jobs.start("Open", work, results.append)
    begun.wait()
    jobs.cancel(job.number)
    assert reported[-1][0]["cancellable"] is False and reported[-1][0]["text"] == ""
    go.set()
    until(lambda: states(reported) == ["done"])
    assert results == [1]
    jobs.cancel(job.number)
    go.clear()
    job = jobs.start("Compile", lambda _: go.wait(), results.append, cancellable=False)
    assert reported[-1][0]["cancellable"] is False
    jobs.cancel(job.number)
    go.set()
    until(lambda: states(reported) == ["done"])


def test_job_cancelled_before_delivery_has_no_result(reported):
    posted, results = [], []
    jobs = Jobs(posted.append, lambda list: reported.append(list))
    job = jobs.start("Export", lambda job: 1, results.append)
    until(lambda: posted)
    jobs.cancel(job.number)
    posted[0]()
    assert states(reported) == ["cancelled"] and not results


def test_job_states_are_reported_in_order():
    reported = []

    def slow(list):
        states = [job["text"] for job in list]
        time.sleep(0.002)  # the next job starts before the first has reported
        reported.append(states)

    jobs = Jobs(lambda call: call(), slow)

    def work(job):
        for k in range(20):
            job.tell(None, str(k))

    started = [jobs.start(f"Job {i}", work) for i in range(3)]
    until(lambda: all(job.state == "done" for job in started) and reported[-1] == ["", "", ""])
    for i in range(3):
        steps = [int(news[i]) for news in reported if len(news) > i and news[i]]
        assert steps == sorted(steps)


@pytest.mark.parametrize(
    ("error", "words"), [(BrazoError("no such pose"), "no such pose"), (KeyError("x"), "KeyError")]
)
def test_job_error_is_reported(jobs, reported, error, words):
    def work(job):
        raise error

    jobs.start("Fail", work)
    until(lambda: states(reported) == ["failed"])
    assert words in reported[-1][0]["text"]


def test_error_in_the_result_callback_is_reported(jobs, reported):
    def done(result):
        raise BrazoError("cannot use it")

    jobs.start("Give", lambda job: 1, done)
    until(lambda: states(reported) == ["failed"])
    assert reported[-1][0]["text"] == "cannot use it"


# A separate process imports the function by name.
MODULE = """
import time
from brazo.errors import BrazoError

def add(progress, a, b):
    progress(0.5, "half way")
    return a + b

def never(progress):
    while True:
        time.sleep(0.01)

def refuse(progress):
    raise BrazoError("not like this")
"""


@pytest.fixture
def work(tmp_path, monkeypatch):
    (tmp_path / "work_for_jobs.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return importlib.import_module("work_for_jobs")


def test_process_job_reports_progress_and_result(jobs, reported, work):
    results = []
    jobs.start_process("Add", work.add, (2, 3), results.append)
    until(lambda: states(reported) == ["done"])
    assert results == [5]
    assert any(job["text"] == "half way" for news in reported for job in news)


def test_unresponsive_process_job_can_be_cancelled(jobs, reported, work):
    job = jobs.start_process("Never", work.never)
    until(lambda: states(reported) == ["running"])
    jobs.cancel(job.number)
    until(lambda: states(reported) == ["cancelled"])


def test_process_job_error_is_reported(jobs, reported, work):
    jobs.start_process("Refuse", work.refuse)
    until(lambda: states(reported) == ["failed"])
    assert reported[-1][0]["text"] == "not like this"


def test_finished_jobs_are_removed(jobs, reported):
    for i in range(12):
        jobs.start(f"Job {i}", lambda job: None)
        until(lambda: set(states(reported)) == {"done"})
    assert len(reported[-1]) <= 4


def test_script_without_main_guard_is_not_rerun_by_a_process(tmp_path):
    script = tmp_path / "lab.py"
    script.write_text(
        "import threading\n"
        "from brazo.lab.app.jobs import Jobs\n"
        "print('begun', flush=True)\n"
        "done = threading.Event()\n"
        "jobs = Jobs(lambda call: call(), lambda list: None)\n"
        "jobs.start_process('Count', sorted, (), lambda result: done.set())\n"
        "job = next(iter(jobs._jobs.values()))\n"
        "while job.state == 'running': done.wait(0.01)\n"
        "print(job.state, job.text, flush=True)\n",
        encoding="utf-8",
    )
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    # `sorted` does not accept a progress callback; its error shows that it was called.
    assert ran.stdout.splitlines() == [
        "begun",
        "failed TypeError: 'function' object is not iterable",
    ], ran.stderr
