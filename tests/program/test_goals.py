"""Goals: through a chute, at a place, on something, in no gripper; reached, missed, misspelt."""

from __future__ import annotations

import pytest

from brazo.errors import BrazoError
from brazo.program import Goal, parse_program
from brazo.program.summary import summarise
from tests.program.scenes import ARM, BAR, program_of, run, sim_of

SHELF = "fixtures: [{name: shelf, box: [1, 1, 10cm], xyz: [2, 0, 5cm]}]\n"
BOX = "bodies: [{name: box, box: [4cm, 4cm, 4cm], mass: 0.3, xyz: [2, 0, 15cm]}]\n"
PICK = """
arm:
  - move_to: {xyz: [0, 0, 8cm], rpy: [180deg, 0, 0], in: bar, gripper_symmetric: on, plan: free}
  - line: {xyz: [0, 0, 6mm], in: bar}
  - grip: {body: bar, force: 60N}
  - line: {by: [0, 0, 5cm]}
"""


def goals(text: str, steps: str = "arm: [{wait: 1s}]"):
    return program_of(steps, f"goals: {text}\n")


def test_a_body_that_has_fallen_on_a_shelf_rests_on_it_at_its_place():
    """Dropped from 3 cm above: the goal is reached only when it is at rest."""
    program = goals("[{body: box, on: shelf}, {body: box, at: [2, 0, 12cm]},"
                    " {body: box, free: on}]")  # fmt: skip
    done = run(sim_of(ARM + SHELF + BOX), program)
    assert done.succeeded
    on, at, free = done.reached.values()
    assert on is not None and at is not None
    assert free == 0.0 and 0.078 < on < 1.0 and 0.078 < at < 1.0  # √(2 · 3 cm / g) = 78 ms
    rows = summarise(done).rows()
    assert rows["box on shelf"] == f"yes, since {on:.2f} s"
    assert rows["box at rest within 5 mm of (2, 0, 0.12) m"].startswith("yes")


def test_missed_goals_report_the_position_of_the_body():
    program = goals("[{body: box, at: [2, 0, 30cm], within: 1cm}]")
    done = run(sim_of(ARM + SHELF + BOX), program)
    assert done.failed
    wanted = "not met: box at rest within 10 mm of (2, 0, 0.3) m; box is at (2.000, 0.000, 0.120) m"
    assert wanted in str(done.failure)
    assert summarise(done).plain()["goals"] == [
        {"body": "box", "at": (2, 0, 0.3), "within": 0.01, "time": None}
    ]


@pytest.mark.parametrize("goal", ["free: on", "on: floor"])
def test_a_body_in_a_gripper_is_neither_free_nor_on_anything(goal):
    held = run(sim_of(BAR), goals(f"[{{body: bar, {goal}}}]", PICK))
    assert held.failed and "held by arm" in str(held.failure)
    laid = PICK + "  - line: {by: [0, 0, -4.5cm]}\n  - release:\n"
    put = run(sim_of(BAR), goals(f"[{{body: bar, {goal}}}]", laid))
    assert put.succeeded, put.failure


@pytest.mark.parametrize("edit", [False, True])
def test_a_body_that_falls_through_a_chute_after_an_edit(edit):
    chute = (
        "bodies: [{name: ball, sphere: 2cm, mass: 0.1, xyz: [2, 0, 1.2]}]\n"
        "chute: [{name: pipe, inner: [10cm, 10cm], length: 15cm, angle: 90deg, xyz: [2, 0, 1.1],"
        " yaw: 0}]\n"
    )
    sim = sim_of(ARM + chute)
    execution = goals("[{body: ball, through: pipe}]").start(sim)
    for steps in (100, 1, 1):
        sim.step(steps)
    if edit:
        sim.edit("arm", width=1.1)
    sim.step(300)
    (reached,) = execution.reached.values()
    assert reached is not None  # √(2 · 27 cm / g) = 235 ms, and up to 10 ms to the next update
    assert 0.2346 < reached < 0.2456


def test_verdict_reports_a_program_without_goals():
    done = run(sim_of(ARM), program_of("arm: [{wait: 10ms}]"))
    assert done.succeeded and summarise(done).verdict.endswith(", no goals")


@pytest.mark.parametrize(
    ("goal", "wanted"),
    [
        ("{body: box}", "a goal must be {body: NAME, through: CHUTE}"),
        ("{body: box, on: shelf, free: on}", "a goal must be {body"),
        ("{on: shelf}", "field 'body' is missing"),
        ("{body: box, on: shelf, within: 1mm}", "is allowed only with 'at'"),
        ("{body: bux, on: shelf}", "no free body 'bux'; did you mean 'box'?"),
        ("{body: box, on: shelv}", "no body or fixture 'shelv'; did you mean 'shelf'?"),
        ("{body: box, on: box}", "no body or fixture 'box'; "),
        ("{body: box, through: pipe}", "no chute 'pipe'; "),
    ],
)
def test_bad_goals_are_refused_with_their_line(goal, wanted):
    with pytest.raises(BrazoError) as error:
        goals(f"[{goal}]").start(sim_of(ARM + SHELF + BOX))
    assert str(error.value).startswith("task.yaml:2: goals") and wanted in str(error.value)


def test_goals_round_trip_as_text():
    program = goals("[{body: a, through: c}, {body: a, at: [1, 2cm, 0]}, {body: a, on: b},"
                    " {body: a, free: on}]")  # fmt: skip
    assert parse_program(program.to_yaml()).goals == program.goals
    assert program.goals[1] == Goal("a", at=(1.0, 0.02, 0.0))
