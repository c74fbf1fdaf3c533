"""`brazo teleop` from the shell."""

import json
import re
import signal
import socket
import subprocess
import sys

import pytest

from brazo.cli.main import main
from brazo.teleop import FollowerLink, MasterLink, devices
from brazo.teleop.devices import Keyboard
from tests.cli.command import Process, brazo
from tests.teleop.rig import until


def started(*arguments, **options):
    command = [sys.executable, "-m", "brazo.cli.main", "teleop", *map(str, arguments)]
    return Process(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def test_proxy_runs_its_script(tmp_path):
    script = tmp_path / "bad.yaml"
    script.write_text("steps: [{at: 200ms, for: 200ms, half_open: true}]", encoding="utf-8")
    with FollowerLink() as follower:
        process = started(
            *("proxy", "--to", f"127.0.0.1:{follower.port}", "--listen", "127.0.0.1:0"),
            *("--script", script, "--seed", 3),
        )
        with process:
            try:
                assert process.stdout is not None
                first = process.stdout.readline()
                assert f"to 127.0.0.1:{follower.port}, 1 steps, seed 3" in first
                port = first.split(":")[2].split()[0]
                with MasterLink(f"127.0.0.1:{port}") as master:
                    master.wait()
                    until(lambda: master.round_trip, "pings through the proxy")
                    assert process.stdout.readline().endswith("connection 1\n")
                    assert "half_open 1 for 0.2 s" in process.stdout.readline()
            finally:
                process.kill()


def test_counts_as_json():
    here = ("--listen", "127.0.0.1:0")
    done = brazo("teleop", "proxy", "--to", "127.0.0.1:9", *here, "--seconds", 0.1, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"counts": {"up": {}, "down": {}}, "events": []}


def test_errors_are_one_line(tmp_path, monkeypatch, capsys):
    script = tmp_path / "bad.yaml"
    script.write_text("steps: [{at: 0s, loss: 7}]", encoding="utf-8")
    empty = tmp_path / "empty.yaml"
    empty.write_text("name: empty\nbodies: [{name: box, box: [1cm, 1cm, 1cm], mass: 1}]\n")
    for arguments, message in (
        (("follower", "--cell", empty, "--listen", "127.0.0.1:0"), "the cell has no robots"),
        (("proxy", "--to", "nowhere"), "address 'nowhere'"),
        (("proxy", "--to", "a:1", "--script", script), "bad.yaml:1: steps[0].loss: loss is 7.0"),
        (("measure", "--rate", "0"), "at most 86400 s (a day)"),
    ):
        monkeypatch.setattr(sys, "argv", ["brazo", "teleop", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_:
            main()
        assert exit_.value.code == 2
        error = capsys.readouterr().err
        assert error.startswith("error: ") and message in error and error.count("\n") == 1


@pytest.mark.parametrize("quiet", [True, False])
def test_quiet_master_prints_nothing(monkeypatch, capsys, quiet):
    monkeypatch.setattr(devices, "Keyboard", lambda: Keyboard(keys=lambda: ""))
    with FollowerLink() as follower:
        here = ("--connect", f"127.0.0.1:{follower.port}", "--headless", "--seconds", "0.1")
        arguments = ("master", "--device", "keyboard", *here, *(("--quiet",) if quiet else ()))
        monkeypatch.setattr(sys, "argv", ["brazo", "teleop", *arguments])
        with pytest.raises(SystemExit) as exit_:
            main()
    printed = capsys.readouterr()
    assert exit_.value.code == 0, printed.err
    assert bool(printed.out) != quiet and printed.err == ""


def test_the_link_is_measured():
    done = brazo("teleop", "measure", "--seconds", "1.5", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["lost"] == found["disordered"] == 0
    assert found["received"] + found["replaced"] + found["late"] == found["sent"] > 100
    assert 0.0 < found["latency"]["p50"] <= found["latency"]["p99"] <= found["latency"]["most"]
    assert found["round_trip"] > 0.0


def test_master_without_a_follower_reports_it_once_and_prints_its_counts():
    with socket.socket() as taken:  # bound, but not listening
        taken.bind(("127.0.0.1", 0))
        there = f"127.0.0.1:{taken.getsockname()[1]}"
        master = started("master", "--connect", there, "--page", "127.0.0.1:0", "--no-browser")
        with master:
            try:
                assert master.stdout is not None
                assert "page: " in master.stdout.readline()
                line = master.stdout.readline()
                assert f"s  no answer from {there}; start `brazo teleop follower`" in line
            finally:
                master.send_signal(signal.SIGINT)
                out, error = master.communicate(timeout=60)
    assert master.returncode == 0, error
    assert "no answer from" not in out and out.endswith(" attempts\n")


def test_script_without_a_link_fails(tmp_path):
    script = tmp_path / "hand.yaml"
    script.write_text("steps: [{at: 0s, engage: true}]", encoding="utf-8")
    with socket.socket() as taken:  # bound, but not listening
        taken.bind(("127.0.0.1", 0))
        there = f"127.0.0.1:{taken.getsockname()[1]}"
        here = ("--page", "127.0.0.1:0", "--no-browser")
        master = brazo(
            "teleop", "master", "--connect", there, "--script", script, *here, columns=200
        )
    assert master.returncode == 1
    message = (
        f"error: the script ended, but the follower at ws://{there}/teleop was never connected"
    )
    assert message in master.stderr


def test_both_stations_have_a_page():
    from urllib.request import urlopen

    def page(process) -> str:
        assert process.stdout is not None
        line = process.stdout.readline()
        while "page: " not in line:
            assert line, process.stderr.read()
            line = process.stdout.readline()
        return line.split("page: ")[1].split()[0]

    here = ("--page", "127.0.0.1:0", "--no-browser")
    follower = started("follower", "--robot", "teleop-scara", "--listen", "127.0.0.1:0", *here)
    with follower:
        try:
            assert follower.stdout is not None
            address = follower.stdout.readline().split("ws://")[1].split("/")[0]
            with urlopen(page(follower)) as answer:
                assert answer.status == 200 and b"/lab/server/page/shell.js" in answer.read()
            master = started("master", "--connect", address, *here)
            with master:
                try:
                    with urlopen(page(master)) as answer:
                        assert answer.status == 200
                    assert master.stdout is not None
                    assert master.stdout.readline().endswith("connected\n")
                finally:
                    master.terminate()
                    out, error = master.communicate(timeout=60)
            assert master.returncode == 0, error
            assert re.search(r"\b[1-9]\d* connections?, ", out.splitlines()[-1])
        finally:
            follower.terminate()
            _, error = follower.communicate(timeout=60)
    assert follower.returncode == 0, error
