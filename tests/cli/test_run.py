"""`brazo run`: exit codes, files, messages, and a process that is killed."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from brazo.recording.recording import Recording
from tests.cli.command import brazo

COMMAND = [sys.executable, "-m", "brazo.cli.main", "run"]
ENDLESS = """\
name: endless
robots:
  scara1: [{repeat: {times: 500, do: [{move_joints: home}, {move_joints: start}]}}]
"""
SHORT = """\
name: short
robots:
  scara2: [{note: hello}, {move_joints: home}]
"""


def run(*arguments: str) -> subprocess.CompletedProcess:
    return brazo("run", *arguments, columns=200)


def console_output(page: str, command: str) -> str:
    """The output of a command as a page shows it, without the part that it leaves out."""
    text = (Path(__file__).parents[2] / page).read_text(encoding="utf-8")
    block = re.search(rf"^```console\n{re.escape(command)}\n(.*?)^```", text, re.M | re.S)
    assert block, f"{page}: no console block with {command}"
    return block[1].removesuffix("  ...\n")


def test_completed_task_exits_with_0_and_writes_recording_and_report(tmp_path):
    done = run("cooperative", "--headless", "-o", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "cooperative: done in " in done.stdout
    assert "3 of 3 (bar 1 at " in done.stdout
    assert re.search(r"unintended contacts +none", done.stdout)
    assert "max internal force" in done.stdout and "times real time" in done.stdout
    assert f"replay: brazo replay {tmp_path / 'out' / 'run.parquet'}" in done.stdout
    for page in ("README.md", "docs/programs.md"):  # numbers may differ between machines
        shown = console_output(page, "$ brazo run cooperative --headless -o out")
        assert re.sub(r"\d+", "0", shown) in re.sub(r"\d+", "0", done.stdout), page
    recording = Recording.open(tmp_path / "out" / "run.parquet")
    assert len(recording) > 20_000 and recording.about["cell"] == "cooperative"
    kinds = {event["kind"] for event in recording.events}
    assert {"note", "step", "grasped", "released", "through", "contact begin"} <= kinds
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for text in ("Internal force", "through chute", "bar 3 passed through chute", "3 of 3"):
        assert text in page


def test_dropped_bar_exits_with_1_and_is_named():
    done = run("cooperative", "--headless", "--grip-force", "10")
    assert done.returncode == 1
    output = " ".join(done.stdout.split())
    assert "failed at" in output and "scara2 dropped bar 1 at t = " in output
    assert "cooperative.yaml:" in output and "0 of 3" in output


def test_varied_runs_and_json(tmp_path):
    program = tmp_path / "short.yaml"
    program.write_text(SHORT, encoding="utf-8")
    arguments = ("cooperative", "-p", str(program), "--headless", "--vary")
    done = run(*arguments, "--seeds", "3", "--seed", "5", "--json", "-o", str(tmp_path / "v"))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["succeeded"] == 3 and [one["seed"] for one in report["runs"]] == [5, 6, 7]
    for one in report["runs"]:
        folder = tmp_path / "v" / f"seed-{one['seed']}"
        assert one["files"] == [str(folder / "run.parquet"), str(folder / "report.html")]
        assert len(Recording.open(folder / "run.parquet")) > 100
    done = run(*arguments, "--record", str(tmp_path / "run.parquet"), "--json")
    report = json.loads(done.stdout)
    assert report["succeeded"] and report["files"] == [str(tmp_path / "run.parquet")]
    (varied,) = [e for e in Recording.open(tmp_path / "run.parquet").events if e["kind"] == "note"]
    assert varied["text"] == "hello"


SPRING = """\
from brazo.control import Controller, Gain


class Spring(Controller):
    GAINS = (Gain("k", "spring", ("N m/rad", "N/m")), Gain("d", "damper", ("N m s/rad", "N s/m")))

    def __init__(self, k=300.0, d=30.0):
        super().__init__(k=k, d=d)

    def command(self, t, q, qd, reference):
        return self.gains["k"] * (reference.q - q) + self.gains["d"] * (reference.qd - qd)
"""


def test_custom_controller(tmp_path):
    file, program = tmp_path / "mine.py", tmp_path / "lp.yaml"
    file.write_text(SPRING, encoding="utf-8")
    text = "name: lp\nrobots:\n  scara1: [{set_controller: {controller: Spring}}, {wait: 20ms}]\n"
    program.write_text(text, encoding="utf-8")
    arguments = ("cooperative", "-p", str(program), "--headless")
    done = run(*arguments, "--controller", str(file))
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert "lp: done in 0.02 s, no goals" in done.stdout
    old = run(*arguments, "--law", str(file), "--no-force-feedback")  # deprecated spellings
    assert old.returncode == 0 and "--law is deprecated; use --controller" in old.stderr
    assert "--force-feedback is deprecated; use --contact-response" in old.stderr
    done = run(*arguments)
    assert done.returncode == 2 and "no controller 'Spring'" in done.stderr
    file.write_text("x = 3\n", encoding="utf-8")
    done = run(*arguments, "--controller", str(file))
    assert done.returncode == 2 and "mine.py: no controller found" in done.stderr


GAINS = """\
scara2:
  controller: PID
  gains: {kp: [900, 900, 900, 4000, 900], ki: [0, 0, 0, 0, 0], kd: [30, 30, 30, 400, 30]}
"""


def test_gains_of_a_file_are_used(tmp_path):
    gains, program = tmp_path / "gains.yaml", tmp_path / "wait.yaml"
    gains.write_text(GAINS, encoding="utf-8")
    program.write_text("name: hold\nrobots:\n  scara2: [{wait: 500ms}]\n", encoding="utf-8")
    arguments = ("cooperative", "-p", str(program), "--headless", "--gains", str(gains))
    done = run(*arguments, "--record", str(tmp_path / "run.parquet"))
    assert done.returncode == 0, done.stderr
    recording = Recording.open(tmp_path / "run.parquet")
    assert recording.about["robots"] == "scara1 (ComputedTorque), scara2 (PID)"
    # Spring kp and damper kd carry the weight of the quill, which sinks.
    torque, e, qd = (recording[f"scara2.{name}.quill"][-1] for name in ("torque", "error", "qd"))
    assert torque == pytest.approx(4000.0 * e - 400.0 * qd, rel=1e-3) and abs(e) > 1e-3
    gains.write_text(GAINS.replace("scara2", "scara9"), encoding="utf-8")
    done = run(*arguments)
    assert done.returncode == 2
    assert "cell (scara1, scara2); it has controllers for: scara9" in done.stderr


def test_run_stops_at_the_time_limit(tmp_path):
    program = tmp_path / "endless.yaml"
    program.write_text(ENDLESS, encoding="utf-8")
    done = run("cooperative", "-p", str(program), "--headless", "--until", "0.5")
    assert done.returncode == 1
    assert "not done after 0.5 s" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("nowhere", "--headless"), "no cell named 'nowhere'"),
        (("solo-puma560", "--headless"), "no program is shipped for cell 'solo-puma560'"),
        (("cooperative", "--headless", "-p", "dance"), "no program named 'dance'"),
        (("solo-puma560", "--headless", "-p", "cooperative"), "no robot 'scara2' in cell"),
        (("cooperative", "--headless", "--seeds", "3"), "--seeds requires --vary"),
        (("cooperative", "--vary", "--seeds", "2"), "--seeds requires --headless"),
        (("cooperative", "--headless", "--until", "-1"), "expected seconds"),
        (("cooperative", "--headless", "--grip-force", "-5"), "grip force"),
    ],
)
def test_invalid_input_exits_with_2_and_one_line_per_error(arguments, wanted, tmp_path):
    done = run(*arguments)
    assert done.returncode == 2
    assert wanted in done.stderr and "Traceback" not in done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == (2 if "no robot" in wanted else 1)  # both robots are missing
    assert all(line.startswith("error: ") for line in lines)


def complete_rows(part: Path) -> int:
    """Rows in the complete frames of a partial recording, counted without brazo."""
    data, at, size, columns = part.read_bytes(), 0, 0, 1
    while at + 20 <= len(data):
        magic, kind, length, crc = struct.unpack_from("<4sc3xII", data, at)
        payload = data[at + 20 : at + 20 + length]
        if len(payload) < length:
            break
        assert magic == b"BRZ1" and zlib.crc32(payload) == crc
        if kind == b"H":
            columns = len(json.loads(payload)["columns"])
        size += length if kind == b"R" else 0
        at += 20 + length
    return size // (8 * columns)


# A process that has imported everything and forks once per run: a run then starts in milliseconds
# instead of a second.
FORKS = """
import os, signal, sys, time
from pathlib import Path
import brazo.recording.recording, brazo.recording.stream, brazo.program.execution, pyarrow.parquet
from brazo.cli.main import app
from brazo.program.summary import summarise
from brazo.world import World
World("cooperative")
for line in sys.stdin:
    program, path, wait = line.split("\t")
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        app(["run", "cooperative", "-p", program, "--headless", "--record", path])
        os._exit(0)
    part, deadline = Path(path + ".part"), time.monotonic() + 60
    while not part.exists() and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(float(wait))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    print(os.WTERMSIG(status), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no kill -9 on this system")
def test_killed_run_can_be_read_up_to_its_last_complete_frame(tmp_path):
    """Killed at 20 random times: no written row is lost or incomplete."""
    program = tmp_path / "endless.yaml"
    program.write_text(ENDLESS, encoding="utf-8")
    rng = np.random.default_rng(1)
    paths = [tmp_path / f"{k}.parquet" for k in range(20)]
    orders = "".join(f"{program}\t{path}\t{rng.uniform(0.0, 0.6)}\n" for path in paths)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS],
        input=orders, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.stdout.split() == ["9"] * 20, done.stderr
    counts = []
    for path in paths:
        part = path.with_name(path.name + ".part")
        recording = Recording.open(path)
        counts.append(complete_rows(part))
        assert len(recording) == counts[-1]
        assert recording.t == pytest.approx(1e-3 * np.arange(counts[-1]), abs=1e-9)
        assert np.isfinite(recording["scara1.q.shoulder"]).all()
    assert len(counts) >= 15 and max(counts) >= 1000 and len(set(counts)) > 1


OWN = """\
from brazo.control import Controller


class Mine(Controller):
    def {method}(self, t, q, qd, reference):
        raise ValueError("boom")
"""


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("command", "own.py:6: robot 'scara1', controller Mine, t = 0.0000 s: ValueError: boom"),
        ("torque", "own.py: controller class Mine does not define command"),
        (None, "no controller 'Mine'; available: "),
    ],
)
def test_errors_in_a_custom_controller(tmp_path, method, message):
    program = tmp_path / "p.yaml"
    program.write_text("name: p\ncell: cooperative\nrobots: {scara1: [set_controller: Mine]}\n")
    own = tmp_path / "own.py"
    own.write_text(OWN.format(method=method))
    options = [] if method is None else ["--controller", str(own)]
    done = run(str(program), "--headless", *options)
    assert done.returncode == 2 and message in done.stderr
    assert "Traceback" not in done.stderr and done.stderr.count("\n") == 1
    assert method is not None or "brazo run … --controller FILE.py" in done.stderr
