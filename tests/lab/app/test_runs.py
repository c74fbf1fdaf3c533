"""Recordings of the lab stay on the disk: after Ctrl+C, SIGTERM, a kill, a reset or a full disk."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
import time

import pytest

from brazo.errors import BrazoError
from brazo.lab.app import runs as runs_module
from brazo.lab.app.runs import Runs, in_bytes
from brazo.lab.serving import _say_over_limit
from brazo.recording.recording import Recording
from brazo.recording.stream import Recorder

POSIX = pytest.mark.skipif(os.name == "nt", reason="signals, owners and modes of POSIX")


@pytest.fixture
def lab(running, tmp_path):
    with running("robot:scara1", runs=tmp_path / "runs") as lab:
        yield lab


@pytest.fixture
def page(lab, line):
    with line(lab) as page:
        page.send(["pause"], ["reset"], ["panels-shown", ["data"]])
        yield page


def record(page, steps: int) -> None:
    page.send(["data/record"], ["step", steps], ["data/record-stop"])


def lengths(folder) -> list[int]:
    return sorted(len(Recording.open(path)) for path in folder.iterdir())


def test_a_second_recording_keeps_the_first(lab, page, tmp_path):
    record(page, 20)
    record(page, 30)
    assert lengths(tmp_path / "runs") == [20, 30]


def test_reset_and_run_keeps_the_recording_before_it(running, line, tmp_path):
    with running("cooperative", runs=tmp_path / "runs") as lab, line(lab) as page:
        page.send(["pause"], ["data/record"], ["step", 20], ["program/again"], ["pause"])
        said = page.reported["notice"]["text"]
        assert said.startswith("The recording before the reset is kept.") and lab.sim.recording
        page.send(["step", 7], ["data/record-stop"])
    found = lengths(tmp_path / "runs")
    assert len(found) == 2 and 20 in found


def test_opening_another_cell_keeps_the_recording_and_asks_nothing(lab, page, tmp_path):
    page.send(["data/record"], ["step", 20], ["open", "robot:delta"])
    assert lab.sim.cell.name == "delta" and not page.reported.get("question")
    assert "is kept" in page.reported["notice"]["text"]
    assert lengths(tmp_path / "runs") == [20]


def test_the_end_of_the_lab_finishes_its_recordings(running, line, tmp_path):
    with running("robot:scara1", runs=tmp_path / "runs") as lab, line(lab) as page:
        page.send(["pause"])
        record(page, 20)
        page.send(["data/record"], ["step", 30])  # in progress when the lab ends
    files = list((tmp_path / "runs").iterdir())
    assert {path.suffix for path in files} == {".parquet"} and len(files) == 2
    assert sorted(lab.runs.kept()) == sorted(files)
    assert lengths(tmp_path / "runs") == [20, 30]
    assert all(re.fullmatch(r"scara1-\d{4}-\d\d-\d\d-\d{6}(-2)?\.parquet", p.name) for p in files)


def test_second_signal_leaves_readable_partial_recordings(running, line, tmp_path):
    with running("robot:scara1", runs=tmp_path / "runs") as lab, line(lab) as page:
        lab.runs.interrupted = lambda: True
        record(page, 20)
    (left,) = (tmp_path / "runs").iterdir()
    assert left.name.endswith(".parquet.part") and list(lab.runs.kept()) == [left]
    assert len(Recording.open(left)) >= 20


def test_a_recording_without_rows_leaves_no_file(lab, page, tmp_path):
    page.send(["data/record"], ["data/record-stop"])
    assert list((tmp_path / "runs").iterdir()) == [] and lab.runs.made == []


# ---- signals ----------------------------------------------------------------------------------

SERVED = """
import sys
from brazo.lab.serving import serve

def record(lab):
    if not lab.sim.recording:
        lab.do(lab.panels["data"].recordings._record)
    elif lab.sim.time > 0.5:
        print("recorded", flush=True)

serve("robot:scara1", port=0, open_browser=False, poll=record, runs=sys.argv[1])
"""


def signalled(folder, sent) -> str:
    """What a lab prints after it recorded half a second and got a signal."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVED, str(folder)], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            while process.stdout.readline() != "recorded\n":
                assert process.poll() is None
            process.send_signal(sent)
            out, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    return out


@POSIX
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_keeps_the_recording_and_the_lab_prints_where(tmp_path, sent):
    out = signalled(tmp_path / "runs", sent)
    (kept,) = (tmp_path / "runs").iterdir()
    assert kept.suffix == ".parquet" and Recording.open(kept).t[-1] > 0.4
    assert f"brazo lab: recording kept: {kept}\n" in out


@POSIX
def test_killed_lab_leaves_a_recording_for_the_next_lab(running, line, tmp_path):
    signalled(tmp_path / "runs", signal.SIGKILL)
    (left,) = (tmp_path / "runs").iterdir()
    assert left.name.endswith(".parquet.part")
    with running("robot:scara1", runs=tmp_path / "runs") as lab, line(lab) as page:
        page.send(["pause"], ["panels-shown", ["data"]])
        rows = listed(page, 1)
        assert rows[0]["id"] == left.name and rows[0]["cell"] == "scara1"
        page.send(["data/choose-run", left.name], ["data/open-run"])
        wait(page, lambda: page.reported.get("replay"))
        assert lab.sim.path == left and lab.sim.end > 0.4


# ---- the list ---------------------------------------------------------------------------------


def wait(page, condition) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, page.reported.get("data/runs")
        page.send()
        time.sleep(0.02)


def listed(page, count: int) -> list[dict]:
    wait(page, lambda: len(page.reported.get("data/runs") or ()) == count)
    return page.reported["data/runs"]


def test_kept_recordings_are_listed_with_date_cell_duration_and_size(lab, page, tmp_path):
    record(page, 500)
    wait(page, lambda: any(row["mark"] for row in page.reported.get("data/runs") or ()))
    (row,) = page.reported["data/runs"]
    (file,) = (tmp_path / "runs").iterdir()
    assert row == {
        "id": file.name,
        "title": file.name,
        "when": time.strftime("%H:%M:%S", time.localtime(lab.runs.list()[0].started)),
        "cell": "scara1",
        "duration": "0.50 s",
        "size": in_bytes(file.stat().st_size),
        "mark": True,
    }
    assert abs(lab.runs.list()[0].started - time.time()) < 60
    assert str(tmp_path / "runs") in page.reported["data/runs-about"]


def test_a_recording_is_deleted_after_a_question_only(lab, page, tmp_path):
    record(page, 20)
    record(page, 30)
    rows = listed(page, 2)
    page.send(["data/choose-run", rows[0]["id"]], ["data/delete-run"])
    question = page.reported["question"]
    assert question["title"] == "Delete recording" and len(question["lost"]) == 1
    assert question["lost"][0].startswith("scara1, ")
    page.send(["unsaved/cancel", question["number"]])
    assert len(list((tmp_path / "runs").iterdir())) == 2
    page.send(["data/delete-run"])
    page.send(["unsaved/discard", page.reported["question"]["number"]])
    (left,) = (tmp_path / "runs").iterdir()
    assert left.name == rows[1]["id"]
    assert [row["id"] for row in listed(page, 1)] == [left.name]


def test_saving_before_a_deletion_downloads_the_recording(lab, page, fetch, tmp_path):
    record(page, 20)
    listed(page, 1)
    page.send(["data/delete-run"])
    page.send(["unsaved/save", page.reported["question"]["number"]])
    wait(page, lambda: page.reported.get("download"))
    (tmp_path / "saved.parquet").write_bytes(fetch(lab, page.reported["download"]["address"]).body)
    assert len(Recording.open(tmp_path / "saved.parquet")) == 20
    wait(page, lambda: not list((tmp_path / "runs").iterdir()))


def test_a_page_names_only_recordings_of_the_list(lab, page, tmp_path):
    other = tmp_path / "other.parquet"
    with Recorder(other, {"t": "s"}) as recorder:
        recorder.append([0.0])
    record(page, 20)
    for name in ("../other.parquet", str(other), "", "\0"):
        page.send(["data/choose-run", name], ["data/delete-run"])
        assert page.reported["question"]["lost"][0].startswith("scara1, ")
        page.send(["unsaved/cancel", page.reported["question"]["number"]])
    assert other.exists()


def test_a_recording_in_progress_is_listed_and_not_deleted(lab, page, tmp_path):
    page.send(["data/record"], ["step", 20])
    (row,) = listed(page, 1)
    assert row["duration"] == "recording"
    page.send(["data/choose-run", row["id"]], ["data/delete-run"])
    assert "stop the recording first" in page.reported["notice"]["text"]
    assert lab.sim.recording and len(list((tmp_path / "runs").iterdir())) == 1


def test_other_files_in_the_folder_are_listed_and_harmless(lab, page, tmp_path):
    folder = tmp_path / "runs"
    record(page, 20)
    (folder / "notes.txt").write_text("mine")
    (folder / "bad-2026-01-02-030405.parquet").write_bytes(b"no Parquet")
    (folder / "bad.parquet.part").write_bytes(b"")
    (folder / "folder.parquet").mkdir()
    record(page, 30)
    rows = {row["id"]: row["duration"] for row in listed(page, 4)}
    assert rows["bad.parquet.part"] == rows["bad-2026-01-02-030405.parquet"] == "unreadable"
    page.send(["data/choose-run", "bad.parquet.part"])
    assert "not a partial recording" in page.reported["notice"]["text"]


# ---- the folder -------------------------------------------------------------------------------


@POSIX
def test_the_folder_is_private(tmp_path):
    folder = tmp_path / "a" / "runs"
    assert Runs(folder).new("cell").parent == folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@POSIX
def test_a_folder_that_others_may_write_to_is_refused(lab, page, tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs").chmod(0o777)
    page.send(["data/record"])
    assert re.search(
        r"other users may write to it \(mode 0777\).*chmod 700", page.reported["notice"]["text"]
    )
    assert not lab.sim.recording and list((tmp_path / "runs").iterdir()) == []


@POSIX
def test_a_folder_of_another_user_is_refused(tmp_path, monkeypatch):
    (tmp_path / "runs").mkdir(mode=0o700)
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    with pytest.raises(BrazoError, match=rf"belongs to another user \(uid {mine}, .*--runs DIR"):
        Runs(tmp_path / "runs").new("cell")


def test_path_that_is_not_a_folder_is_rejected(tmp_path):
    (tmp_path / "runs").write_text("")
    with pytest.raises(BrazoError, match="cannot save recordings"):
        Runs(tmp_path / "runs").new("cell")


@pytest.mark.parametrize("name", ["../../x", "a/b", "x\\..\\y", "..", "", "é" * 300])
def test_cell_name_cannot_leave_the_folder(tmp_path, name):
    path = Runs(tmp_path / "runs").new(name)
    assert path.parent == tmp_path / "runs" and path.resolve().parent == path.parent
    path.write_bytes(b"")  # a name the file system takes


def test_two_recordings_of_a_second_have_two_names(tmp_path, monkeypatch):
    now = time.localtime()
    clock = time.strftime
    monkeypatch.setattr(runs_module.time, "strftime", lambda form, at=now: clock(form, at))
    runs = Runs(tmp_path / "runs")
    first = runs.new("cell")
    first.write_bytes(b"")
    second = runs.new("cell")
    second.with_name(second.name + ".part").write_bytes(b"")
    assert len({first, second, runs.new("cell")}) == 3


def test_default_folder_is_that_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAZO_RUNS", str(tmp_path / "elsewhere"))
    assert Runs().folder == tmp_path / "elsewhere"
    assert Runs(tmp_path / "mine").folder == tmp_path / "mine"


def test_exceeded_size_limit_is_reported_without_deletion(lab, page, capsys, monkeypatch):
    record(page, 20)
    monkeypatch.setattr("brazo.lab.app.runs.LIMIT", 100)
    monkeypatch.setattr("brazo.lab.panels.data.recordings.LIMIT", 100)
    _say_over_limit(lab)
    assert re.search(
        r"recordings take .* more than 100 bytes: delete recordings", capsys.readouterr().out
    )
    record(page, 30)
    wait(page, lambda: "more than 100 bytes" in page.reported["data/recording-problem"])
    assert len(lab.runs.list()) == 2


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1562, "1.6 kB"),
        (402_000, "402 kB"),
        (999_700, "1.0 MB"),
        (12_345_678, "12 MB"),
        (9_990_000_000, "10 GB"),
        (2e13, "20000 GB"),
    ],
)
def test_sizes_are_formatted_briefly(size, shown):
    assert in_bytes(size) == shown


# ---- a full disk ------------------------------------------------------------------------------

FULL = """
import json, resource, secrets, sys, time
from pathlib import Path
from websockets.sync.client import connect
from brazo.lab.serving import serve
from brazo.recording.recording import Recording

folder = Path(sys.argv[1])
lab = serve("robot:scara1", port=0, open_browser=False, block=False, runs=folder)
port, told = lab._server.port, {}
ws = connect(f"ws://127.0.0.1:{port}/channel?page={secrets.token_urlsafe(18)}",
             origin=f"http://127.0.0.1:{port}", max_queue=None)

def until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, told.get("notice")
        told.update(json.loads(ws.recv(timeout=30)))

def send(*event):
    ws.send(json.dumps(event))

send("panels-shown", ["data"])
until(lambda: "data/may-record" in told)
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))
send("data/record")
until(lambda: told.get("data/recording"))
until(lambda: not told["data/recording"])
until(lambda: told["clock/running"] is False)
until(lambda: told.get("data/may-export"))
state = {name: told[f"data/{name}"] for name in ("may-record", "may-export", "recording-problem")}
state["notice"] = told["notice"]
state["recording"] = bool(lab.sim.recording)
(part,) = folder.iterdir()
state["part"], state["rows"] = str(part), len(Recording.open(part))
send("data/export", "parquet")
until(lambda: "download" in told)
send("play")
until(lambda: told["clock/running"] is True)
at = lab.sim.time
until(lambda: float(told["clock/time"]) > at + 0.3)
state["recording again"] = bool(lab.sim.recording)
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))  # the disk has room again
send("data/record")
until(lambda: told["data/recording"] and not told["data/recording-problem"])
send("data/record-stop")
until(lambda: not told["data/recording"] and len(told["data/runs"]) == 2)
ws.close()
lab.stop()
state["files"] = sorted(path.suffix for path in folder.iterdir())
state["problems"] = lab.runs.problems
print(json.dumps(state))
"""


@POSIX
def test_full_disk_pauses_with_a_reason_and_keeps_the_recording(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "runs")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    state = json.loads(done.stdout)
    notice = state["notice"]
    assert notice["kind"] == "error" and notice["text"] == state["recording-problem"]
    assert notice["text"].startswith("Recording stopped, simulation paused: ")
    assert f"{state['part']}: cannot be written: File too large" in notice["text"]
    assert re.search(r"The first \d\.\d\d s are kept and can be exported", notice["text"])
    assert "Play continues without recording" in notice["text"]
    assert state["may-record"] and state["may-export"] and state["rows"] > 100
    assert not state["recording"] and not state["recording again"]
    assert state["files"] == [".parquet", ".parquet"]
    (problem,) = state["problems"]
    assert "not complete" in problem


def test_a_folder_that_was_given_is_used_in_a_project_too(tmp_path):
    runs = Runs(tmp_path / "given")
    runs.use(tmp_path / "project")
    assert runs.folder == tmp_path / "given"
    runs = Runs()
    runs.use(tmp_path / "project")
    assert runs.folder == tmp_path / "project"
