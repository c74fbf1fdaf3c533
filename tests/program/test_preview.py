"""Preview of a program against its execution; breakpoints, and starts in the middle."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.program import parse_program
from brazo.program.execution import first_steps
from brazo.program.preview import Preview
from brazo.program.validate import validate
from tests.program.scenes import BAR, program_of, sim_of

MOVES = """
name: moves
robots:
  puma560:
    - set_controller: ideal
    - move_to: {xyz: [55cm, -10cm, 60cm], rpy: [0, 90deg, 0], speed: 0.8}
    - line: {by: [0, 5cm, -8cm]}
    - wait: 0.25s
    - path: {arc: {points: [[50cm, -5cm, 55cm], [55cm, -10cm, 60cm], [60cm, -10cm, 55cm]]}}
    - move_joints: start
    - line: {by: [0, 0, -5cm], in: tool}
"""


@pytest.fixture(scope="module")
def cell():
    from brazo.lab.app.opening import as_cell

    return as_cell("robot:puma560")


def test_targets_and_times_are_those_of_the_execution(cell):
    sim = brazo.Simulation(cell)
    program = parse_program(MOVES)
    flat = validate(program, sim)
    quick, timed = (Preview(flat, sim, program.speed, timed=on) for on in (False, True))
    run = program.start(sim)
    ends, index = [], 0
    while not run.done:
        before = sim.robots["puma560"].reference.q.copy()  # the next step may start at once
        sim.step()
        state = run.states["puma560"]
        ends += [(sim.time, before)] * (state.index - index)
        index = state.index
    assert run.succeeded, run.failure
    steps = timed.steps["puma560"]
    assert len(ends) == len(steps) == len(quick.steps["puma560"]) == 7
    for (time, q), one, fast in zip(ends, steps, quick.steps["puma560"], strict=True):
        assert not one.error
        assert np.abs(one.q - q).max() < 1e-9
        assert np.abs(fast.q - q).max() < 1e-6
        assert one.end == pytest.approx(time, abs=0.06)  # the tool arrives a few steps later
    middle = 0.5 * (steps[1].start + steps[1].end)
    assert np.abs(timed.at(middle)["puma560"] - steps[1].at(middle)).max() == 0.0
    assert timed.step_at("puma560", middle) == 1
    assert np.abs(timed.at(1e9)["puma560"] - ends[-1][1]).max() < 1e-9


def test_a_target_out_of_reach_is_reported_and_ends_the_preview(cell):
    sim = brazo.Simulation(cell)
    text = "name: far\nrobots:\n  puma560:\n    - line: {by: [9m, 0, 0]}\n    - wait: 1s\n"
    (one,) = Preview(validate(parse_program(text), sim), sim, timed=False).steps["puma560"]
    assert "reach" in one.error


def test_a_body_stays_in_the_gripper_after_a_step_that_fails():
    sim = sim_of(BAR)
    flat = validate(program_of("arm: [{grip: {body: bar}}, {line: {by: [9m, 0, 0]}}]"), sim)
    preview = Preview(flat, sim)
    gripped, failed = preview.steps["arm"]
    assert failed.error and failed.held == "bar" and failed.opening == gripped.opening
    assert preview.released(preview.duration) == set()


def test_a_body_in_the_gripper_and_syncs_in_the_shipped_program():
    sim = brazo.Simulation(brazo.load_cell("cooperative"))
    program = brazo.program.load_program("cooperative")
    flat = validate(program, sim)
    preview = Preview(flat, sim, program.speed, timed=False)
    for name, steps in preview.steps.items():
        assert len(steps) == len(flat[name]) and not steps[-1].error


WAITS = """
name: waits
robots:
  scara1:
    - wait: 0.1s
    - repeat:
        times: 2
        do:
          - note: inside
          - wait: 0.1s
    - sync: a
    - wait: 0.1s
    - sync: b
  scara2:
    - wait: 0.05s
    - sync: a
    - note: between
    - sync: b
    - note: last
"""


@pytest.fixture
def sim():
    return brazo.Simulation(brazo.load_cell("cooperative"))


def test_breakpoints_pause_before_their_steps(sim):
    run = parse_program(WAITS).start(sim)
    run.breakpoints["scara1"] |= {1, 3}  # the note, in each round
    stops = []
    while not run.done:
        sim.step()
        if run.paused:
            stops.append((run.states["scara1"].index, round(sim.time, 2)))
            run.resume()
    assert run.succeeded
    assert [index for index, _ in stops] == [1, 3]
    assert stops[0][1] == pytest.approx(0.1, abs=0.011)


def test_a_start_in_the_middle_skips_the_same_syncs_of_all_robots(sim):
    flat = validate(parse_program(WAITS), sim)
    assert first_steps(flat, {}) == {"scara1": 0, "scara2": 0}
    assert first_steps(flat, {"scara1": 5}) == {"scara1": 5, "scara2": 0}
    assert first_steps(flat, {"scara1": 6}) == {"scara1": 6, "scara2": 2}
    assert first_steps(flat, {"scara2": 4}) == {"scara1": 8, "scara2": 4}
    with pytest.raises(BrazoError, match="'scara1' cannot start at step 100"):
        first_steps(flat, {"scara1": 99})
    run = parse_program(WAITS).start(sim, first={"scara1": 6})
    sim.run(run)
    assert run.succeeded and sim.time < 0.2


@pytest.mark.parametrize(
    ("step", "wanted"),
    [
        ("move_joints: nowhere", "no point or pose 'nowhere'; there are: start, "),
        ("move_joints: [0, 0]", "2 joint values; expected 6"),
        ("line: {to: nowhere}", "no point 'nowhere'"),
        ("line: {xyz: [0, 0, 0], in: nothing}", "nothing"),
        ("move_to: {xyz: [0, 0, 0], of: nothing}", "nothing"),
        ("grip: {body: nothing}", "no body 'nothing'; there are: none"),
    ],
)
def test_names_that_do_not_exist_are_errors_of_their_steps(cell, step, wanted):
    program = parse_program(f"name: bad\nrobots:\n  puma560:\n    - wait: 1s\n    - {step}\n")
    preview = Preview({"puma560": program.steps["puma560"]}, brazo.Simulation(cell), timed=False)
    first, second = preview.steps["puma560"]
    assert not first.error and wanted in second.error
