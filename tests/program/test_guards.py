"""Guards are calm only where a look would change nothing; the looks themselves are the oracles."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from brazo.kinematics.orientation import matrix_from_rotvec
from brazo.program.guards import hand_limits, in_hand, opening
from brazo.program.monitor import SLIP, SLIP_TURN, Monitor
from brazo.program.passage import Passage
from brazo.simulation import Simulation
from brazo.simulation.idle import Guard


@pytest.fixture(scope="module")
def sim() -> Simulation:
    return Simulation("cooperative")


@pytest.mark.parametrize("inside", [False, True])
def test_a_calm_guard_of_a_passage_means_that_nothing_changes(sim, inside):
    rng = np.random.default_rng(1)
    chute, body = sim.cell.chutes[0], sim.cell.bodies[0]
    data = SimpleNamespace(xpos=sim.world.mj_data.xpos.copy(), xmat=sim.world.mj_data.xmat.copy())
    data.time = 1.0
    at = int(sim.world.mj_model.body(body.name).id)
    passage = Passage(sim.world, body, chute)
    passage.inside = inside
    guard = passage.guard(data)
    calm = 0
    for _ in range(2000):
        local = rng.uniform(-1.2, 1.2, 3) * [chute.length, *chute.inner]
        if rng.random() < 0.3:  # on a border, give or take a rounding
            edges = [[0.0, chute.length], [-0.5, 0.5], [-0.5, 0.5]]
            axis = rng.integers(3)
            scale = [1.0, *chute.inner][axis]
            local[axis] = rng.choice(edges[axis]) * scale + rng.choice([-1e-16, 0.0, 1e-16])
        data.xpos[at] = chute.pose[:3, :3] @ local + chute.pose[:3, 3]
        passage.inside, passage.time = inside, None
        before = guard.calm
        through = passage.update(data)
        if before:
            calm += 1
            assert not through and passage.inside == inside
    assert calm > 100


def test_a_calm_guard_of_a_hand_means_that_nothing_slipped(sim):
    rng = np.random.default_rng(2)
    hand = matrix_from_rotvec(rng.normal(size=3)), rng.normal(size=3)
    T = np.hstack([matrix_from_rotvec(rng.normal(size=3)), rng.normal(size=(3, 1))])
    watch = SimpleNamespace(_lost={}, _in_hand=None)
    p, R = np.array(hand[1]), np.array(hand[0]).ravel()
    p_body, R_body = np.zeros(3), np.zeros(9)
    inputs = (p, R, p_body, R_body, T.ravel(), hand_limits(SLIP, SLIP_TURN))
    guard = Guard(in_hand(), inputs)
    calm = loud = 0
    for _ in range(2000):
        shift = rng.normal(size=3)
        shift *= SLIP * rng.choice([0.1, 0.9, 1.0, 1.0 + 1e-15, 1.2]) / np.linalg.norm(shift)
        turn = rng.normal(size=3)
        turn *= SLIP_TURN * rng.choice([0.1, 0.9, 1.0, 1.0 + 1e-15, 1.2]) / np.linalg.norm(turn)
        here = np.hstack([matrix_from_rotvec(turn) @ T[:, :3], T[:, 3:] + shift[:, None]])
        p_body[:] = hand[0] @ here[:, 3] + hand[1]
        R_body[:] = (hand[0] @ here[:, :3]).ravel()
        watch._in_hand = lambda *_, here=here: here
        slipped = Monitor._dropped(watch, "arm", "bar", T, 0.0)  # type: ignore[arg-type]
        if guard.calm:
            calm += 1
            assert slipped is None
        else:
            loud += 1
    assert calm > 200 and loud > 200


def test_an_opening_is_compared_as_python_compares_it():
    rng = np.random.default_rng(3)
    slides, limit = np.zeros(2), np.zeros(1)
    guard = Guard(opening(), (slides, limit))
    for _ in range(1000):
        slides[:] = rng.uniform(0, 0.05, 2)
        total = float(slides[0]) + float(slides[1])
        limit[0] = rng.choice([total, np.nextafter(total, 0), np.nextafter(total, 1), 0.05])
        assert guard.calm == (total < float(limit[0]))
