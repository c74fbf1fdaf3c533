"""The simulation panel without a browser."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest

from brazo.simulation import EncoderBias, JointLocked, TorqueLoss
from brazo.simulation.player import TICK
from brazo.trajectory import quintic


@pytest.fixture(scope="module")
def lab(running):
    with running("cooperative") as lab:
        yield lab


@pytest.fixture
def page(lab, line):
    with line(lab) as page:
        page.send(["pause"], ["reset"], ["panels-shown", ["simulation"]], ["speed", 1])
        yield page
        page.send(["simulation/mend-all"])


def shown(lab) -> dict:
    found: dict = {}
    lab.do(lambda: found.update(lab.panels["simulation"].values()))
    return found


def test_a_machine_that_is_too_slow_shows_factor_and_missed_deadlines(lab, page, monkeypatch):
    player = lab.sim.player
    monkeypatch.setattr(type(player), "real_time_factor", 0.76)
    monkeypatch.setattr(player, "overruns", 125)
    found = shown(lab)
    assert (found["factor"], found["late"]) == ("0.76", "125 missed deadlines")


def test_step_and_reset(lab, page):
    page.send(["step", 5])
    assert lab.sim.time == pytest.approx(0.005, abs=1e-12)
    page.send(["reset"])
    assert lab.sim.time == 0.0 and not lab.sim.player.running
    page.send(["step", 0], ["step", 10**9])
    assert "cannot step" in page.reported["notice"]["text"] and lab.sim.time == 0.0


@pytest.mark.parametrize("speed", [400, 50])
def test_speed_is_relative_to_the_wall_clock(lab, page, speed):
    page.send(["simulation/speed", speed], ["play"])
    sim, player, speed = lab.sim, lab.sim.player, speed / 100
    slack = sim.dt + 2 * TICK * speed

    def at_both() -> tuple[float, float]:
        """The clock and simulated time when there is nothing to be made up for."""
        deadline = time.perf_counter() + 30
        while True:
            wall, simulated = time.perf_counter(), sim.time
            together = time.perf_counter() - wall < TICK  # not put aside between the two
            if together and simulated + slack >= player._due(wall):
                return wall, simulated
            assert wall < deadline
            time.sleep(1e-4)

    begin, since = at_both()
    time.sleep(1.0)
    end, until = at_both()
    late = player.overruns
    page.send(["pause"])
    behind = speed * (end - begin) - (until - since)
    # A busy machine may miss deadlines, which are reported.
    assert abs(behind) < 2 * slack or (late and behind > 0)
    assert shown(lab)["speed"] == pytest.approx(100 * speed)


def test_speed_above_the_maximum_is_rejected(lab, page):
    page.send(["simulation/speed", 500])
    assert "from 0 to 400 %" in page.reported["notice"]["text"]
    assert lab.sim.player.speed == 1.0


def test_new_time_step_continues_from_the_current_state(lab, page):
    lab.set_q([0.3, -1.0, 0.05, 0.1, 0.2], "scara1")
    page.send(["step", 100])
    before = {name: robot.q for name, robot in lab.sim.robots.items()}
    bar, at, root = lab.sim.world.pose("bar 1"), lab.sim.time, lab.scene.root
    laws = {name: robot.controller_name for name, robot in lab.sim.robots.items()}
    page.send(["simulation/dt", 0.5])
    sim = lab.sim
    assert sim.dt == 5e-4 and sim.time == pytest.approx(at, abs=1e-12)
    assert {name: robot.controller_name for name, robot in sim.robots.items()} == laws
    for name, q in before.items():
        assert np.array_equal(sim.robots[name].q, q)
    assert np.array_equal(sim.world.pose("bar 1"), bar)
    assert lab.scene.root != root and lab.channel.get("clock/step") is not None
    page.send(["step", 200])
    assert sim.robots["scara1"].q == pytest.approx(before["scara1"], abs=1e-3)
    page.send(["simulation/dt", 50])
    assert "must be from 0.01 ms to 10 ms" in page.reported["notice"]["text"]
    page.send(["simulation/dt", "1ms"])
    assert lab.sim.dt == 1e-3


def test_gravity_has_the_given_direction(lab, page):
    page.send(["simulation/gravity", 2, 0], ["simulation/gravity", 0, "2"])
    assert lab.sim.cell.gravity.tolist() == [2.0, 0.0, 0.0]
    start = lab.sim.world.pose("bar 1")
    page.send(["step", 300])
    moved = lab.sim.world.pose("bar 1")[:3, 3] - start[:3, 3]
    assert moved[0] == pytest.approx(0.5 * 2.0 * 0.3**2, rel=0.02)
    # Controllers compensate it: the robots stay in place.
    assert lab.sim.robots["scara2"].q == pytest.approx(
        lab.sim.robots["scara2"].world.start, abs=1e-3
    )
    page.send(["simulation/gravity", 0, 0], ["simulation/gravity", 2, -9.81])


def test_without_contacts_bodies_fall_through(lab, page):
    page.send(["simulation/mode", "exact"])
    assert shown(lab)["mode"] == "exact"
    page.send(["step", 300])
    assert lab.sim.world.pose("bar 1")[2, 3] < -0.2
    page.send(["simulation/mode", "nonsense"], ["simulation/mode", "contact"], ["reset"])
    assert lab.sim.world.mode == "contact"


CHANGES = (["simulation/gravity", 2, -9], ["simulation/dt", 2], ["simulation/mode", "exact"])


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change[0])
def test_running_task_prevents_a_new_simulation(lab, page, change):
    sim = lab.sim
    page.send(["data/record"], change)
    assert "recording is running" in page.reported["notice"]["text"]
    assert lab.sim is sim and sim.recording
    page.send(["data/record-stop"], ["program/run"], change)
    assert "program is running" in page.reported["notice"]["text"]
    page.send(["program/pause"], change)  # a paused one could not continue, either
    assert lab.sim is sim and lab.panels["program"].control.execution in sim.tasks
    page.send(["program/end"], ["reset"], ["play"], ["select", "scara2", 0])
    page.send(["pendant/mode", "joint"], ["pendant/move", [["q0", 20]], "joint"], change)
    assert "scara2 is moving" in page.reported["notice"]["text"] and lab.sim is sim
    task = SimpleNamespace(tick=lambda sim: True)
    page.send(["pause"], ["reset"])
    sim.tasks.add(task)
    page.send(change)
    assert "a task is running" in page.reported["notice"]["text"] and lab.sim is sim
    sim.tasks.remove(task)
    page.send(change)
    assert lab.sim is not sim
    page.send(
        ["simulation/gravity", 2, -9.81], ["simulation/dt", 1], ["simulation/mode", "contact"]
    )


def test_a_finished_run_blocks_nothing_while_time_is_paused(lab, page):
    sim = lab.sim
    page.send(["program/run"], ["program/end"])
    if lab.sim.moving:  # a step was made in between: wait until it is at rest
        page.send(["step", 1000])
    page.send(["simulation/gravity", 2, -9])
    assert lab.sim is not sim, page.reported["notice"]
    page.send(["simulation/gravity", 2, -9.81])


def test_rebuilt_simulation_keeps_faults_contact_response_and_trajectories(lab, page):
    page.send(["select", "scara2", 1], ["trajectory/add"], ["trajectory/add"])
    page.send(["simulation/fault", "locked"], ["simulation/inject"])
    page.send(["simulation/fault", "bias"], ["simulation/amount", 4], ["simulation/inject"])
    page.send(["simulation/feedback", "scara1", False])
    faults, later = list(lab.robot.faults), TorqueLoss("scara1", "elbow", 0.5)
    lab.sim.inject(later, at=0.1)
    assert len(faults) == 2
    for change in CHANGES:
        sim = lab.sim
        page.send(change)
        assert lab.sim is not sim and list(lab.sim.robots["scara2"].faults) == faults
        assert len(lab.panels["trajectory"].draft.rows) == 2
        assert not lab.sim.robots["scara1"].world.contact_response
    q = lab.robot.q
    lab.sim.robots["scara2"].move(quintic(q, q + [0.1, 0.2, 0.0, 0.0, 0.0], 0.1))
    page.send(["step", 100])
    assert lab.robot.q[1] == pytest.approx(q[1], abs=1e-3)  # locked still
    assert later in lab.sim.robots["scara1"].faults
    page.send(["reset"], ["simulation/feedback", "scara1", True])
    page.send(
        ["simulation/gravity", 2, -9.81], ["simulation/dt", 1], ["simulation/mode", "contact"]
    )


def test_contact_response_is_switched_by_robot(lab, page):
    page.send(["simulation/feedback", "scara1", False])
    assert not lab.sim.robots["scara1"].world.contact_response
    assert lab.sim.robots["scara2"].world.contact_response
    assert shown(lab)["feedback/scara1"] is False
    page.send(["simulation/feedback", "scara1", True], ["simulation/feedback", "nobody", True])
    assert "no robot named 'nobody'" in page.reported["notice"]["text"]


def test_faults_are_selected_injected_and_cleared(lab, page):
    page.send(["select", "scara2", 1], ["simulation/fault", "locked"], ["simulation/inject"])
    page.send(["simulation/fault", "torque"], ["simulation/amount", 30], ["simulation/inject"])
    page.send(["simulation/fault", "bias"], ["simulation/fault-joint", "quill"])
    page.send(["simulation/amount", 4], ["simulation/inject"])
    names = lab.robot.arm.joint_names
    assert lab.robot.faults == [
        JointLocked("scara2", names[1]),
        TorqueLoss("scara2", names[1], 0.3),
        EncoderBias("scara2", "quill", 0.004),
    ]
    assert "mm" in lab.panels["simulation"].html()
    rows = shown(lab)["faults"]
    assert "locked" in rows[0]["text"] and len(rows) == 3
    assert rows[2]["text"] == "scara2: encoder bias of 'quill': 4 mm"
    page.send(["simulation/mend", rows[0]["id"]])
    assert len(lab.robot.faults) == 2
    page.send(["simulation/amount", 4000], ["simulation/fault", "torque"])
    page.send(["simulation/amount", 4000], ["simulation/inject"])
    assert "torque loss" in page.reported["notice"]["text"]
    page.send(["simulation/mend-all"])
    assert not lab.robot.faults and shown(lab)["broken"] is False


def test_diverged_simulation_is_reported(running, line):
    with running("cooperative") as lab, line(lab) as page:

        class Broken:
            def tick(self, sim):
                raise RuntimeError("the task is broken")

        lab.sim.tasks.add(Broken())
        page.until("clock/running", False)
        page.until_said("the task is broken")


def test_a_joint_that_no_longer_exists_is_replaced_by_the_last(lab, page):
    panel = lab.panels["simulation"]
    page.send(["simulation/fault", "bias"])
    lab.do(lambda: setattr(panel, "_joint", 99))
    lab.do(panel.html)
    page.send(["simulation/inject"])
    (fault,) = lab.robot.faults
    assert fault.joint == lab.robot.arm.joint_names[-1]
