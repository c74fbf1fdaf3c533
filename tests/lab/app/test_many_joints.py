"""Robots with many joints: how long they take to open, and how an opening ends before that."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest

import brazo
from brazo.codegen import jit
from brazo.control import LQR
from brazo.errors import BrazoError
from brazo.formats.load import MAX_JOINTS
from brazo.lab.server.transfers import Upload

LINK = (
    '<link name="l{i}"><inertial><mass value="0.2"/><origin xyz="0 0 0.02"/><inertia ixx="1e-3"'
    ' iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial><visual><origin xyz="0 0 0.02"/>'
    '<geometry><box size="0.02 0.02 0.04"/></geometry></visual></link>'
    '<joint name="j{i}" type="revolute"><parent link="l{parent}"/><child link="l{i}"/>'
    '<origin xyz="0 0 0.04"/><axis xyz="{axis}"/>'
    '<limit lower="-1" upper="1" effort="10" velocity="2"/></joint>'
)


def serial_urdf(joints: int) -> str:
    axes = ("1 0 0", "0 1 0")
    links = [LINK.format(i=i, parent=i - 1, axis=axes[i % 2]) for i in range(1, joints + 1)]
    return "\n".join(['<robot name="chain"><link name="l0"/>', *links, "</robot>"])


@pytest.fixture
def uncached(tmp_path, monkeypatch):
    """No compiled kernel is there yet."""
    monkeypatch.setenv("BRAZO_CACHE_DIR", str(tmp_path / "cache"))


def test_two_hundred_joints_open_in_seconds(tmp_path):
    path = tmp_path / "chain.urdf"
    path.write_text(serial_urdf(200))
    # A separate process: its CPU time does not depend on other processes.
    code = (
        "import sys, time\n"
        "from brazo.lab.serving import serve\n"
        "lab = serve(sys.argv[1], port=0, open_browser=False, block=False)\n"
        "lab.do(lambda: lab.robot.arm.jacobian(lab.robot.q))\n"
        "print(len(lab.robot.q), time.process_time())\n"
        "lab.stop()\n"
    )
    environment = {**os.environ, "BRAZO_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True, text=True, env=environment, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    joints, seconds = done.stdout.split()
    assert joints == "200" and float(seconds) < 25.0


def test_more_joints_than_the_limit_are_refused(lab, tmp_path):
    path = tmp_path / "chain.urdf"
    path.write_text(serial_urdf(MAX_JOINTS + 1))
    message = f"chain.urdf: {MAX_JOINTS + 1} moving joints; the maximum is {MAX_JOINTS}"
    with pytest.raises(BrazoError, match=message):
        brazo.load(path)
    sim = lab.sim
    with pytest.raises(BrazoError, match=message):
        lab.open(path)
    assert lab.sim is sim


def test_controller_with_gain_matrix_is_rejected_for_many_joints(tmp_path):
    path = tmp_path / "chain.urdf"
    path.write_text(serial_urdf(65))
    with pytest.raises(BrazoError, match="LQR supports at most 64 joints, but chain has 65"):
        LQR().bind(brazo.load(path), 0.001)


def test_cancel_ends_an_opening_that_compiles_and_the_lab_stays_usable(
    running, line, monkeypatch, uncached
):
    compiling, go, compiled = threading.Event(), threading.Event(), []
    compile_object = jit.compile_object

    def slow(ir, target):  # like LLVM: cannot be interrupted
        if threading.current_thread().name.startswith("brazo job"):
            compiled.append(len(ir))
            compiling.set()
            assert go.wait(60)
        return compile_object(ir, target)

    with running() as lab, line(lab) as page:
        panel, before = lab.panels["robots"], lab.sim
        monkeypatch.setattr(jit, "compile_object", slow)
        lab.do(lambda: panel._bring(Upload("chain.urdf", serial_urdf(30).encode())))
        assert compiling.wait(60)
        job = panel._job
        asked = time.monotonic()
        page.send(["cancel-job", job.number])
        assert job.state == "cancelled" and time.monotonic() - asked < 1.0
        page.send(["pause"])
        assert not lab.sim.player.running and lab.sim is before
        go.set()
        deadline = time.monotonic() + 60
        while lab.jobs.busy:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert len(compiled) == 1  # no further kernel
        assert lab.sim is before and job.state == "cancelled"
        page.send(["robots/open", "robot:puma560"])
        while lab.sim is before:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert lab.sim.cell.name == "puma560"
