"""Collisions of a preview: those at which a run of the program fails."""

from __future__ import annotations

import pytest

from brazo.program import load_program
from brazo.program.preview import Preview
from brazo.program.preview_collisions import preview_collisions
from brazo.program.validate import validate
from brazo.simulation import Simulation
from brazo.world import load_cell
from tests.program.scenes import ARM, PILLAR, program_of, run, sim_of

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


@pytest.mark.parametrize(("x", "contact"), [(0.64, True), (0.68, False)])
def test_of_an_unchecked_motion_only_contacts_are_reported_as_a_run_fails_at_them(x, contact):
    cell = ARM + PILLAR.replace("0.45", str(x))
    step = "{move_joints: {to: [-60deg, 0, 0, 5cm, 0], plan: %s}}"
    direct, unchecked = (
        program_of(f"arm: [{step % plan}]", "clearance: 20mm\n") for plan in ("direct", "unchecked")
    )
    assert hits_of(sim_of(cell), direct) and run(sim_of(cell), direct).failed
    assert bool(hits_of(sim_of(cell), unchecked)) == contact
    assert run(sim_of(cell), unchecked).failed == contact


def test_the_shipped_program_has_no_collisions():
    program = load_program("cooperative")
    sim = Simulation(load_cell("cooperative"))
    assert hits_of(sim, program) == {}
