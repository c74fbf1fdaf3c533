"""Stepping through a program, and steps as sentences."""

from __future__ import annotations

import time

import numpy as np
import pytest

import brazo
from brazo.lab.app.program_run import GoOn, Rests
from brazo.lab.panels.program.step_text import about, verb
from brazo.program import load_program, parse_program
from brazo.program.validate import flattened

TEXT = """
name: two arms
robots:
  scara1:
    - move_joints: {to: [10deg, -50deg, 3cm, 0, 0], plan: unchecked}
    - move_joints: {to: start, plan: unchecked}
    - wait: 0.2s
  scara2:
    - wait: 0.3s
    - note: half way
    - wait: 1s
"""


@pytest.fixture
def sim():
    return brazo.Simulation("cooperative")


def step(sim, execution) -> dict[str, int]:
    problems = []
    sim.tasks.add(GoOn(execution, True, problems.append))
    for _ in range(4000):
        sim.step()
        if execution.done or (execution.paused and not sim.moving):
            break
    assert problems == []
    return {name: state.index for name, state in execution.states.items()}


def test_one_step_at_a_time_to_the_end(sim):
    execution = parse_program(TEXT).start(sim)
    rests = Rests(execution)
    sim.tasks.add(rests)
    seen = [step(sim, execution)]
    while not execution.done and len(seen) < 20:
        seen.append(step(sim, execution))
        assert not rests.away(sim)  # a robot that was moving stops farther along its path
    assert execution.succeeded
    total = [sum(one.values()) for one in seen]
    assert total == [1, 2, 3, 4, 5, 6]
    assert seen[:2] == [{"scara1": 0, "scara2": 1}, {"scara1": 0, "scara2": 2}]  # the note, too
    start = next(one.start for one in sim.cell.robots if one.name == "scara1")
    assert np.abs(sim.robots["scara1"].q - start).max() < 1e-3


def test_single_stepping_stops_at_steps_without_duration(sim):
    text = """
name: meeting
robots:
  scara1: [wait: 20ms, sync: here, note: met]
  scara2: [wait: 40ms, sync: here, set_signal: go, note: gone]
"""
    execution = parse_program(text).start(sim)
    execution.step()  # from the beginning
    sim.step(30)
    assert execution.paused
    seen = [{name: state.index for name, state in execution.states.items()}]
    while not execution.done and len(seen) < 20:
        seen.append(step(sim, execution))
    assert execution.succeeded
    # The waiting robot continues when the other arrives.
    assert [tuple(one.values()) for one in seen] == [(1, 0), (1, 1), (1, 2), (2, 3), (3, 4)]


def test_program_stopped_by_the_user_is_neither_done_nor_failed(sim):
    execution = parse_program(TEXT).start(sim)
    sim.step(100)
    execution.stop()
    sim.step(400)
    assert execution.done and execution.ended
    assert not execution.failed and not execution.succeeded and not sim.moving
    assert [(one.kind, one.text) for one in sim.events][-1] == (
        "program",
        "two arms stopped by user",
    )


def test_resume_waits_until_all_robots_are_at_rest(sim):
    execution = parse_program(TEXT).start(sim)
    sim.step(150)
    execution.pause()
    sim.tasks.add(GoOn(execution, False, pytest.fail))
    sim.step(20)
    assert execution.paused and sim.robots["scara1"].moving
    sim.step(1000)
    assert not execution.paused
    sim.step(6000)
    assert execution.succeeded


def test_stop_cancels_a_pending_resume(sim):
    execution = parse_program(TEXT).start(sim)
    sim.step(150)
    execution.pause()
    task = GoOn(execution, False, pytest.fail)
    sim.tasks.add(task)
    task.pause()
    sim.step(1000)
    assert execution.paused and task not in sim.tasks


def test_a_robot_that_was_moved_away_is_reported(sim):
    execution = parse_program(TEXT).start(sim)
    sim.step(150)
    execution.pause()
    sim.step(1000)
    robot = sim.robots["scara1"]
    robot.world.set_state(robot.q + [0.3, 0.0, 0.0, 0.0, 0.0])
    robot.control.restart()
    problems = []
    sim.tasks.add(GoOn(execution, False, problems.append))
    sim.step(5)
    assert len(problems) == 1 and "shoulder" in problems[0]


def test_jogged_robots_return_before_the_program_resumes(running, line):
    with running("cooperative") as lab, line(lab) as page:
        lab.sim.player.speed = 0.05  # until it is watched
        page.send(["program/text", TEXT], ["program/run"])
        execution = lab.panels["program"].control.execution

        class PausesOnTheWayBack:
            def tick(self, sim):
                state, robot = execution.states["scara1"], sim.robots["scara1"]
                if state.index == 1 and np.abs(robot.reference.qd).max() > 0.1:
                    execution.pause()
                    return False
                return True

        lab.sim.tasks.add(PausesOnTheWayBack())
        lab.sim.player.speed = 4.0
        until(lambda: execution.paused and not lab.sim.moving)
        robots = lab.sim.robots
        stopped = {name: robot.reference.q.copy() for name, robot in robots.items()}
        by = {"scara1": [0.2, -0.3, 0.01, 0.4, 0.1], "scara2": [-0.2, 0.1, 0.1, 0.02, 0.3]}
        for name, robot in robots.items():
            lab.do(lambda r=robot, n=name: lab.mover.go_to(r, stopped[n] + by[n]))
        until(lambda: not lab.sim.moving)
        assert all(np.abs(robots[n].reference.q - stopped[n]).max() > 0.1 for n in robots)
        began = []
        lab.sim.on_event(
            lambda event: (
                event.text == "resumed"
                and began.append({n: r.reference.q.copy() for n, r in robots.items()})
            )
        )
        page.send(["program/go-on"])
        page.until_said("first move back to where")
        until(lambda: execution.done)
        assert execution.succeeded, execution.failure
        # It continues where it had stopped, within the tolerance for starting a motion.
        assert all(np.abs(began[0][n] - stopped[n]).max() < 1e-9 for n in robots)


def until(condition, seconds=60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_every_step_of_the_shipped_programs_has_a_description():
    for robot, steps in load_program("cooperative").steps.items():
        for one in flattened(steps):
            assert verb(one) and isinstance(about(one), str), robot
    lines = [
        f"{verb(one)} {about(one)}"
        for one in flattened(load_program("cooperative").steps["scara2"])
    ]
    assert lines[1] == "MoveJ to (−100, 0, 85) mm in bar 1"
    assert lines[4] == "grip bar 1, 120 N"
    assert lines[5] == "MoveL by (0, 0, 170) mm"
    assert lines[7] == "sync in the air"


@pytest.mark.parametrize(
    ("step", "says"),
    [
        ("move_joints: {to: [0, 1, 2]}", "MoveJ to joint target"),
        ("move_to: {rpy: [0, 0, 90deg], in: bar 1}", "MoveJ rotated (0, 0, 90)° in bar 1"),
        ("path: {circle: {centre: [0, 0, 0], radius: 5cm}, in: base}", "path circle in base"),
        ("release: {opening: 3cm}", "release to 30 mm"),
        ("wait_until: {held: bar 1, by: scara2}", "wait until bar 1 is held by scara2"),
        ("wait_until: {touching: [scara1, bar 1]}", "wait until scara1 touches bar 1"),
        ("wait_until: {at: 3s}", "wait until 3 s"),
        ("set_signal: {name: go, on: off}", "signal go off"),
        ("set_controller: {controller: PID}", "controller PID"),
    ],
)
def test_sentences(step, says):
    (one,) = parse_program(f"name: p\nrobots:\n  a:\n    - {step}\n").steps["a"]
    assert f"{verb(one)} {about(one)}" == says
