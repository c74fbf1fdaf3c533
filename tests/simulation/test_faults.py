"""Faults: what they do, when they begin and end, and that runs with them repeat."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.simulation import (
    CommandDelay,
    EncoderBias,
    EncoderFrozen,
    EncoderNoise,
    JointFree,
    JointLocked,
    Simulation,
    TorqueLoss,
)
from brazo.trajectory import quintic
from tests.world.scenes import cell

ARM = "floor: none\nrobots: [{name: arm, robot: scara2, start: [0, 0.6, 0.4, 0.1, 0]}]\n"


@pytest.fixture(params=["contact", "exact"])
def sim(request) -> Simulation:
    return Simulation(cell(ARM), mode=request.param)


def swing(sim: Simulation, seconds: float = 1.0) -> None:
    robot = sim.robots["arm"]
    robot.move(quintic(robot.reference.q, robot.reference.q + [0.8, -0.5, 0.4, 0.05, 1], seconds))


def test_a_locked_joint_stays_to_a_nanoradian_while_all_the_others_pull(sim):
    swing(sim)
    sim.step(300)
    sim.inject(JointLocked("arm", "elbow"))
    at = sim.robots["arm"].q[1]
    sim.step(50)  # it moved when the brake fell
    rec = sim.run(until=1.5)
    assert np.abs(rec["arm.q.elbow"] - at).max() < 1e-9
    assert np.abs(rec["arm.torque.elbow"]).max() > 1.0  # the controller has no effect
    assert abs(rec["arm.error.elbow"][-1]) > 0.1
    assert abs(rec["arm.error.quill"][-1]) < 1e-6  # not coupled with it
    sim.faults.clear()
    sim.step(1500)
    assert np.abs(sim.robots["arm"].q - sim.robots["arm"].reference.q).max() < 1e-4
    assert [e.kind for e in sim.events] == ["fault", "fault cleared"]


def test_a_locked_joint_survives_an_edit_and_a_saved_state(sim):
    sim.inject(JointLocked("arm", "elbow"))
    state = sim.save()
    swing(sim)
    sim.step(200)
    sim.edit("arm", parameters={"L1": 0.27})
    sim.step(200)
    assert abs(sim.robots["arm"].q[1] - 0.6) < 1e-6
    sim.faults.clear()
    assert not sim.robots["arm"].world.locked.any()
    sim.edit("arm", parameters={"L1": 0.25})
    sim.restore(state)
    assert sim.robots["arm"].world.locked.tolist() == [False, True, False, False, False]
    assert [f.text for f in sim.robots["arm"].faults] == ["arm: joint 'elbow' is locked"]


def test_a_free_joint_moves_as_the_equations_say_without_its_torque():
    sim = Simulation(cell(ARM), mode="exact")
    swing(sim)
    sim.inject(JointFree("arm", "forearm"), at=0.2)
    rec = sim.run(until=0.6)
    q, qd, qdd, tau = (rec.matrix(f"arm.{s}") for s in ("q", "qd", "qdd", "torque"))
    assert (tau[201:, 2] == 0.0).all() and np.abs(tau[150:199, 2]).min() > 0.0
    arm = sim.robots["arm"].arm
    assert arm.forward_dynamics(q, qd, tau) == pytest.approx(qdd, abs=1e-8)
    assert np.abs(rec["arm.error.forearm"][-1]) > 0.01


def test_torque_loss_reduces_the_torque(sim):
    sim.inject(TorqueLoss("arm", "quill", 0.25))
    sim.step()
    robot = sim.robots["arm"]
    reported = robot.world.torque[3]
    assert robot.torque[3] == pytest.approx(0.75 * reported, abs=1e-12) and reported != 0.0
    sim.inject(TorqueLoss("arm", "quill", 0.5))
    sim.step()
    assert robot.torque[3] == pytest.approx(0.375 * robot.world.torque[3], abs=1e-12)
    sim.reset()
    sim.step()
    assert robot.torque[3] == robot.world.torque[3] and robot.faults == []


def test_encoder_bias_shifts_the_robot_in_the_opposite_direction(sim):
    sim.inject(EncoderBias("arm", "shoulder", 0.02))
    rec = sim.run(until=1.5)
    assert rec["arm.q.shoulder"][-1] == pytest.approx(-0.02, abs=1e-6)
    assert rec["arm.measured.shoulder"][-1] == pytest.approx(0.0, abs=1e-6)
    assert (rec["arm.measured.elbow"] == rec["arm.q.elbow"]).all()


def test_stuck_encoder_lets_the_joint_diverge(sim):
    swing(sim)
    sim.inject(EncoderFrozen("arm", "wrist"), at=0.3)
    rec = sim.run(until=0.8)
    frozen = rec["arm.measured.wrist"][300:]
    assert (frozen == rec["arm.q.wrist"][300]).all()
    assert rec["arm.q.wrist"][-1] > rec["arm.q_ref.wrist"][-1] + 0.1


def test_stuck_encoder_keeps_the_reading_of_a_biased_encoder(sim):
    sim.inject(EncoderBias("arm", "wrist", 0.1))
    swing(sim)
    sim.inject(EncoderFrozen("arm", "wrist"), at=0.3)
    rec = sim.run(until=0.5)
    assert (rec["arm.measured.wrist"][300:] == rec["arm.q.wrist"][300] + 0.1).all()


def test_events_report_amounts_in_the_unit_of_the_joint():
    sim = Simulation(cell(ARM))
    sim.inject(EncoderBias("arm", "elbow", np.radians(0.5)))
    sim.inject(EncoderNoise("arm", "quill", 2e-5))
    sim.faults.clear(fault=EncoderNoise("arm", "quill", 2e-5))
    assert [event.text for event in sim.events] == [
        "arm: encoder bias of 'elbow': 0.5°",
        "arm: encoder noise of 'quill': σ = 0.02 mm",
        "arm: encoder noise of 'quill': σ = 0.02 mm",
    ]
    assert EncoderBias("arm", "elbow", 0.01).text == "arm: encoder bias of 'elbow': 0.01 rad or m"


def test_noise_has_the_given_magnitude_and_repeats_with_the_seed():
    def run(seed: int) -> np.ndarray:
        sim = Simulation(cell(ARM), seed=seed)
        sim.inject(EncoderNoise("arm", "elbow", 1e-3, 1e-2), at=0.1)
        rec = sim.run(until=1.1)
        return np.stack([rec["arm.measured.elbow"] - rec["arm.q.elbow"], rec["arm.q.elbow"]])

    first, again, other = run(3), run(3), run(4)
    assert (first == again).all() and (first[0, 100:] != other[0, 100:]).all()
    assert not first[0, :100].any()
    assert first[0, 100:].std() == pytest.approx(1e-3, rel=0.1)


def test_a_run_with_noise_restored_in_the_middle_repeats_to_the_bit():
    sim = Simulation(cell(ARM), seed=1)
    sim.inject(EncoderNoise("arm", "elbow", 1e-3))
    sim.inject(CommandDelay("arm", 0.003))
    locked = JointLocked("arm", "wrist")
    sim.inject(locked, at=0.35)
    swing(sim)
    sim.step(200)
    assert sim.faults.scheduled == ((0.35, locked),)
    state = sim.save()
    runs = []
    for _ in range(2):
        runs.append(sim.run(until=0.6))
        assert sim.faults.scheduled == ()
        sim.restore(state)
    for name in runs[0].columns:
        assert (runs[0][name] == runs[1][name]).all(), name
    assert runs[0].events == runs[1].events


def test_delayed_commands_are_those_of_earlier_steps():
    sim = Simulation(cell(ARM))
    wanted = []
    robot = sim.robots["arm"]
    law = robot.controller
    assert law is not None
    sim.inject(CommandDelay("arm", 0.005))
    swing(sim)
    reported = []
    for _ in range(50):
        sim.step()
        wanted.append(law.wanted)
        reported.append(robot.world.torque.copy())
    assert (np.array(reported)[5:] == np.array(wanted)[:-5]).all()


def test_an_ideal_robot_with_a_locked_joint_leaves_it_where_it_is():
    sim = Simulation(cell(ARM), {"arm": "ideal"})
    swing(sim)
    sim.step(300)
    sim.inject(JointLocked("arm", "elbow"))
    at = sim.robots["arm"].q[1]
    sim.step(300)
    robot = sim.robots["arm"]
    assert abs(robot.q[1] - at) < 1e-4
    assert abs(robot.q[0] - robot.reference.q[0]) < 1e-4


@pytest.mark.parametrize(
    ("fault", "match"),
    [
        (JointLocked("arm", "knee"), "no joint 'knee'; joints: shoulder, elbow"),
        (JointLocked("leg", "knee"), "no robot named 'leg'"),
        (TorqueLoss("arm", "elbow", 1.5), "torque loss 1.5: must be from 0 to 1"),
        (EncoderNoise("arm", "elbow", -1.0), "noise is -1; it must be finite and at least 0"),
        (EncoderBias("arm", "elbow", float("nan")), "must be finite"),
        (CommandDelay("arm", -1.0), "is -1; it must be finite"),
        (CommandDelay("arm", 1e9), "at most 100 s"),
        ("rust", "a fault must be an object of"),
    ],
)
def test_invalid_faults_are_rejected(fault, match):
    sim = Simulation(cell(ARM))
    with pytest.raises(brazo.BrazoError, match=match):
        sim.inject(fault)


def test_fault_at_a_past_time_is_rejected():
    sim = Simulation(cell(ARM))
    sim.step(100)
    with pytest.raises(brazo.BrazoError, match=r"a fault at 0\.05 s: .* current time 0\.1 s"):
        sim.inject(JointLocked("arm", "elbow"), at=0.05)


def test_recording_starts_with_active_conditions(sim):
    sim.robots["arm"].controller = "PID"
    sim.inject(EncoderBias("arm", "elbow", 0.05))
    sim.step(10)
    rec = sim.run(until=0.02)
    assert [(e["t"], e["kind"], e["robot"]) for e in rec.events] == [
        (0.01, "control", "arm"),
        (0.01, "fault", "arm"),
    ]
    assert rec.events[0]["law"] == "PID" and rec.events[1]["fault"] == "EncoderBias"


def test_changes_of_controller_and_gains_are_recorded(sim, tmp_path):
    robot = sim.robots["arm"]
    sim.recording.start(tmp_path / "run.parquet")
    sim.step(10)
    robot.controller = "PID"
    left = robot.controller
    sim.step(10)
    robot.controller.gains["kp", "elbow"] = 7.0
    robot.controller.gains["kd"] = 2.0
    robot.controller.gains["kd"] = 2.0  # no change
    state = sim.save()
    sim.step(5)
    sim.edit("arm", parameters={"L1": 0.27})
    robot.controller = "ideal"
    left.gains["kd"] = 3.0  # drives no robot any more
    rec = sim.recording.stop()
    assert rec.about["robots"] == "arm (ComputedTorque, PID from 0.01 s, ideal from 0.025 s)"
    reported = [(e["t"], e["gain"], e["values"][1]) for e in rec.events_of("gain")]
    assert reported == [(0.02, "kp", 7.0), (0.02, "kd", 2.0)]
    sim.restore(state)
    robot.controller.gains["kd"] = 4.0
    assert sim.events[-1].text == "arm: PID kd = 4"
