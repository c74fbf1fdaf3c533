"""Recorded signals against the values of the world, row by row."""

from __future__ import annotations

import numpy as np
import pytest

from brazo.kinematics.orientation import matrix_from_wxyz
from brazo.simulation import Simulation
from brazo.trajectory import quintic
from tests.simulation.scenes import both_holding_sim, holding_sim
from tests.world.scenes import cell


class Witness:
    """Reads in every step the values of the previous one, whose row is complete."""

    def __init__(self) -> None:
        self.rows: list[dict] = []

    def tick(self, sim: Simulation) -> bool:
        row = {}
        for name, robot in sim.world.robots.items():
            row[f"{name}.external"] = robot.external_torque()
            row[f"{name}.contact"] = robot.contact_wrenches()[:, :3].sum(axis=0)
            row[f"{name}.grasp"] = sim.world.grasp(name)
        self.rows.append(row)
        return True


@pytest.fixture(scope="module")
def held():
    """Both robots lift a bar together, before the eyes of a witness."""
    sim = both_holding_sim()
    for name, by in (("scara1", [0, 0, -0.01, 0, 0]), ("scara2", [0, 0, 0, -0.01, 0])):
        robot = sim.robots[name]
        robot.move(quintic(robot.reference.q, robot.reference.q + by, 0.2))
    witness = Witness()
    sim.tasks.add(witness)
    rec = sim.run(until=sim.time + 0.25)
    sim.step()
    return sim, rec, witness.rows[1:]


@pytest.mark.parametrize("robot", ["scara1", "scara2"])
def test_forces_of_a_row_are_those_of_its_step(held, robot):
    _, rec, rows = held
    assert len(rows) == len(rec)
    for signal in ("external", "contact"):
        reported = np.array([row[f"{robot}.{signal}"] for row in rows])
        assert np.abs(reported).max() > 1.0
        assert rec.matrix(f"{robot}.{signal}") == pytest.approx(reported, abs=1e-10)


@pytest.mark.parametrize("robot", ["scara1", "scara2"])
def test_grasps_of_a_row_are_those_of_its_step(held, robot):
    _, rec, rows = held
    grasps = [row[f"{robot}.grasp"] for row in rows]
    assert {grasp.held for grasp in grasps} == {"bar 1"}
    assert (rec[f"{robot}.grasp.body"] == 1.0).all()
    assert rec[f"{robot}.grasp.force"] == pytest.approx([g.force for g in grasps], abs=1e-10)
    assert rec[f"{robot}.gripper.force"] == pytest.approx(120.0, abs=4.0)


def test_grasp_forces_sum_to_the_weight_and_half_their_difference_is_internal(held):
    """Newton for the bar, with accelerations taken from its recorded positions."""
    sim, rec, rows = held
    g = sim.cell.gravity
    # The grippers touch only the bar, so its contact force is opposite to theirs.
    one, two = (-np.array([row[f"{name}.contact"] for row in rows]) for name in sim.robots)
    p = rec.matrix(["bar 1.x", "bar 1.y", "bar 1.z"])
    acceleration = np.diff(p, n=2, axis=0) / sim.dt**2
    assert (one + two)[1:-1] == pytest.approx(0.4 * (acceleration - g), abs=0.05)
    f = 0.5 * (one - two)
    assert rec.matrix(["internal.scara1-scara2." + x for x in "xyz"]) == pytest.approx(f, abs=1e-9)
    u = rec.matrix(["scara2.tool." + x for x in "xyz"])
    u = u - rec.matrix(["scara1.tool." + x for x in "xyz"])
    along = (f * u).sum(axis=1) / np.linalg.norm(u, axis=1)
    assert rec["internal.scara1-scara2.along"] == pytest.approx(along, abs=1e-9)


def test_pushing_hands_press_the_bar_together(held):
    """Each a millimetre towards the other: the internal force along the bar is positive."""
    sim = both_holding_sim()
    for name, x in (("scara1", -0.001), ("scara2", 0.001)):
        robot = sim.robots[name]
        T = robot.base @ robot.arm.fk(robot.reference.q)
        T[0, 3] += x
        q = robot.arm.ik(np.linalg.inv(robot.base) @ T, q0=robot.reference.q).q
        robot.move(quintic(robot.reference.q, q, 0.2))
    rec = sim.run(until=sim.time + 0.5)
    calm = held[1]["internal.scara1-scara2.along"][0]
    assert rec["internal.scara1-scara2.along"][-1] > calm + 0.2


def test_the_analytic_model_with_the_recorded_forces_moves_as_the_engine(held):
    """M q̈ + C q̇ + G = τ + J^T F, row by row; without J^T F it is far off."""
    sim, rec, _ = held
    for name, robot in sim.robots.items():
        q, qd, qdd = (rec.matrix(f"{name}.{s}") for s in ("q", "qd", "qdd"))
        torque, external = rec.matrix(f"{name}.torque"), rec.matrix(f"{name}.external")
        M = robot.arm.mass_matrix(q)
        bias = robot.arm.inverse_dynamics(q, qd, np.zeros_like(q))
        with_force = np.linalg.solve(M, (torque + external - bias)[..., None])[..., 0]
        without = np.linalg.solve(M, (torque - bias)[..., None])[..., 0]
        assert np.abs(with_force - qdd).max() < 1e-2
        assert np.abs(without - qdd).max() > 1.0


def test_energies_are_those_of_the_analytic_model():
    sim = Simulation("solo-puma560", {"puma560": None}, mode="exact")
    rec = sim.run(until=0.3)
    arm = sim.robots["puma560"].arm
    E = arm.energy(rec.matrix("puma560.q"), rec.matrix("puma560.qd"))
    mine = rec.matrix("puma560.energy")
    assert mine == pytest.approx(E, abs=1e-12)
    # A body is at rest beside it; the engine's total energy differs by a constant.
    total = rec.matrix("energy").sum(axis=1)
    assert total - total[0] == pytest.approx(mine.sum(axis=1) - mine[0].sum(), abs=1e-6)


def test_a_quaternion_never_jumps_and_is_the_tools():
    sim = holding_sim()
    robot = sim.robots["arm"]
    start = robot.reference.q
    robot.move(quintic(start, start + [2.0, 0, 0, 0, 3.0], 1.2))
    rec = sim.run()
    wxyz = rec.matrix(["arm.tool.q" + x for x in "wxyz"])
    assert np.abs(np.diff(wxyz, axis=0)).max() < 0.01
    R = (robot.base @ robot.arm.fk(rec.matrix("arm.q")))[:, :3, :3]
    assert matrix_from_wxyz(wxyz) == pytest.approx(R, abs=1e-12)


def test_the_distance_of_robots_is_the_worlds(held):
    sim, rec, _ = held
    sim.world.forward()
    now = sim.world.distance("scara1", "scara2")
    assert now is not None
    assert rec["distance.scara1-scara2"][-1] == pytest.approx(now.value, abs=1e-3)


def test_contacts_of_a_delta_come_through_its_loops():
    sim = Simulation(
        cell(
            "floor: none\n"
            "robots: [{name: delta, robot: delta, base: {xyz: [0, 0, 0.9]}, start: home}]\n"
            "bodies: [{name: ball, sphere: 0.03, mass: 0.2, xyz: [0, 0, 0.8]}]\n"
        )
    )
    delta = sim.world.robots["delta"]
    T = delta.tool()
    T[2, 3] += 0.06
    sim.world.place("ball", T)
    witness = Witness2()
    sim.tasks.add(witness)
    rec = sim.run(until=0.2)
    sim.step()
    reported = np.array(witness.rows[1:])
    assert np.abs(reported).max() > 0.05
    assert rec.matrix("delta.external") == pytest.approx(reported, abs=1e-10)


class Witness2:
    def __init__(self) -> None:
        self.rows: list[np.ndarray] = []

    def tick(self, sim: Simulation) -> bool:
        self.rows.append(sim.world.robots["delta"].external_torque())
        return True
