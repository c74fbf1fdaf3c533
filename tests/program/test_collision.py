"""Looking ahead: nothing is missed, and what may be close may be close."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from brazo.model.transforms import rot_x, translate
from brazo.program.collision import Checker, MovingRobot
from brazo.simulation import Simulation
from brazo.world import parse_cell

ARM = "robots: [{name: arm, robot: scara2, start: [60deg, 0, 0, 5cm, 0]}]\n"
DOWN = rot_x(np.pi)


def sim_of(text: str) -> Simulation:
    return Simulation(parse_cell(f"name: t\nfloor: none\n{text}", Path("t.yaml")))


def mover(sim: Simulation, name: str = "arm", **held) -> MovingRobot:
    robot = sim.robots[name]
    return MovingRobot(robot.world, robot.arm, held)


def true_distance(sim: Simulation, q: np.ndarray, other: str) -> float:
    """Computed by the world, with the robot at that configuration."""
    sim.robots["arm"].world.set_state(q)
    found = sim.world.distance("arm", other, 1.0)
    return 1.0 if found is None else found.value


@pytest.mark.parametrize("thickness", [0.001, 0.05])
def test_thin_plate_is_not_missed(thickness):
    plate = f"fixtures: [{{name: plate, box: [{thickness}, 0.2, 0.6], xyz: [0.5, 0, 0.3]}}]"
    sim = sim_of(ARM + plate)
    checker = Checker(sim.world, mover(sim))
    q0, q1 = np.array([1.0, 0, 0, 0.05, 0]), np.array([-1.0, 0, 0, 0.05, 0])
    hit = checker.edge(q0, q1)
    assert hit is not None and hit.second == "plate" and hit.first.startswith("arm/")
    # There, and not before, the robot is closer than the clearance.
    assert true_distance(sim, hit.q, "plate") == pytest.approx(hit.distance, abs=1e-9)
    share = (hit.q - q0)[0] / (q1 - q0)[0]
    for before in np.linspace(0, share, 200)[:-1]:
        assert true_distance(sim, q0 + before * (q1 - q0), "plate") > 0.0


def test_random_edges_agree_with_dense_sampling():
    pillars = ", ".join(
        f"{{name: p{k}, box: [4cm, 4cm, 70cm], xyz: [{x}, {y}, 35cm]}}"
        for k, (x, y) in enumerate([(0.4, 0.2), (0.35, -0.3), (-0.2, 0.4)])
    )
    sim = sim_of(ARM + f"fixtures: [{pillars}]")
    checker = Checker(sim.world, mover(sim))
    Q = sim.robots["arm"].arm.random_q(40, seed=4)
    verdicts = []
    for q0, q1 in pairwise(Q):
        if checker.hit(q0) or checker.hit(q1):
            continue
        hits = [checker.hit(q0 + x * (q1 - q0)) for x in np.linspace(0, 1, 2000)]
        touches = any(hit is not None and hit.distance <= 0.0 for hit in hits)
        found = checker.edge(q0, q1)
        if touches:
            assert found is not None
        if all(hit is None for hit in hits):
            assert found is None
        verdicts.append(found is not None)
    assert 3 < sum(verdicts) < len(verdicts) - 3


def test_held_body_is_part_of_the_arm():
    text = (
        ARM
        + "fixtures: [{name: post, box: [2cm, 2cm, 60cm], xyz: [0.30, 0.76, 0.3]}]\n"
        + "bodies: [{name: bar, box: [50cm, 3cm, 3cm], mass: 0.4, xyz: [0.30, 0.52, 0.25]}]"
    )
    sim = sim_of(text)
    arm = sim.robots["arm"]
    along = np.linalg.inv(arm.tool()) @ translate(*arm.tool()[:3, 3])
    q0 = arm.q
    q1 = q0 + np.array([0, 0, 0, 0, np.pi / 2])
    assert Checker(sim.world, mover(sim)).edge(q0, q1) is not None  # the bar lies in the way
    sim.world.place("bar", translate(5, 5, 1))
    assert Checker(sim.world, mover(sim)).edge(q0, q1) is None
    hit = Checker(sim.world, mover(sim, bar=along)).edge(q0, q1)
    assert hit is not None and (hit.first, hit.second) == ("bar", "post")


def test_pairs_close_at_the_start_may_not_overlap():
    arm = "robots: [{name: arm, robot: scara2, start: [60deg, 0, 0, 5cm, 0]}]\n"
    table = "fixtures: [{name: table, box: [0.2, 0.2, 0.1], xyz: [0.3, 0.52, %r]}]"
    sim = sim_of(arm + table % -0.5)
    height = sim.world.distance("arm/finger left", "table", 2.0).value - 0.001
    sim = sim_of(arm + table % (height - 0.5))  # now 1 mm below the fingers' tips
    assert sim.world.distance("arm", "table", 1.0).value == pytest.approx(0.001, abs=1e-9)
    q = sim.robots["arm"].q
    down, along, up = (q + np.eye(5)[i] * by for i, by in ((3, 0.01), (0, 0.1), (3, -0.02)))
    assert Checker(sim.world, mover(sim)).edge(q, up) is not None  # 1 mm is too close
    for q1, free in ((up, True), (along, True), (down, False)):
        checker = Checker(sim.world, mover(sim))
        checker.allow_start(q)
        assert (checker.edge(q, q1) is None) is free
    checker = Checker(sim.world, mover(sim))
    checker.allow_end(q)
    assert checker.edge(up, q) is None
    assert checker.edge(up, down) is not None


def test_other_robots_are_checked_at_their_future_poses():
    two = (
        "robots:\n"
        "  - {name: arm, robot: scara2, start: [90deg, 0, 0, 5cm, 0]}\n"
        "  - {name: other, robot: scara2, base: {xyz: [0.9, 0, 0]}, start: [90deg, 0, 0, 5cm, 0]}\n"
    )
    sim = sim_of(two)
    t = np.linspace(0, 1, 400)
    sweep = np.zeros((400, 5)) + [np.pi / 2, 0, 0, 0.05, 0]
    sweep[:, 0] -= t * np.pi / 2  # to the right, where the other one will be
    stays = np.tile(sim.robots["other"].q, (400, 1))
    comes = stays.copy()
    comes[:, 0] += t * np.pi / 2
    checker = Checker(sim.world, mover(sim), [mover(sim, "other")])
    assert checker.motion(t, sweep) is None
    assert checker.motion(t, sweep, {"other": stays}) is None
    hit = checker.motion(t, sweep, {"other": comes})
    assert hit is not None and hit.second.startswith("other/")
    assert 0.2 < hit.t < 0.9
    assert f"at t = {hit.t:.2f} s" in str(hit)
