"""The lab used from a program, and as a process ended by a signal."""

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
from types import SimpleNamespace

import numpy as np
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

import brazo
import brazo.lab
from brazo.errors import BrazoError
from brazo.lab.app import display
from brazo.lab.app.lab import Lab
from brazo.lab.app.opening import as_cell
from brazo.lab.app.session import Selection
from brazo.lab.app.worker import RATE
from brazo.lab.scene.scene import STILL
from brazo.lab.scene.snapshot import SceneSnapshot
from brazo.lab.server import hooks
from brazo.lab.serving import serve
from brazo.program.program_file import program_directory
from brazo.trajectory import quintic


def test_set_q_moves_the_robot_before_it_returns(lab):
    lab.sim.player.pause()
    q = lab.robot.arm.random_q(seed=5)
    lab.set_q(q)
    assert np.array_equal(lab.robot.q, q)
    assert lab.robot.tool() == pytest.approx(lab.robot.arm.fk(q), abs=1e-14)
    lab.sim.step(200)
    assert lab.robot.q == pytest.approx(q, abs=1e-3)  # and it stays there


@pytest.mark.parametrize("q", [[0.0], [0.0] * 6, [[0.0] * 5], [np.nan] * 5, ["a"] * 5])
def test_invalid_q_is_reported_and_changes_nothing(lab, q):
    lab.sim.player.pause()
    before = lab.robot.q
    with pytest.raises(BrazoError):
        lab.set_q(q)
    assert np.array_equal(lab.robot.q, before)


def test_rejected_request_is_reported_on_the_page(lab, line):
    with line(lab) as page, line(lab) as other:
        lab.channel.on("wish", lambda: lab.session.place(lab.robot, [np.nan] * 5))
        page.send(["wish"])
        assert (
            "finite" in page.reported["notice"]["text"]
            and page.reported["notice"]["kind"] == "error"
        )
        other.send()
        assert "notice" not in other.reported


def test_robot_without_a_valid_home_pose_leaves_the_lab_unchanged(running):
    with running() as lab:
        with pytest.raises(BrazoError, match="rods"):
            lab.set_robot(brazo.load("delta").with_parameters(L2=0.22))
        assert lab.sim.cell.name == "scara1"
        lab.set_q(lab.robot.q)


def test_display_updates_are_rate_limited(running, monkeypatch):
    with running("cooperative") as lab:
        shown = []
        place = lab.scene.place
        monkeypatch.setattr(lab.scene, "place", lambda poses: (shown.append(1), place(poses)))
        started = time.monotonic()
        while time.monotonic() < started + 1.0:
            lab.post(lambda: None)
            time.sleep(0.001)
        assert 5 < len(shown) <= RATE * (time.monotonic() - started) + 2


def test_scene_is_updated_less_often_while_every_page_renders_in_software(
    running, line, monkeypatch
):
    monkeypatch.setattr(display, "SOFTWARE_EVERY", 600.0)
    with running("cooperative") as lab, line(lab) as page:
        shown = []
        place = lab.scene.place
        monkeypatch.setattr(lab.scene, "place", lambda poses: (shown.append(1), place(poses)))

        def until(condition) -> None:
            deadline = time.monotonic() + 30
            while not condition():
                assert time.monotonic() < deadline
                time.sleep(0.005)

        def quiet() -> bool:
            shown.clear()
            at = lab.sim.time
            until(lambda: lab.sim.time > at + 0.3)
            return not shown

        page.send(["software-rendering", True])
        until(quiet)  # the request itself still updates the scene
        with line(lab):  # a page with a graphics card
            until(lambda: len(shown) > 5)
        lab.do(lab.sim.player.pause)
        until(lambda: np.abs(lab.scene._shown - lab.sim.world.poses()).max() <= STILL)


def test_paused_lab_is_idle(running, monkeypatch):
    with running("cooperative") as lab:
        lab.do(lab.sim.player.pause)
        frames = []
        of = SceneSnapshot.of
        monkeypatch.setattr(SceneSnapshot, "of", lambda sim: (frames.append(sim), of(sim))[1])
        lab.do(lab.display.frame)
        deadline = time.monotonic() + 20.0
        frames.append(lab.sim)
        while frames:  # until the frames of the start and of this request are shown
            assert time.monotonic() < deadline
            frames.clear()
            time.sleep(0.6)


def test_page_may_open_shipped_names_but_not_paths(lab, line, tmp_path):
    with line(lab) as page:
        page.send(["open", "robot:panda"])
        assert lab.sim.cell.name == "panda"
        wrong = (str(tmp_path / "robot.yaml"), "robot:../puma560", "panda", "cell:no", "robot:")
        page.send(*(["open", name] for name in wrong))
        assert lab.sim.cell.name == "panda"
        page.send(["open", "cell:delta"])
        assert lab.sim.cell.name == "delta" and lab.sim.cell.fixtures
        page.send(["open", "robot:delta"])
        assert lab.sim.cell.name == "delta" and not lab.sim.cell.fixtures
        page.send(["open", "robot:scara1"])


def test_failing_panel_is_logged_and_the_lab_continues(running, caplog, monkeypatch, line):
    with running() as lab, line(lab) as page:
        panel = next(iter(lab.panels.values()))
        monkeypatch.setattr(panel, "values", lambda: 1 / 0)
        page.send(["panels-shown", [panel.id]])
        deadline = time.monotonic() + 5
        while "ZeroDivisionError" not in caplog.text:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        lab.set_q(lab.robot.q)


def test_hidden_panel_is_not_updated(running, monkeypatch, line):
    with running() as lab, line(lab) as page:
        asked = []
        for panel in lab.panels.values():
            monkeypatch.setattr(panel, "values", lambda p=panel: asked.append(p.id) or {})
        page.send(["panels-shown", ["view"]])
        deadline = time.monotonic() + 10
        while len(asked) < 10:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        assert set(asked) == {"view"}
        page.send(["panels-shown", ["no such panel", 5, None]])
        asked.clear()
        time.sleep(0.2)
        assert not asked


def test_program_file_is_not_opened_as_a_cell():
    with pytest.raises(BrazoError, match=r"cooperative.yaml: this file is a program"):
        as_cell(program_directory() / "cooperative.yaml")


def test_a_program_may_command_from_a_handler(lab):
    lab.sim.player.pause()
    q = lab.robot.arm.random_q(seed=8)
    lab.do(lambda: lab.set_q(q))
    assert np.array_equal(lab.robot.q, q)


def test_a_clicked_link_selects_its_joint(running, line):
    with running("cooperative") as lab, line(lab) as page:
        drawn = [one.name for one in lab.sim.world.drawn]
        for name, wanted in (
            ("scara2/link 3", ("scara2", 2)),
            ("scara1/finger left", ("scara1", 4)),
            ("scara2/base", ("scara2", None)),
            ("scara1/link 1", ("scara1", 0)),
            ("scara1/link 1", ("scara1", None)),  # again: no longer
        ):
            lab.do(lambda name=name: lab.display.clicked(drawn.index(name)))
            assert (lab.selection.robot, lab.selection.joint) == wanted
        page.send(["select", "scara2", 1])
        assert lab.selection == Selection("scara2", 1, "scara2")
        page.send(["select", "nobody", 1], ["select", "scara1", 99])
        assert lab.selection == Selection("scara1", None, "scara1")
        lab.do(lambda: lab.display.clicked(drawn.index("bar 1")))  # the robot stays selected
        assert lab.selection == Selection("scara1", None, "bar 1")
        lab.do(lambda: lab.display.clicked(drawn.index("bar 1")))
        assert lab.selection == Selection("scara1", None, "")


def moving(sim) -> bool:
    return any(np.abs(robot.reference.qd).max() > 0.0 for robot in sim.robots.values())


def test_stop_brings_all_robots_to_rest_within_their_limits_while_the_lab_is_busy(running, line):
    with running("cooperative") as lab, line(lab) as page, line(lab) as watcher:
        sim = lab.sim
        for robot in sim.robots.values():
            q = robot.reference.q
            robot.move(quintic(q, q + 0.3 * (robot.arm.limits[:, 1] > 1), 5.0))
        busy, paused = threading.Event(), []
        task = SimpleNamespace(tick=lambda sim: True, pause=lambda: paused.append(sim.time))
        sim.tasks.add(task)
        under_way = sim.time + 0.5
        while sim.time < under_way:
            time.sleep(0.01)
        assert moving(sim)
        lab.post(lambda: busy.wait(10))  # the lab's own thread is stuck
        began = time.monotonic()
        watcher.ws.send('["stop"]')  # anyone may
        while moving(sim):
            assert time.monotonic() < began + 5
            time.sleep(0.002)
        took = time.monotonic() - began
        busy.set()
        assert took < 1.5 and len(paused) == 1
        page.until("stops", 1)


def test_stopped_lab_reports_it_and_stops_once(running):
    with running() as lab:
        lab.stop()
        lab.stop()
        with pytest.raises(BrazoError, match="stopped"):
            lab.set_q(lab.robot.q)


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


URDF = (
    "<robot name='bare'><link name='a'/><link name='b'/><joint name='j' type='continuous'>"
    "<parent link='a'/><child link='b'/><axis xyz='0 0 1'/></joint></robot>"
)
CELL = "name: two\nrobots:\n  - {name: a, robot: scara1}\n  - {name: b, robot: bare.urdf}\n"


def test_a_lab_may_be_given_cells_robots_files_and_simulations(tmp_path):
    urdf, cell = tmp_path / "bare.urdf", tmp_path / "two.yaml"
    urdf.write_text(URDF, encoding="utf-8")
    cell.write_text(CELL.replace("base", ""), encoding="utf-8")
    sim = brazo.Simulation("delta")
    lab = brazo.lab("scara1", port=0, open_browser=False, block=False)
    try:
        assert lab.sim.cell.name == "scara1" and list(lab.sim.robots) == ["scara1"]
        lab.open(urdf)
        assert list(lab.sim.robots) == ["bare"]
        assert lab.robot.controller_name == "ideal"  # no masses: it is at the commanded position
        lab.open(cell)
        assert list(lab.sim.robots) == ["a", "b"]
        lab.open("cooperative")
        assert list(lab.sim.robots) == ["scara1", "scara2"]
        lab.open(sim)
        assert lab.sim is sim and sim.player.running
        lab.set_robot("delta")
        assert not lab.sim.cell.fixtures and not sim.player.running
        sim.player.play()  # given, so not ended
        sim.player.close()
        with pytest.raises(BrazoError, match="type int is neither a cell nor a robot"):
            lab.open(7)
        assert lab.sim.cell.name == "delta"
    finally:
        lab.stop()


@pytest.mark.parametrize("wrong", [None, 7, ["scara1"], brazo.Robot, "no such robot"])
def test_unsupported_source_is_rejected_with_a_message(wrong):
    with pytest.raises(BrazoError, match="puma560"):
        brazo.lab(wrong, port=0, open_browser=False, block=False)


def test_a_bad_address_starts_nothing():
    with pytest.raises(BrazoError):
        serve("robot:scara1", host="203.0.113.1", open_browser=False, block=False)


SCRIPT = """
from brazo.lab.app.opening import as_cell
from brazo.lab.serving import serve
from brazo.program.program_file import program_directory
serve("robot:scara1", port=0, open_browser=False)
print("after", flush=True)
"""


def pester(port: int) -> None:
    """Send invalid requests of every kind to a lab."""
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
def test_lab_ends_by_a_signal_and_prints_only_its_link(sent):
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
