"""A controlled arm: PID at 1 kHz with the torque held over each Runge–Kutta step.

One arm: one compiled loop, compared with MuJoCo stepped from Python with the same PID in NumPy.
Many arms: 2048 loops, compared with `mujoco.rollout`, which gets the torques of brazo's loops in
advance and computes no controller.
A study: gains times payloads, with the metrics of each run; `mujoco.rollout` as above, with one
model for each payload, computes neither controller nor metrics.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brazo.bench.arms import puma
from brazo.bench.clock import race
from brazo.bench.peers import agrees, optional
from brazo.bench.report import Section, Value
from brazo.bench.settings import Settings
from brazo.codegen.sharing import thread_count
from brazo.control import PID, LoopConditions
from brazo.control.benchmark import sines
from brazo.dynamics.closed_loop import ComputedTorqueGains, PIDGains, ReferenceSamples, closed_loop
from brazo.robot import Robot

__all__ = ["measure", "wave"]

DT = 1e-3


def measure(settings: Settings) -> list[Section]:
    return [_one(settings), _many(settings), _study(settings)]


def gains(arm: Robot, q: np.ndarray) -> PIDGains:
    """Gains for critical damping at 20 rad/s of each joint alone."""
    m = np.diag(arm.mass_matrix(q))
    return PIDGains(kp=400.0 * m, ki=800.0 * m, kd=40.0 * m)


def wave(arm: Robot, q0: np.ndarray, steps: int) -> ReferenceSamples:
    """A slow sine of every joint about q0."""
    t = DT * np.arange(steps)[:, None]
    w = np.linspace(1.0, 3.0, arm.n)
    swing = np.sin(w * t)
    return ReferenceSamples(q0 + 0.2 * swing, 0.2 * w * np.cos(w * t), -0.2 * w**2 * swing)


def _one(settings: Settings) -> Section:
    section = Section("loop", "Closed loop, one Puma 560: PID and Runge–Kutta, 1 ms steps")
    arm, steps = puma(), 200 if settings.quick else 5000
    q0 = np.array(arm.poses["ready"])
    controller, reference = gains(arm, q0), wave(arm, q0, steps)
    ct = ComputedTorqueGains(kp=400.0, ki=800.0, kd=40.0)

    def run(controller: Any) -> np.ndarray:
        return closed_loop(
            arm, controller, q0, reference=reference, dt=DT, steps=steps, every=0
        ).end_q

    contestants: dict[str, Any] = {
        "PID": lambda: run(controller),
        "computed torque": lambda: run(ct),
    }
    if settings.peers and (mujoco := _mujoco(section)) is not None:
        step = mujoco.pid_loop(arm, controller, q0, reference, steps)
        if agrees(run(controller), step(), 1e-7):
            contestants["MuJoCo, Python PID"] = step
        else:
            section.notes.append("MuJoCo gives another result and is not timed")
    seconds = race(settings, contestants, work=steps)
    peer = seconds.get("MuJoCo, Python PID")
    for name, value in seconds.items():
        row: dict[str, Value] = {"loop": name, "step [µs]": 1e6 * value}
        if peer is not None and not name.startswith("MuJoCo"):
            row["MuJoCo / brazo"] = peer / value
        section.rows.append(row)
    return section


def _many(settings: Settings) -> Section:
    count, steps = (64, 20) if settings.quick else (2048, 50)
    section = Section("loop_batch", f"Closed loops, {count} Puma 560 at once")
    arm = puma()
    q0 = np.array(arm.poses["ready"])
    controller, reference = gains(arm, q0), wave(arm, q0, steps)
    starts = q0 + np.random.default_rng(0).normal(size=(count, arm.n)) * 0.05

    def run(threads: int, every: int = 0) -> Any:
        return closed_loop(
            arm,
            controller,
            starts,
            reference=reference,
            dt=DT,
            steps=steps,
            every=every,
            threads=threads,
        )

    recorded = run(1, every=1)
    for threads in (1, 2) if thread_count() > 1 else (1,):
        contestants: dict[str, Any] = {"brazo": lambda t=threads: run(t)}
        if settings.peers and (mujoco := _mujoco(section)) is not None:
            rest = np.zeros_like(starts)
            rollout, end = mujoco.rollout([arm] * count, starts, rest, recorded.tau, threads)
            rollout()
            if agrees(recorded.end_q, end(), 1e-7):
                contestants["mujoco.rollout"] = rollout
            else:
                section.notes.append("mujoco.rollout gives another result and is not timed")
        seconds = race(settings, contestants, work=count * steps)
        row: dict[str, Value] = {"threads": threads}
        for name, value in seconds.items():
            row[f"{name} [M steps/s]"] = 1e-6 / value
        if "mujoco.rollout" in seconds:
            row["rollout / brazo"] = seconds["mujoco.rollout"] / seconds["brazo"]
        section.rows.append(row)
    return section


def _study(settings: Settings) -> Section:
    count, t_end = (64, 0.02) if settings.quick else (1024, 0.2)
    section = Section("loop_study", f"Study: PID gains x payload, {count} runs of a Puma 560")
    arm = puma()
    controller = PID()
    controller.bind(arm, DT)
    masses = np.repeat(np.linspace(0.0, 3.0, 8), count // 8)
    scale = np.tile(np.linspace(0.5, 2.0, count // 8), 8)
    options: dict[str, Any] = {
        "gains": {"kp": scale[:, None] * controller.gains["kp"]},
        "conditions": LoopConditions(payload=masses),
    }
    task = sines(arm)

    def run(threads: int, every: int = 0) -> Any:
        return arm.closed_loop(controller, task, t_end, threads=threads, every=every, **options)

    recorded = run(1, every=1)
    steps = len(recorded.t) - 1
    for threads in (1, 2) if thread_count() > 1 else (1,):
        contestants: dict[str, Any] = {"brazo": lambda t=threads: run(t)}
        if settings.peers and (mujoco := _mujoco(section)) is not None:
            arms = {m: arm.with_payload(m) for m in np.unique(masses).tolist()}
            loaded = [arms[m] for m in masses.tolist()]
            first = recorded.q[:, 0], recorded.qd[:, 0]
            rollout, end = mujoco.rollout(loaded, *first, recorded.tau[:, :-1], threads)
            rollout()
            if agrees(recorded.q[:, -1], end(), 1e-7):
                contestants["mujoco.rollout"] = rollout
            else:
                section.notes.append("mujoco.rollout gives another result and is not timed")
        seconds = race(settings, contestants, work=count * steps)
        row: dict[str, Value] = {"threads": threads}
        for name, value in seconds.items():
            row[f"{name} [M steps/s]"] = 1e-6 / value
        row["100,000 runs of 1 s at 1 kHz [s]"] = 1e8 * seconds["brazo"]
        if "mujoco.rollout" in seconds:
            row["rollout / brazo"] = seconds["mujoco.rollout"] / seconds["brazo"]
        section.rows.append(row)
    return section


def _mujoco(section: Section) -> _MuJoCo | None:
    try:
        return _MuJoCo()
    except ImportError:
        if not section.notes:
            section.notes.append("MuJoCo is not installed")
        return None


class _MuJoCo:
    """The same loops on MuJoCo."""

    def __init__(self) -> None:
        self.mujoco: Any = optional("mujoco")

    def pid_loop(
        self,
        arm: Robot,
        controller: PIDGains,
        q0: np.ndarray,
        reference: ReferenceSamples,
        steps: int,
    ) -> Any:
        from brazo.bench.peers.mujoco_peer import bare_model

        mj, m = self.mujoco, bare_model(arm)
        d = mj.MjData(m)
        kp, ki, kd = controller.kp, controller.ki, controller.kd
        q_ref, qd_ref = reference.q, reference.qd
        q, qd, applied, step = d.qpos, d.qvel, d.qfrc_applied, mj.mj_step

        def run() -> np.ndarray:
            mj.mj_resetData(m, d)
            q[:] = q0
            s = np.zeros(arm.n)
            for k in range(steps):
                e = q_ref[k] - q
                s += e * DT
                applied[:] = kp * e + ki * s + kd * (qd_ref[k] - qd)
                step(m, d)
            return q.copy()

        return run

    def rollout(
        self,
        arms: list[Robot],
        starts: np.ndarray,
        speeds: np.ndarray,
        tau: np.ndarray,
        threads: int,
    ) -> Any:
        """Functions that run one robot per start, and return the last positions."""
        from brazo.bench.peers.mujoco_peer import bare_model

        mj: Any = self.mujoco
        roll: Any = optional("mujoco.rollout")
        known = {id(arm): bare_model(arm) for arm in arms}
        models = [known[id(arm)] for arm in arms]
        m = models[0]
        data = [mj.MjData(m) for _ in range(threads)]
        spec = mj.mjtState.mjSTATE_FULLPHYSICS
        size = mj.mj_stateSize(m, spec)
        first = np.zeros((len(starts), size))
        one = mj.MjData(m)
        for row, q, qd in zip(first, starts, speeds, strict=True):
            one.qpos[:], one.qvel[:] = q, qd
            mj.mj_getState(m, one, row, spec)
        states = np.empty((len(starts), tau.shape[1], size))
        control = np.ascontiguousarray(tau)
        pool = roll.Rollout(nthread=threads if threads > 1 else 0)
        kind = int(mj.mjtState.mjSTATE_QFRC_APPLIED)

        def run() -> None:
            pool.rollout(
                models, data, first, control, control_spec=kind, nstep=tau.shape[1], state=states
            )

        def end() -> np.ndarray:
            qpos = []
            for row in states[:, -1]:
                mj.mj_setState(m, one, row, spec)
                qpos.append(one.qpos.copy())
            return np.array(qpos)

        return run, end
