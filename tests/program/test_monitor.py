"""The monitor of an execution against the same formulas in matrix form."""

from __future__ import annotations

import numpy as np
import pytest

from brazo.kinematics.orientation import matrix_from_rotvec
from brazo.program.monitor import SLIP, SLIP_TURN, Monitor
from brazo.program.passage import Passage
from brazo.simulation import Simulation


@pytest.fixture(scope="module")
def sim() -> Simulation:
    return Simulation("cooperative")


def test_shift_and_turn_of_a_body_in_the_hand(sim):
    rng = np.random.default_rng(2)
    monitor = Monitor(sim, (), lambda: True)
    body, data = sim.cell.bodies[0].name, sim.world.mj_data
    hand, thing = sim.world.robots["scara1"].tip_id, int(sim.world.mj_model.body(body).id)
    slipped = kept = 0
    for _ in range(500):
        T = np.hstack([matrix_from_rotvec(rng.normal(size=3)), rng.normal(size=(3, 1))])
        R, p = matrix_from_rotvec(rng.normal(size=3)), rng.normal(size=3)
        shift, turn = rng.normal(size=3), rng.normal(size=3)
        shift *= SLIP * rng.choice([0.1, 0.99, 1.01, 3.0]) / np.linalg.norm(shift)
        turn *= SLIP_TURN * rng.choice([0.1, 0.99, 1.01, 3.0]) / np.linalg.norm(turn)
        data.xmat[hand], data.xpos[hand] = R.ravel(), p
        data.xmat[thing] = (R @ matrix_from_rotvec(turn) @ T[:, :3]).ravel()
        data.xpos[thing] = R @ (T[:, 3] + shift) + p
        found = monitor._moved("scara1", body, T)
        assert found == pytest.approx((np.linalg.norm(shift), np.linalg.norm(turn)), abs=1e-9)
        how = monitor._dropped("scara1", body, T, 0.0)
        beyond = np.linalg.norm(shift) > SLIP or np.linalg.norm(turn) > SLIP_TURN
        assert (how is not None) == beyond
        slipped, kept = slipped + beyond, kept + (not beyond)
    assert slipped > 100 and kept > 50
    monitor.close()
    sim.reset()


def test_a_body_is_inside_a_chute_where_its_own_frame_says_so(sim):
    rng = np.random.default_rng(1)
    chute, body, data = sim.cell.chutes[0], sim.cell.bodies[0], sim.world.mj_data
    at = int(sim.world.mj_model.body(body.name).id)
    inside = outside = 0
    for _ in range(2000):
        passage = Passage(sim.world, body, chute)
        local = rng.uniform(-0.7, 1.2, 3) * [chute.length, *chute.inner]
        data.xpos[at] = chute.pose[:3, :3] @ local + chute.pose[:3, 3]
        passage.update(data)
        x, y, z = local
        width, height = chute.inner
        within = 0 <= x <= chute.length and abs(y) <= width / 2 and abs(z) <= height / 2
        assert passage.inside == within
        inside, outside = inside + within, outside + (not within)
    assert inside > 100 and outside > 100
    sim.reset()
