"""Collisions of a preview: those at which a run of the program fails."""

from __future__ import annotations

import pytest

from brazo.program import load_program
from brazo.program.preview import Preview
from brazo.program.preview_collisions import preview_collisions
from brazo.program.validate import validate
from brazo.simulation import Simulation
from brazo.world import load_cell
from tests.program.scenes import program_of, run, sim_of

WALL = """
robots: [{name: arm, robot: puma560}]
fixtures: [{name: wall, box: [2cm, 1m, 1m], xyz: [70cm, 0, 50cm]}]
"""


def hits_of(sim, program):
    return preview_collisions(
        Preview(validate(program, sim), sim, program.speed), sim, program.clearance
    )


def test_a_step_that_collides_is_that_at_which_a_run_fails():
    program = program_of("arm: [{move_joints: start}, {wait: 0.1s}, {line: {by: [15cm, 0, 0]}}]")
    (arm,) = hits_of(sim_of(WALL), program).items()
    name, ((index, hit),) = arm[0], arm[1].items()
    assert (name, index, hit.second) == ("arm", 2, "wall")
    execution = run(sim_of(WALL), program)
    assert execution.failed and hit.short.split(" at t")[0] in str(execution.failure)
    time = float(str(execution.failure).partition("t = ")[2].partition(" s")[0])
    assert hit.t == pytest.approx(time, abs=0.011)


def test_the_shipped_program_has_no_collisions():
    program = load_program("cooperative")
    sim = Simulation(load_cell("cooperative"))
    assert hits_of(sim, program) == {}
