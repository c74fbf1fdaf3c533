"""What a user writes, with 40 and more public methods; `pyright` checks it in strict mode."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import brazo
from brazo.control import ComputedTorque, Tracking, track
from brazo.dynamics.symbolic import Equations
from brazo.program import Execution, parse_program
from brazo.recording import Recorder
from brazo.simulation import FaultTolerance, JointLocked, SimRobot, TorqueLoss
from brazo.trajectory import (
    Timing,
    Trajectory,
    check,
    circle,
    cubic_via_points,
    fastest_within,
    follow_path,
    jerk_limited,
    limits_of,
    quintic,
)

Array = NDArray[np.float64]


def kinematics(arm: brazo.Robot) -> Array:
    q: Array = arm.random_q(seed=1)
    names: list[str] = [name.upper() for name in arm.joint_names]
    T: Array = arm.fk(q)
    F: Array = arm.frames(q)
    elbow: Array = arm.frame(q, arm.link_names[2])
    J: Array = arm.jacobian(q, frame="tool")
    w: Array = np.asarray(arm.dexterity(q).manipulability)
    result = arm.ik(T, q0=q, branch="ABOVE")
    best: Array = result.q
    named: dict[str, Array] = {branch.name: branch.q for branch in result.all}
    inside: list[bool] = [branch.within_limits for branch in result.all]
    error: float = result.residual.position + float(result.residual)
    print(
        names, F.shape, elbow[:3, 3], J @ q, w, named, inside, error, result.reason, result.branch
    )
    print(arm.configuration(best), arm.limits[:, 0], arm.poses["nominal"], arm.mobility, arm.n)
    print(arm.parameters, [finding.message for finding in arm.findings], arm.has_dynamics)
    return best


def dynamics(arm: brazo.Robot, q: Array) -> brazo.Run:
    qd: Array = np.zeros(arm.n)
    tau: Array = arm.inverse_dynamics(q, qd, qd, wrench=np.ones(6))
    qdd: Array = arm.forward_dynamics(q, qd, tau, gravity=[0, 0, -1.62])
    M: Array = arm.mass_matrix(q)
    C: Array = arm.coriolis(q, qd)
    G: Array = arm.gravity(q)
    kinetic, potential = arm.energy(q, qd)
    heavy: brazo.Robot = arm.with_payload(1.5, com=(0, 0, 0.1))
    longer: brazo.Robot = brazo.load("scara2").with_parameters(L1=0.3)
    print(qdd, M @ qd + C @ qd + G, kinetic + potential, heavy.gravity(q) - G, longer.name)

    def brake(t: float, q: Array, qd: Array) -> Array:
        return -0.005 * qd

    run = arm.simulate(brake, q0=q, t_end=0.01, method="rk4", dt=1e-3)
    columns: dict[str, Array] = {name: values for name, (values, _) in run.columns().items()}
    print(run.t[-1], run.q[:, 0], run.qd.shape, run.energy_drift, columns["t"][-1])
    move = quintic(q, q + 0.1, 1.0)

    def motion(t: float) -> tuple[Array, Array, Array]:
        now = move.sample(t)
        return now.q, now.qd, now.qdd

    return arm.follow(motion, t_end=0.1)


def models(arm: brazo.Robot, q: Array) -> tuple[Array, Array]:
    qd = np.full(arm.n, 0.1)
    Jd: Array = arm.jacobian_dot(q, qd)
    A, B = arm.linearize(q)
    rates: Array = arm.resolved_rate(q, np.array([0.1, 0, 0, 0, 0, 0])).qd
    Y: Array = arm.regressor(q, qd, qd)
    parameters = arm.base_parameters()
    inertia: Array = arm.operational_inertia(q)
    poses: Array = arm.fk(arm.random_q(5, seed=3))
    batch = arm.ik_batch(poses)
    found: Array = batch.q[batch.success]
    derivatives = arm.inverse_dynamics_derivatives(q, qd, qd)
    own = brazo.Robot.from_dh([(0, 0.4, 0.3, np.pi / 2), (0, 0, 0.2, 0)], name="own")
    again = brazo.loads(own.to_yaml()).with_tool([0, 0, 0.1]).with_base([0, 0, 0.5])
    print(Jd, rates, Y.shape, parameters, inertia, found, derivatives, again.to_urdf()[:40])
    return A, B


def equations(arm: brazo.Robot) -> str:
    eqs: Equations = arm.derive("symbolic", form="recursive")
    files: dict[str, str] = eqs.c() | eqs.octave()
    names: list[str] = list(eqs.symbols)
    M: Array = eqs.evaluate(eqs.M, arm.random_q(seed=2))
    print(files.keys(), names, M, eqs.notes)
    return eqs.text(80) + eqs.latex() + eqs.python()


def trajectories(arm: brazo.Robot) -> Trajectory:
    home = arm.poses["home"]
    limits = limits_of(arm)
    via = cubic_via_points([0.0, 1.0, 2.0], np.array([home, home + 0.1, home]))
    move = jerk_limited(home, home + 0.1, limits)
    T: Array = arm.fk(home)
    path = circle(T[:3, 3] - [0.05, 0, 0], 0.05, T[:3, :3], Timing("quintic", duration=3.0))
    motion = follow_path(arm, path, q0=home)
    for violation in check(motion, arm):
        print(str(violation))
    sample = fastest_within(motion, arm).sample(0.5)
    q: Array = sample.q
    print(via.duration + move.duration, q, sample.qd, sample.qdd)
    return motion


def control(arm: brazo.Robot, motion: Trajectory) -> Tracking:
    controller = ComputedTorque(wn=25)
    result: Tracking = track(arm, controller, motion, t_end=0.1)
    errors: Array = result.max_error
    print(errors, result.rms_error, controller.gains["kp"])
    return result


def simulation() -> brazo.Recording:
    sim = brazo.Simulation(brazo.load_cell("cooperative"))
    robot: SimRobot = sim.robots["scara1"]
    robot.controller = "PID"
    robot.move(quintic(robot.q, robot.q + 0.1, duration=0.5))
    sim.inject(TorqueLoss("scara1", "elbow", 0.3))
    sim.inject(JointLocked("scara2", "elbow"), at=0.1)
    sim.tasks.add(FaultTolerance(sim.robots["scara2"]))
    sim.step(10)
    pose: Array = robot.tool()
    recording: brazo.Recording = sim.run(until=0.1)
    q: Array = recording["scara1.q.elbow"]
    unit: str = recording.unit("scara1.q.elbow")
    part = recording[0.02:0.05].select("scara1.q").resample(0.01)
    errors: Array = recording.matrix("scara1.error")
    events: list[str] = [event.text for event in sim.events]
    print(q, unit, part, errors, events, pose, sim.time, robot.moving)
    recording.to_csv("run.csv")
    recording.to_parquet("run.parquet")
    return brazo.Recording.open("run.parquet")


def program() -> bool:
    task: brazo.Program = brazo.load_program("cooperative")
    short = parse_program("name: short\nrobots: {scara1: [{move_joints: home}]}")
    own = brazo.Program("mine", cell="cooperative")
    own.robot("scara1").move_joints([0.1, 0.2, 0.02, 0, 0])
    sim = brazo.Simulation("cooperative")
    execution: Execution = own.start(sim)
    sim.run(execution)
    with Recorder("own.parquet", {"t": "s", "room.temperature": "K"}) as recorder:
        recorder.append([0.0, 293.0])
    print(task.name, short.to_yaml(), execution.failure)
    return execution.succeeded


def main() -> None:
    puma, scara = brazo.load("puma560"), brazo.load("scara1")
    run = dynamics(puma, kinematics(puma))
    print(run, len(equations(scara)), models(puma, puma.poses["nominal"]))
    result = control(scara, trajectories(scara))
    print(result, simulation(), program())
    try:
        brazo.load("nobody")
    except brazo.BrazoError as error:
        print(error)


if __name__ == "__main__":
    main()
