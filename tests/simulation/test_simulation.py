"""The loop: motions, laws, tasks, events, recordings and states."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.control import PDGravity
from brazo.recording.recording import Recording
from brazo.simulation import Simulation
from brazo.trajectory import GoTo, limits_of, quintic
from tests.simulation.scenes import approach, holding_sim


@pytest.fixture
def sim() -> Simulation:
    return brazo.Simulation("cooperative")


def go(sim: Simulation, name: str, by, seconds: float = 0.4) -> np.ndarray:
    robot = sim.robots[name]
    start = robot.reference.q
    robot.move(quintic(start, start + by, seconds))
    return start + by


def test_a_robot_arrives_where_its_motion_ends(sim):
    goal = go(sim, "scara1", [0.3, -0.2, 0.02, 0.1, 0.2])
    rec = sim.run()
    assert sim.time == pytest.approx(0.4) and len(rec) == 400
    sim.step(400)
    assert np.abs(sim.robots["scara1"].q - goal).max() < 1e-6
    assert not sim.moving and sim.robots["scara1"].remaining == 0.0


def test_a_row_is_the_moment_its_step_starts_from(sim):
    """q, reference and torque of a row satisfy the robot's own equations."""
    go(sim, "scara1", [0.3, -0.2, 0.02, 0.1, 0.2])
    rec = sim.run()
    arm = sim.robots["scara1"].arm
    q, qd, qdd, tau = (rec.matrix(f"scara1.{s}") for s in ("q", "qd", "qdd", "torque"))
    assert np.abs(arm.inverse_dynamics(q, qd, qdd) - tau).max() < 1e-9
    assert rec["t"] == pytest.approx(np.arange(400) * 1e-3, abs=1e-12)
    assert rec.matrix("scara1.error") == pytest.approx(rec.matrix("scara1.q_ref") - q, abs=0)
    tool = sim.robots["scara1"].base @ arm.fk(q[7])
    assert [rec[f"scara1.tool.{a}"][7] for a in "xyz"] == pytest.approx(tool[:3, 3], abs=1e-15)


def test_a_motion_begins_where_the_reference_is(sim):
    robot = sim.robots["scara1"]
    far = quintic(robot.reference.q + 0.1, robot.reference.q, 1.0)
    with pytest.raises(brazo.BrazoError, match=r"begins with shoulder at 0\.1000.*reference\.q"):
        robot.move(far)
    robot.move(far, jump=True)
    assert robot.reference.q[0] == pytest.approx(0.1)


def test_stopping_keeps_the_limits_and_holding_stays(sim):
    robot = sim.robots["scara2"]
    limits = limits_of(robot.arm)
    go(sim, "scara2", [0.5, 0.5, 0.5, 0.1, 0.5], 0.8)
    sim.step(400)
    robot.stop()
    rec = sim.run()
    change = np.diff(rec.matrix("scara2.qd_ref"), axis=0) / sim.dt
    assert (np.abs(change) <= limits.acceleration * 1.001).all()
    assert not robot.reference.qd.any()
    place = robot.reference.q
    robot.hold()
    sim.step(10)
    assert (robot.reference.q == place).all()


def test_a_live_source_is_asked_every_step(sim):
    robot = sim.robots["scara2"]
    source = GoTo(limits_of(robot.arm), robot.reference.q)
    robot.follow(source)
    goal = robot.q + [0.1, 0, 0, 0.02, 0]
    source.target(goal)
    sim.run(until=2.0)
    assert not robot.moving and np.abs(robot.q - goal).max() < 1e-5


def test_a_law_changes_in_the_middle_of_a_motion(sim):
    goal = go(sim, "scara1", [0.3, -0.2, 0.02, 0.1, 0.2])
    sim.step(200)
    sim.robots["scara1"].controller = PDGravity()
    sim.step(600)
    assert np.abs(sim.robots["scara1"].q - goal).max() < 1e-3
    assert [e.kind for e in sim.events] == ["control"]


def test_tasks_act_before_the_laws_and_leave_when_done(sim):
    class Task:
        ticks = 0

        def tick(self, sim):
            self.ticks += 1
            return self.ticks < 5

    task = Task()
    sim.add_task(task)
    rec = sim.run()
    assert task.ticks == 5 and sim.tasks == () and len(rec) == 5


def test_a_task_in_the_background_holds_no_run_up_and_outlives_a_reset(sim):
    class Looks:
        background = True
        ticks = 0

        def tick(self, sim):
            self.ticks += 1

    looks = Looks()
    sim.add_task(looks)
    assert len(sim.run()) == 0
    sim.step(3)
    sim.reset()
    sim.step(2)
    assert looks.ticks == 5 and sim.tasks == (looks,)


def test_a_streamed_recording_equals_the_one_in_memory(tmp_path):
    rows = []
    for record in (None, tmp_path / "run.parquet"):
        sim = brazo.Simulation("cooperative")
        go(sim, "scara1", [0.3, -0.2, 0.02, 0.1, 0.2], 1.2)
        rows.append(sim.run(record=record))
    kept, streamed = rows[0], Recording.open(tmp_path / "run.parquet")
    assert list(kept.columns) == list(streamed.columns)
    for name in kept.columns:
        assert (kept[name] == streamed[name]).all(), name
        assert kept.unit(name) == streamed.unit(name)


def test_a_run_from_a_saved_state_repeats_to_the_bit():
    sim = holding_sim()
    approach(sim)
    sim.step(50)
    state = sim.save()
    first = sim.run(until=state.time + 0.3)
    sim.restore(state)
    second = sim.run(until=state.time + 0.3)
    for name in first.columns:
        assert (first[name] == second[name]).all(), name
    assert first.events == second.events


def test_reset_repeats_the_run_to_the_bit(sim):
    runs = []
    for _ in range(2):
        go(sim, "scara1", [0.3, -0.2, 0.02, 0.1, 0.2])
        runs.append(sim.run())
        sim.reset()
    for name in runs[0].columns:
        assert (runs[0][name] == runs[1][name]).all(), name


def test_gripping_is_an_event_and_carrying_takes_the_droop_away():
    sim = holding_sim()
    robot = sim.robots["arm"]
    sim.step(400)
    sag = np.abs(robot.q - robot.reference.q).max()
    robot.carry("bar")
    sim.step(600)
    assert np.abs(robot.q - robot.reference.q).max() < 0.02 * sag
    assert ("grasped", "arm holds bar") in [(e.kind, e.text) for e in sim.events]


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda s: s.robot("scara9"), "no robot named 'scara9'.*scara1, scara2"),
        (lambda s: s.step(-1), "time only goes on"),
        (lambda s: s.add_task(3), "a task has a method tick"),
        (lambda s: s.robots["scara1"].use("Magic"), "no law named 'Magic'.*ComputedTorque"),
        (lambda s: s.robots["scara1"].carry("bar 9"), "no free body named 'bar 9'"),
        (lambda s: s.robots["scara1"].follow(3), "cannot be followed"),
        (lambda s: s.stop_recording(), "no recording is under way"),
        (lambda s: s.run(until=np.inf), "wanted a finite time"),
    ],
)
def test_mistakes_are_told(sim, call, match):
    with pytest.raises(brazo.BrazoError, match=match):
        call(sim)
