"""Closed loops of an arm and a PID controller at 1 kHz, with constant torque in each step.

One arm: a compiled loop, compared with MuJoCo stepped from Python with the same PID in NumPy.
Many arms: 2048 compiled loops, compared with `mujoco.rollout`.  The rollout gets the torques that
brazo's loops have computed, because it cannot compute a controller.
A study: all combinations of gains and payloads, with the metrics of each run, compared with
`mujoco.rollout` with one model for each payload.  The rollout computes neither controller nor
metrics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from brazo.bench.arms import puma
from brazo.bench.clock import race
from brazo.bench.peers import agrees, optional
from brazo.bench.report import Section, Value
from brazo.bench.settings import Settings
from brazo.codegen.loop import LoopRun
from brazo.codegen.sharing import thread_count
from brazo.control import PID, CompiledController, ComputedTorque, LoopConditions, controller_loop
from brazo.control.benchmark import sines
from brazo.control.loop import REFERENCE
from brazo.robot import Robot

__all__ = ["measure", "wave"]

DT = 1e-3


def measure(settings: Settings) -> list[Section]:
    return [_one(settings), _many(settings), _study(settings)]


def gains(arm: Robot, q: np.ndarray) -> dict[str, Any]:
    """PID gains (n,) by name, from the diagonal of the mass matrix at q.

    Without the integral term, each joint alone is critically damped with a natural frequency of
    20 rad/s.
    """
    m = np.diag(arm.mass_matrix(q))
    return {"kp": 400.0 * m, "ki": 800.0 * m, "kd": 40.0 * m}


def wave(arm: Robot, q0: np.ndarray, steps: int) -> np.ndarray:
    """Reference (3, steps, n) in which every joint follows a slow sine about q0.

    The first dimension contains positions, velocities and accelerations.  A step is 1 ms.
    """
    t = DT * np.arange(steps)[:, None]
    w = np.linspace(1.0, 3.0, arm.n)
    swing = np.sin(w * t)
    return np.array([q0 + 0.2 * swing, 0.2 * w * np.cos(w * t), -0.2 * w**2 * swing])


class NativeLoop:
    """A robot and a controller in one compiled loop, without metrics."""

    def __init__(self, arm: Robot, controller: CompiledController) -> None:
        controller.bind(arm, DT)
        self.n, self._loop = arm.n, controller_loop(controller.compiled, arm)
        self._state = np.concatenate([np.zeros(arm.n), *controller.state.values()])
        self._fixed = controller.fixed

    def run(
        self,
        q0: np.ndarray,
        reference: np.ndarray,
        steps: int,
        every: int = 0,
        threads: int | None = None,
    ) -> LoopRun:
        """Simulate `steps` steps of 1 ms from rest at q0 (..., n).

        The reference is (3, steps, n), or (3, 1, n) if it is constant.  With `every` = k, every
        k-th step is recorded; with `every` = 0, no step is recorded.
        """
        rest = np.broadcast_to(self._state, (*q0.shape[:-1], len(self._state)))
        x = np.concatenate([q0, rest], axis=-1)
        streams = dict(zip(REFERENCE, reference, strict=True))
        return self._loop(steps, every=every, threads=threads, x=x, **streams, **self._fixed)

    def end(self, q0: np.ndarray, reference: np.ndarray, steps: int) -> np.ndarray:
        """Simulate as in `run` and return the final positions (..., n)."""
        return self.run(q0, reference, steps).x[..., : self.n]

    def torques(self, run: LoopRun) -> np.ndarray:
        """Return the torques (..., steps, n) of a run with `every` = 1."""
        assert run.record is not None
        return run.record[..., -2 * self.n : -self.n]


def _one(settings: Settings) -> Section:
    section = Section("loop", "Closed loop, one Puma 560: PID and Runge–Kutta, 1 ms steps")
    arm, steps = puma(), 200 if settings.quick else 5000
    q0 = np.array(arm.poses["ready"])
    given, reference = gains(arm, q0), wave(arm, q0, steps)
    pid = NativeLoop(arm, PID(**given))
    ct = NativeLoop(arm, ComputedTorque(kp=400.0, ki=800.0, kd=40.0))
    contestants: dict[str, Any] = {
        "PID": lambda: pid.end(q0, reference, steps),
        "computed torque": lambda: ct.end(q0, reference, steps),
    }
    if settings.peers and (mujoco := _mujoco(section)) is not None:
        step = mujoco.pid_loop(arm, given, q0, reference, steps)
        if agrees(pid.end(q0, reference, steps), step(), 1e-7):
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
    loop, reference = NativeLoop(arm, PID(**gains(arm, q0))), wave(arm, q0, steps)
    starts = q0 + np.random.default_rng(0).normal(size=(count, arm.n)) * 0.05

    def run(threads: int, every: int = 0) -> LoopRun:
        return loop.run(starts, reference, steps, every, threads)

    recorded = run(1, every=1)
    replay = [arm] * count, starts, np.zeros_like(starts), loop.torques(recorded)
    _race_rollout(settings, section, run, count * steps, replay, recorded.x[..., : arm.n])
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
    arms = {m: arm.with_payload(m) for m in np.unique(masses).tolist()}
    loaded = [arms[m] for m in masses.tolist()]
    replay = loaded, recorded.q[:, 0], recorded.qd[:, 0], recorded.tau[:, :-1]
    rows = _race_rollout(settings, section, run, count * steps, replay, recorded.q[:, -1])
    for row, seconds in rows:
        row["100,000 runs of 1 s at 1 kHz [s]"] = 1e8 * seconds
    return section


def _race_rollout(
    settings: Settings,
    section: Section,
    run: Callable[[int], Any],
    work: int,
    replay: tuple[Any, Any, Any, Any],
    end_of_run: np.ndarray,
) -> list[tuple[dict[str, Value], float]]:
    """Time `run(threads)` and `mujoco.rollout` with the same torques, and add rows to the section.

    `work` is the number of steps of all arms in one call of `run`.  `replay` are the first four
    arguments of `_MuJoCo.rollout`, and `end_of_run` are the positions that the rollout must reach.
    Return a list of pairs: a row, and the time (s) per step of brazo.
    """
    found = []
    for threads in (1, 2) if thread_count() > 1 else (1,):
        contestants: dict[str, Any] = {"brazo": lambda t=threads: run(t)}
        if settings.peers and (mujoco := _mujoco(section)) is not None:
            rollout, end = mujoco.rollout(*replay, threads)
            rollout()
            if agrees(end_of_run, end(), 1e-7):
                contestants["mujoco.rollout"] = rollout
            else:
                section.notes.append("mujoco.rollout gives another result and is not timed")
        seconds = race(settings, contestants, work=work)
        row: dict[str, Value] = {"threads": threads}
        for name, value in seconds.items():
            row[f"{name} [M steps/s]"] = 1e-6 / value
        if "mujoco.rollout" in seconds:
            row["rollout / brazo"] = seconds["mujoco.rollout"] / seconds["brazo"]
        section.rows.append(row)
        found.append((row, seconds["brazo"]))
    return found


def _mujoco(section: Section) -> _MuJoCo | None:
    try:
        return _MuJoCo()
    except ImportError:
        if not section.notes:
            section.notes.append("MuJoCo is not installed")
        return None


class _MuJoCo:
    """The closed loops of this module, simulated by MuJoCo."""

    def __init__(self) -> None:
        self.mujoco: Any = optional("mujoco")

    def pid_loop(
        self,
        arm: Robot,
        given: dict[str, Any],
        q0: np.ndarray,
        reference: np.ndarray,
        steps: int,
    ) -> Any:
        from brazo.bench.peers.mujoco_peer import bare_model

        mj, m = self.mujoco, bare_model(arm)
        d = mj.MjData(m)
        kp, ki, kd = given["kp"], given["ki"], given["kd"]
        q_ref, qd_ref, _ = reference
        q, qd, applied, step = d.qpos, d.qvel, d.qfrc_applied, mj.mj_step

        def run() -> np.ndarray:
            mj.mj_resetData(m, d)
            q[:] = q0
            s = np.zeros(arm.n)
            for k in range(steps):
                e = q_ref[k] - q
                applied[:] = kp * e + ki * s + kd * (qd_ref[k] - qd)
                s += e * DT
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
        """Return two functions: one simulates all arms, the other returns their final positions.

        Arm i starts at `starts[i]` (n,) with the velocities `speeds[i]` (n,) and gets the torques
        `tau[i]` (steps, n).
        """
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
