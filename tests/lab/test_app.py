"""The lab as a program uses it, and as a process that is told to end."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

import brazo
import brazo.lab
from brazo.errors import BrazoError
from brazo.lab import hooks
from brazo.lab.app import RATE, Lab, serve


def test_set_q_moves_the_robot_before_it_returns(lab):
    q = lab.robot.random_q(seed=5)
    lab.set_q(q)
    assert np.array_equal(lab.q, q)
    assert np.array_equal(lab.tool, lab.robot.fk(q))


@pytest.mark.parametrize("q", [[0.0], [0.0] * 6, [[0.0] * 5], [np.nan] * 5, ["a"] * 5])
def test_a_q_that_cannot_be_is_explained_and_changes_nothing(lab, q):
    before = lab.q.copy()
    with pytest.raises(BrazoError):
        lab.set_q(q)
    assert np.array_equal(lab.q, before)


def test_what_a_page_wanted_in_vain_is_said_on_it(lab):
    before = lab.q.copy()
    lab.post(lambda: lab.go_to([np.nan] * 5))
    lab._do(lambda: None)
    assert "finite" in lab.channel.get("notice")
    assert np.array_equal(lab.q, before)
    lab.set_q(before)
    assert lab.channel.get("notice") == ""


def test_a_robot_that_cannot_stand_at_home_leaves_the_lab_as_it_was(running):
    with running("scara1") as lab:
        q = lab.q.copy()
        with pytest.raises(BrazoError, match="rods"):
            lab.set_robot(brazo.load("delta").with_parameters(L2=0.22))
        assert lab.robot.name == "scara1" and np.array_equal(lab.q, q)
        lab.set_q(q)


def test_what_is_shown_is_the_last_of_a_stream_at_no_more_than_the_rate(lab, monkeypatch):
    shown = []
    publish = lab._publish
    monkeypatch.setattr(lab, "_publish", lambda: (shown.append(lab.q.copy()), publish()))
    started = time.monotonic()
    for x in np.linspace(0.0, 0.5, 2000):
        lab.set_q([x, 0.1, 0.05, 0.0, 0.0])
    took = time.monotonic() - started
    deadline = time.monotonic() + 5
    while not shown or shown[-1][0] != 0.5:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    assert len(shown) <= RATE * took + 2


def test_a_page_may_choose_shipped_robots_but_not_name_files(lab, tmp_path):
    lab._do(lambda: lab._load("panda"))
    assert lab.robot.name == "panda"
    for name in (str(tmp_path / "robot.yaml"), "../puma560", "no such robot"):
        lab._do(lambda name=name: lab._load(name))
        assert lab.robot.name == "panda"
    lab.set_robot(brazo.load("scara1"))


def test_a_robot_the_program_gave_can_be_chosen_again(running):
    robot = brazo.load("delta").with_parameters(L2=0.45)
    with running("scara1") as lab:
        lab.set_robot(robot)
        lab._do(lambda: lab._load("panda"))
        assert lab.robot.name == "panda"
        lab._do(lambda: lab._load("delta"))
        assert lab.robot is robot
        assert lab.channel.get("robots").count("delta") == 1


def test_a_panel_that_fails_is_logged_and_the_robot_still_moves(running, caplog, monkeypatch):
    with running("scara1") as lab:
        monkeypatch.setattr(lab._panels[0], "values", lambda: 1 / 0)
        q = lab.robot.random_q(seed=2)
        lab.set_q(q)
        lab._do(lambda: None)
        deadline = time.monotonic() + 5
        while "ZeroDivisionError" not in caplog.text:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        lab.set_q(lab.home)
        assert np.array_equal(lab.q, lab.home)


def test_a_program_may_command_from_a_handler(lab):
    q = lab.robot.random_q(seed=8)
    lab._do(lambda: lab.set_q(q))
    assert np.array_equal(lab.q, q)


def test_a_stopped_lab_says_so_and_stops_once(running):
    with running() as lab:
        lab.stop()
        lab.stop()
        with pytest.raises(BrazoError, match="stopped"):
            lab.set_q(lab.q)


def test_no_thread_outlives_its_lab(running):
    before = set(threading.enumerate())
    with running():
        pass
    deadline = time.monotonic() + 5
    while left := [t for t in threading.enumerate() if t not in before and t.is_alive()]:
        assert time.monotonic() < deadline, left
        time.sleep(0.01)


def test_the_package_can_be_called():
    lab = brazo.lab(brazo.load("scara1"), port=0, open_browser=False, block=False)
    assert isinstance(lab, Lab)
    lab.stop()


def test_a_robot_may_be_given_by_name_or_file(tmp_path):
    lab = brazo.lab("scara1", port=0, open_browser=False, block=False)
    try:
        assert lab.robot.name == "scara1"
        path = tmp_path / "bare.urdf"
        path.write_text(
            "<robot name='bare'><link name='a'/><link name='b'/><joint name='j' type='continuous'>"
            "<parent link='a'/><child link='b'/><axis xyz='0 0 1'/></joint></robot>",
            encoding="utf-8",
        )
        lab.set_robot(path)
        assert lab.robot.name == "bare"
        lab.set_robot("panda")
        assert lab.robot.name == "panda"
        with pytest.raises(BrazoError, match="int: give a robot"):
            lab.set_robot(7)
        assert lab.robot.name == "panda"
    finally:
        lab.stop()


@pytest.mark.parametrize("wrong", [None, 7, ["scara1"], brazo.Robot, "no such robot"])
def test_what_is_no_robot_is_refused_in_words(wrong):
    with pytest.raises(BrazoError, match="puma560"):
        brazo.lab(wrong, port=0, open_browser=False, block=False)


def test_a_bad_address_starts_nothing():
    with pytest.raises(BrazoError):
        serve(brazo.load("scara1"), host="203.0.113.1", open_browser=False, block=False)


SCRIPT = """
import brazo
from brazo.lab.app import serve
serve(brazo.load("scara1"), port=0, open_browser=False)
print("after", flush=True)
"""


def pester(port: int) -> None:
    """Knock at a lab in every wrong way."""
    for bytes_sent in (b"", b"\0\xff\n\n", b"POST / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
            sock.sendall(bytes_sent)
    own = {"origin": f"http://127.0.0.1:{port}"}
    viser = own | {"subprotocols": [hooks.SUBPROTOCOL]}
    for garbage in (b"\xc1", "text", b"\x81\xa4type\xa4evil", b"\x81\xa4type\x01"):
        with connect(f"ws://127.0.0.1:{port}", **viser) as ws:
            ws.send(garbage)
        with connect(f"ws://127.0.0.1:{port}/channel", **own) as ws:
            ws.send(garbage)
    old = own | {"subprotocols": ["viser-v0.0.1"]}
    with pytest.raises(InvalidStatus), connect(f"ws://127.0.0.1:{port}", **old):
        pass


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGTERM to send")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_lab_ends_by_a_signal_and_prints_its_link_only_whoever_knocks(sent):
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            link = r"brazo lab: http://127\.0\.0\.1:(\d+)  \(Ctrl\+C stops\)\n"
            found = re.fullmatch(link, line)
            assert found, line
            port = int(found[1])
            pester(port)
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/")
            assert connection.getresponse().status == 200
            connection.close()
            process.send_signal(sent)
            out, err = process.communicate(timeout=20)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (0, "after\n", "")
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection("127.0.0.1", port, timeout=5).connect()
