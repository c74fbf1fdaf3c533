"""Runs of one chunk of a `Study`: in one compiled loop, or one after the other as simulations.

The results depend only on the study and the chunk.  A failed run has no metrics; the reason is in
`ChunkTable.failures`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from brazo.control import CompiledController, Controller, LoopConditions
from brazo.control.closed_loop import MAX_DELAY
from brazo.errors import BrazoError
from brazo.recording.metrics import TOOL, measured_motion, peak, rms, work
from brazo.study.plan import ChunkTable, RunChunk
from brazo.study.scenario import CASE_FACTORS, Case, joint_index, make_controller
from brazo.study.study import JOINT_METRICS, Study

Array = np.ndarray


def compute_runs(study: Study, number: int, threads: int | None = 1) -> ChunkTable:
    """Compute the runs of chunk `number`.

    `threads` is the max number of threads of the compiled loop (None: the default number).
    Simulated runs use one thread.
    """
    chunk = study.chunks[number]
    count = len(chunk.rows)
    columns = study.empty_columns(chunk)
    try:
        compute = _compiled_runs if study.compiled(chunk.group) else _simulated_runs
        reasons = compute(study, chunk, columns, threads)
    except BrazoError as error:  # of all runs: the controller cannot be used with the robot
        reasons = dict.fromkeys(range(count), str(error))
    robot = study.robots[chunk.group.robot]
    joints = robot.joint_names
    columns["energy"] = np.sum([columns[f"energy.{joint}"] for joint in joints], axis=0)
    columns["saturation"] = np.max([columns[f"saturation.{joint}"] for joint in joints], axis=0)
    good = np.ones(count, dtype=bool)
    good[list(reasons)] = False
    for name, limit in study.success.items():
        good &= columns[name] <= limit  # False for NaN
    columns["success"] = good * 1.0
    failures = [{"t": float(chunk.first + i), "text": text} for i, text in sorted(reasons.items())]
    return ChunkTable(columns, failures)


# ---- compiled ------------------------------------------------------------------------------


def _compiled_runs(
    study: Study, chunk: RunChunk, columns: dict[str, Array], threads: int | None
) -> dict[int, str]:
    robot, group = study.robots[chunk.group.robot], chunk.group
    name, case = list(study.controllers)[group.controller], study.cases[group.case]
    with study.compiling(group):
        controller = study.bound(group)
        assert isinstance(controller, CompiledController)
        reference = study.reference(group)
        if not controller.compiled.loops:
            # Compile once, not in every thread that waits for this code.
            start_loop(study, chunk, controller, reference)
    start = None
    spread = np.broadcast_to(_value(study, chunk, case, "start_error"), len(chunk.rows))
    if spread.any():
        start = reference[0, 0] + spread[:, None] * start_offsets(study, chunk, robot.n)
    run = robot.closed_loop(
        controller,
        reference,
        study.duration,
        dt=study.dt,
        substeps=study.substeps,
        q0=start,
        gains=gain_values(study, chunk, name, controller),
        conditions=_conditions(study, chunk),
        threads=threads,
    )
    count = len(chunk.rows)
    for metric, values in run.metrics.items():
        if metric.endswith(f".{TOOL}"):
            columns[metric][:] = values
            continue
        for i, joint in enumerate(robot.joint_names):
            columns[f"{metric}.{joint}"][:] = values[..., i]
    columns["failed_at"][:] = run.failed_at
    failed = np.flatnonzero(np.isfinite(np.broadcast_to(run.failed_at, count)))
    return {
        i: f"diverged at t = {columns['failed_at'][i]:g} s; use lower gains or a smaller dt"
        for i in failed.tolist()
    }


def start_loop(
    study: Study, chunk: RunChunk, controller: CompiledController, reference: Array
) -> None:
    """Simulate one control period of the first runs of a chunk, so that its loop is compiled."""
    few = slice(0, min(len(chunk.rows), 16))
    first = replace(chunk, rows=chunk.rows[few], repetitions=chunk.repetitions[few])
    robot = study.robots[chunk.group.robot]
    robot.closed_loop(
        controller,
        reference[:, :2],
        study.dt,
        dt=study.dt,
        substeps=study.substeps,
        conditions=_conditions(study, first),
    )


def _conditions(study: Study, chunk: RunChunk) -> LoopConditions:
    robot, case = study.robots[chunk.group.robot], study.cases[chunk.group.case]

    def value(name: str) -> Any:
        return _value(study, chunk, case, name)

    n, count = robot.n, len(chunk.rows)
    loss, loss_time, bias, bias_time = np.zeros((4, n))
    for fault in case.faults:
        i = fault.index(robot)
        if fault.kind == "encoder bias":
            bias[i], bias_time[i] = fault.value, fault.at
        else:
            loss[i] = 1.0 if fault.kind == "unpowered" else fault.value
            loss_time[i] = fault.at
    push: Any = 0.0
    if np.any(value("disturbance")):
        push = np.zeros((count, n))
        push[:, joint_index(robot, case.disturbance_joint, "disturbance")] = value("disturbance")
    general = None
    if len(study.cases) > 1:  # one compilation for all cases
        delays = [one.delay for one in study.cases]
        longest = max([*delays, float(np.max(study.rows.get("delay", 0.0)))])
        # A longer delay is an error only of the case that has it.
        general = min(longest, MAX_DELAY * study.dt)
    return LoopConditions(
        payload=value("payload") + np.zeros(count),
        payload_com=case.payload_com,
        payload_known=case.payload_known,
        mass_scale=1.0 + value("mass_error"),
        torque_loss=loss,
        torque_loss_time=loss_time,
        encoder_bias=bias,
        encoder_bias_time=bias_time,
        position_noise=np.asarray(value("position_noise"))[..., None],
        velocity_noise=np.asarray(value("velocity_noise"))[..., None],
        disturbance=push,
        disturbance_start=case.disturbance_start,
        disturbance_stop=case.disturbance_stop,
        delay=value("delay"),
        seed=study.run_seeds(chunk.rows, chunk.repetitions) if _noisy(study, case) else 0,
        general=general,
    )


def _noisy(study: Study, case: Case) -> bool:
    return any(getattr(case, k) or k in study.factors for k in ("position_noise", "velocity_noise"))


def _value(study: Study, chunk: RunChunk, case: Case, name: str) -> Any:
    """Return the values (count,) of the factor `name`.

    If `name` is not a factor, return the field `name` of `case`.
    """
    values = study.rows.get(name)
    return getattr(case, name) if values is None else values[chunk.rows]


def start_offsets(study: Study, chunk: RunChunk, n: int) -> Array:
    """Return random offsets (count, n) of the start positions, as multiples of `start_error`.

    The offsets have a standard normal distribution and are independent of the noise.
    """
    seeds = study.run_seeds(chunk.rows, chunk.repetitions).tolist()
    return np.array([np.random.default_rng([seed, 1]).standard_normal(n) for seed in seeds])


def gain_values(
    study: Study, chunk: RunChunk, name: str, controller: Controller
) -> dict[str, Array]:
    """Return the gains that are factors of the study, by gain name.

    The arrays are (runs of the chunk, size of the gain).  `name` is the name of the controller in
    the study.
    """
    found: dict[str, Array] = {}
    for factor, values in study.rows.items():
        owner, _, rest = factor.partition(".")
        if owner != name or factor in CASE_FACTORS:
            continue
        gain, _, entry = rest.partition(".")
        own = controller.gains[gain]
        rows = found.setdefault(gain, np.tile(own, (len(chunk.rows), 1)))
        column = values[chunk.rows]
        if entry == "scale":
            rows *= column[:, None]
        elif not entry:
            rows[:] = column[:, None]
        else:
            parameter = next(p for p in controller.parameters() if p.name == gain)
            rows[:, parameter.labels.index(entry)] = column
    return found


# ---- simulated -----------------------------------------------------------------------------


def _simulated_runs(
    study: Study, chunk: RunChunk, columns: dict[str, Array], threads: int | None
) -> dict[int, str]:
    reasons: dict[int, str] = {}
    for i in range(len(chunk.rows)):
        try:
            metrics = _simulated(study, chunk, i)
        except BrazoError as error:
            reasons[i] = str(error)
        except Exception as error:  # of a controller in Python
            reasons[i] = f"{type(error).__name__}: {error}"
        else:
            for name, value in metrics.items():
                columns[name][i] = value
    return reasons


def _simulated(study: Study, chunk: RunChunk, i: int) -> dict[str, float]:
    from brazo.simulation import Simulation
    from brazo.simulation.lone_robot import lone_cell
    from brazo.simulation.motion import Sampled

    one = replace(chunk, rows=chunk.rows[i : i + 1], repetitions=chunk.repetitions[i : i + 1])
    group = chunk.group
    robot, case = study.robots[group.robot], study.cases[group.case]
    now = {name: float(np.ravel(_value(study, one, case, name))[0]) for name in CASE_FACTORS}
    if now["payload"] and not case.payload_known:
        raise BrazoError(
            "payload: simulated runs support only a payload that the controller knows; set "
            "payload_known in the case"
        )
    for name in ("mass_error", "disturbance"):
        if now[name]:
            raise BrazoError(
                f"{name}: not available in simulated runs; remove it from the case or the factors"
            )
    arm = robot.with_payload(now["payload"], case.payload_com) if now["payload"] else robot
    name = list(study.controllers)[group.controller]
    controller = make_controller(study.controllers[name])
    seed = int(study.run_seeds(one.rows, one.repetitions)[0])
    mode = "contact" if study.physics == "contact" else "exact"
    sim = Simulation(replace(lone_cell(arm), step=study.dt), mode=mode, seed=seed)
    sim.dump_folder = None
    (sim_robot,) = sim.robots.values()
    sim_robot.controller = controller
    for gain, values in gain_values(study, one, name, controller).items():
        controller.gains[gain] = values[0]
    t = np.arange(round(study.duration / sim.dt) + 1) * sim.dt
    task = study.task(group)
    table = np.array([np.concatenate(task(float(s))) for s in t])
    n = robot.n
    q = table[0, :n] + now["start_error"] * start_offsets(study, one, n)[0]
    sim_robot.world.set_state(q, table[0, n : 2 * n])
    controller.reset(q, table[0, n : 2 * n])
    sim_robot.motion = Sampled(table, sim.dt)
    for at, fault in _faults(case, robot, sim_robot.name, now):
        sim.inject(fault, at)
    recording = sim.run(until=study.duration)
    return _recorded_metrics(recording, robot, sim_robot.name, table[:, :n], controller)


def _faults(case: Case, robot: Any, name: str, now: dict[str, float]) -> list[tuple[float, Any]]:
    from brazo.simulation import faults as kinds

    found: list[tuple[float, Any]] = []
    for fault in case.faults:
        joint = robot.joint_names[fault.index(robot)]
        made = {
            "torque loss": lambda j=joint, v=fault.value: kinds.TorqueLoss(name, j, v),
            "unpowered": lambda j=joint: kinds.JointFree(name, j),
            "encoder bias": lambda j=joint, v=fault.value: kinds.EncoderBias(name, j, v),
            "encoder stuck": lambda j=joint: kinds.EncoderFrozen(name, j),
            "joint locked": lambda j=joint: kinds.JointLocked(name, j),
        }[fault.kind]()
        found.append((fault.at, made))
    if now["delay"]:
        found.append((0.0, kinds.CommandDelay(name, now["delay"])))
    if now["position_noise"] or now["velocity_noise"]:
        found += [
            (0.0, kinds.EncoderNoise(name, j, now["position_noise"], now["velocity_noise"]))
            for j in robot.joint_names
        ]
    return found


def _recorded_metrics(
    recording: Any, robot: Any, name: str, reference: Array, controller: Controller
) -> dict[str, float]:
    """Return the metrics of a recorded run, as defined in `brazo.recording.metrics`."""
    t = recording.t
    dt = float(t[1] - t[0])
    goal = reference[np.minimum(np.rint(t / dt).astype(int), len(reference) - 1)]
    found: dict[str, float] = {}
    stop = float(t[_last_change(goal)])
    q = np.column_stack([recording[f"{name}.q.{j}"] for j in robot.joint_names])
    for i, joint in enumerate(robot.joint_names):
        qd = recording[f"{name}.qd.{joint}"]
        torque = recording[f"{name}.torque.{joint}"]
        numbers = measured_motion(t, q[:, i], goal[:, i], stop)
        numbers["energy"] = work(t, torque, qd)
        numbers["peak_torque"] = float(peak(torque))
        limit = controller.limits[i]
        numbers["saturation"] = float((np.abs(torque) >= limit * (1 - 1e-9)).mean())
        numbers["jerk"] = float(rms(np.diff(qd, 2) / dt**2)) if len(t) > 2 else math.nan
        found |= {f"{metric}.{joint}": numbers[metric] for metric in JOINT_METRICS}
    tool, tool_goal = robot.fk(q)[:, :3, 3], robot.fk(goal)[:, :3, 3]
    numbers = measured_motion(t, tool, tool_goal, stop)
    return found | {f"{metric}.{TOOL}": value for metric, value in numbers.items()}


def _last_change(goal: Array) -> int:
    moving = np.flatnonzero((np.abs(goal - goal[-1]) > 1e-9).any(axis=1))
    return min(int(moving[-1]) + 1, len(goal) - 1) if len(moving) else 0
