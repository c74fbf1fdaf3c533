"""The loop: motions, controllers, tasks, events, recordings and states."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.control import PDGravity
from brazo.recording.recording import Recording
from brazo.simulation import Simulation
from brazo.trajectory import GoTo, Sample, limits_of, quintic
from brazo.world.contacts import ContactReader
from tests.simulation.scenes import approach, both_holding_sim, holding_sim
from tests.world.scenes import cell


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
    assert not sim.moving and sim.robots["scara1"].motion.remaining == 0.0


def test_row_is_the_state_at_the_start_of_its_step(sim):
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
    with pytest.raises(
        brazo.BrazoError, match=r"starts with joint shoulder at 0\.1000.*reference\.q"
    ):
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


def test_live_source_is_called_every_step(sim):
    robot = sim.robots["scara2"]
    source = GoTo(limits_of(robot.arm), robot.reference.q)
    robot.follow(source)
    goal = robot.q + [0.1, 0, 0, 0.02, 0]
    source.target(goal)
    sim.run(until=2.0)
    assert not robot.moving and np.abs(robot.q - goal).max() < 1e-5


def test_controller_changes_during_a_motion(sim):
    goal = go(sim, "scara1", [0.3, -0.2, 0.02, 0.1, 0.2])
    sim.step(200)
    sim.robots["scara1"].controller = PDGravity()
    sim.step(600)
    assert np.abs(sim.robots["scara1"].q - goal).max() < 1e-3
    assert [e.kind for e in sim.events] == ["control"]


def test_tasks_run_before_controllers_and_are_removed_when_done(sim):
    class Task:
        ticks = 0

        def tick(self, sim):
            self.ticks += 1
            return self.ticks < 5

    task = Task()
    sim.tasks.add(task)
    rec = sim.run()
    assert task.ticks == 5 and tuple(sim.tasks) == () and len(rec) == 5


def test_background_task_does_not_block_a_run_and_survives_a_reset(sim):
    class Looks:
        background = True
        ticks = 0

        def tick(self, sim):
            self.ticks += 1

    looks = Looks()
    sim.tasks.add(looks)
    assert len(sim.run()) == 0
    sim.step(3)
    sim.reset()
    sim.step(2)
    assert looks.ticks == 5 and tuple(sim.tasks) == (looks,)


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


def test_ctrl_c_keeps_the_recording_in_memory(sim):
    class Interrupt:
        def tick(self, sim):
            if sim.time >= 0.1:
                raise KeyboardInterrupt

    sim.tasks.add(Interrupt())
    with pytest.raises(KeyboardInterrupt):
        sim.run(until=60)
    assert not sim.recording
    assert sim.recording.ended["t"] == pytest.approx(np.arange(100) * 1e-3, abs=1e-12)


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


def test_a_restored_state_has_the_reference_of_its_time_under_a_live_source(sim):
    robot = sim.robots["scara2"]
    source = GoTo(limits_of(robot.arm), robot.reference.q)
    robot.follow(source)
    source.target(robot.q + [0.1, 0, 0, 0.02, 0])
    sim.step(50)
    state, before = sim.save(), robot.reference.q.copy()
    for _ in range(2):  # a state can be restored any number of times
        sim.step(500)
        assert not np.array_equal(robot.reference.q, before)
        sim.restore(state)
        assert np.array_equal(robot.reference.q, before)


def test_reset_repeats_the_run_to_the_bit(sim):
    runs = []
    for _ in range(2):
        go(sim, "scara1", [0.3, -0.2, 0.02, 0.1, 0.2])
        runs.append(sim.run())
        sim.reset()
    for name in runs[0].columns:
        assert (runs[0][name] == runs[1][name]).all(), name


def test_grasp_is_an_event_and_known_load_removes_the_droop():
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
        (lambda s: s.robots["scara9"], "no robot named 'scara9'.*scara1, scara2"),
        (lambda s: s.step(-1), "the number must be 0 or more"),
        (lambda s: s.tasks.add(3), "a task must have a method tick"),
        (
            lambda s: s.robots["scara1"].control.use("Magic"),
            "no controller named 'Magic'.*ComputedTorque",
        ),
        (lambda s: s.robots["scara1"].carry("bar 9"), "no free body named 'bar 9'"),
        (lambda s: s.robots["scara1"].follow(3), "cannot be followed"),
        (lambda s: s.recording.stop(), "no recording is running"),
        (lambda s: s.run(until=np.inf), "expected a finite time"),
    ],
)
def test_mistakes_are_reported(sim, call, match):
    with pytest.raises(brazo.BrazoError, match=match):
        call(sim)


def test_invalid_live_source_is_named(sim):
    class Broken:
        def next(self):
            return Sample(np.full(5, np.nan), np.zeros(5), np.zeros(5))

    sim.robots["scara1"].follow(Broken())
    with pytest.raises(brazo.BrazoError, match=r"robot 'scara1', t = 0.0010 s: .*not finite"):
        sim.step()

    class Empty:
        def next(self):
            return None

    sim.reset()
    sim.robots["scara1"].follow(Empty())
    with pytest.raises(brazo.BrazoError, match=r"Empty returned NoneType; expected an object"):
        sim.step()

    class OneNumber:
        def next(self):
            return Sample(np.zeros(5), 0.0, np.zeros(1))

    sim.reset()
    sim.robots["scara1"].follow(OneNumber())
    with pytest.raises(brazo.BrazoError, match=r"OneNumber returned .* each of shape \(5,\)"):
        sim.step()


def test_a_step_inside_a_step_is_refused(sim):
    class Greedy:
        def tick(self, sim):
            sim.step()

    sim.tasks.add(Greedy())
    with pytest.raises(brazo.BrazoError, match="inside a step"):
        sim.step()


@pytest.mark.parametrize("action", ["edit", "restore", "reset"])
def test_callbacks_in_the_middle_of_a_step_may_do_everything(action):
    """The grasp event is sent in the middle of a step; rows stay complete for any action."""
    sim = holding_sim()
    approach(sim)
    state = sim.save()
    done = []

    def act(event):
        if event.kind == "grasped" and not done:
            done.append(event)
            if action == "edit":
                sim.edit("arm", width=1.1)
            elif action == "restore":
                sim.restore(state)
            else:
                sim.reset()

    sim.on_event(act)
    sim.recording.start()
    sim.step(100)
    assert done
    if action == "reset":
        assert not sim.recording and sim.time < 0.1 and not sim.moving
        return
    rec = sim.recording.stop()
    if action == "restore":
        # The motion continues where it was: reference and time belong together.
        assert sim.robots["arm"].motion.remaining == pytest.approx(0.3 - sim.time)
    q_ref = rec["arm.q_ref.shoulder"]
    expected = quintic(0.0, 0.2, 0.3)
    reported = np.array([expected.sample(t).q[0] for t in rec["t"]])
    assert q_ref == pytest.approx(reported, abs=1e-12)
    assert (rec["bar.z"] > 0.1).all() and len(rec) >= 98


def test_a_state_saved_before_an_edit_fits_the_edited_robot(sim):
    go(sim, "scara1", [0.3, -0.2, 0.02, 0.1, 0.2])
    sim.step(100)
    state = sim.save()
    sim.edit("scara1", parameters={"L1": 0.33})
    sim.restore(state)
    robot = sim.robots["scara1"]
    assert robot.controller is not None and robot.controller.robot is robot.arm
    rec = sim.run()
    q, qd, qdd, tau = (rec.matrix(f"scara1.{s}") for s in ("q", "qd", "qdd", "torque"))
    assert np.abs(robot.arm.inverse_dynamics(q, qd, qdd) - tau).max() < 1e-9


def test_a_run_that_is_over_at_once_is_empty(sim):
    sim.step(10)
    rec = sim.run(until=sim.time)
    assert len(rec) == 0 and "scara1.q.elbow" in rec


def test_progress_is_reported(sim):
    said = []
    sim.run(until=0.3, progress=lambda fraction, text: said.append((fraction, text)))
    fractions = [fraction for fraction, _ in said]
    assert fractions == sorted(fractions) and said[-1] == (1.0, "0.30 s")


def test_tilted_robot_is_held_against_gravity():
    """On a wall: the controller uses the direction of gravity."""
    text = (
        "floor: none\nrobots: [{name: arm, robot: scara2, start: [0.3, 0.6, 0.4, 0.1, 0],"
        " base: {xyz: [0, 0, 1], rpy: [90deg, 0, 0]}}]\n"
    )
    sim = Simulation(cell(text))
    robot = sim.robots["arm"]
    assert robot.arm.model.gravity == pytest.approx([0.0, -9.81, 0.0], abs=1e-12)
    q = robot.q
    sim.step(300)
    assert np.abs(robot.q - q).max() < 1e-6
    assert np.abs(robot.torque[:3]).min() > 0.5


def test_costs_add_up(sim):
    go(sim, "scara1", [0.3, -0.2, 0.02, 0.1, 0.2])
    sim.run()
    costs = sim.costs
    assert costs.steps == 400
    assert min(costs.engine, costs.control, costs.recording) > 0.0 and costs.other >= 0.0
    # Parts are timed in some of the steps, the whole in all: an interrupted part counts for more.
    assert costs.total >= 1e6 * sim.dt / costs.real_time_factor * (1 - 1e-12)
    assert "times real time" in str(costs)


def test_unchanged_steps_read_no_contacts(monkeypatch):
    """Events and grasps are followed without reading the contacts in full: that would cost most."""
    sim = both_holding_sim()
    reads = []
    read = ContactReader.read_kept
    monkeypatch.setattr(
        ContactReader, "read_kept", lambda *args: (reads.append(args), read(*args))[1]
    )
    sim.run(until=sim.time + 0.3)
    assert len(reads) <= 3


def test_a_motion_beyond_a_limit_is_refused_with_joint_value_and_time():
    sim = Simulation(cell("floor: none\nrobots: [{name: arm, robot: scara1}]\n"))
    robot = sim.robots["arm"]
    start, high = robot.reference.q, robot.arm.limits[0, 1]
    goal = start.copy()
    goal[0] = high + 0.1
    beyond = quintic(start, goal, 1.0)
    joint = robot.arm.joint_names[0]
    first = next(t for t in np.arange(1001) / 1000 if beyond.sample(t).q[0] > high + 1e-6)
    with pytest.raises(brazo.BrazoError) as reported:
        robot.move(beyond)
    text = str(reported.value)
    assert f"'arm': the trajectory exceeds the limit of {joint}" in text
    assert f"{np.degrees(high):.6g} deg" in text and f"{np.degrees(high + 0.1):.6g} deg" in text
    assert f"at {first:.3f} s" in text and "unchecked=True" in text
    assert not robot.moving
    robot.move(beyond, unchecked=True)
    sim.step(1100)
    assert robot.reference.q[0] == pytest.approx(goal[0])
    with pytest.raises(brazo.BrazoError, match="exceeds the limit"):
        robot.move(quintic(goal, goal + [0.1, 0, 0, 0, 0], 0.5))
    robot.move(quintic(goal, start, 0.5))  # from outside, moving back is allowed
