"""Runs of one chunk of a `DelayStudy`, in simulated time: no wall clock, no network."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from brazo.errors import BrazoError
from brazo.simulation.cell_arm import arm_of
from brazo.study.delay_study import METRICS, DelayStudy
from brazo.study.plan import ChunkTable
from brazo.teleop.bilateral import (
    DelayLine,
    Hand,
    Pair,
    PositionForce,
    TaskMap,
    WaveVariables,
    strokes,
)
from brazo.teleop.follow.follower import Follower
from brazo.teleop.follow.safety import Rules, SafetyState
from brazo.teleop.link.inbox import Received
from brazo.teleop.link.views import LinkView
from brazo.teleop.link.wire_format import RUN, Command
from brazo.teleop.mapping.base import IncrementMap
from brazo.teleop.mapping.joint_map import JointMap
from brazo.trajectory import limits_of
from brazo.world import World

PRESS = [(0.5, 0.0, 0.0, 0.0), (1.3, 0.03, 0.0, 0.0), (2.1, 0.0, 0.0, 0.0), (3.0, 0.0, 0.0, -0.06)]
PERIOD = 0.002  # s, of the commands of a unilateral master and of its follower
AMPLITUDE, FREQUENCY = 0.15, 0.5  # rad, Hz: of its motion
VALID = 1.0  # s, life of a command beyond the delay


def compute_delay_runs(study: DelayStudy, number: int) -> ChunkTable:
    """Compute the runs of chunk `number`."""
    chunk = study.chunks[number]
    columns = study.empty_columns(chunk)
    columns["success"] = np.zeros(len(chunk.rows))
    scheme = study.schemes[chunk.group.controller]
    seeds = study.run_seeds(chunk.rows, chunk.repetitions)
    failures: list[dict[str, Any]] = []
    for i, row in enumerate(chunk.rows.tolist()):
        values = {name: float(column[row]) for name, column in study.rows.items()}
        run = float(chunk.first + i)
        try:
            found = delay_run(study, scheme, values, int(seeds[i]))
        except BrazoError as error:
            failures.append({"t": run, "text": str(error), "step": scheme})
            continue
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            failures.append({"t": run, "text": text, "step": scheme})
            continue
        for name, value in found.items():
            columns[name][i] = value
        broken = [k for k, limit in study.success.items() if not found.get(k, 0.0) <= limit]
        columns["success"][i] = float(not broken)
        if broken:
            text = f"{broken[0]} = {found[broken[0]]:.3g}, limit {study.success[broken[0]]:g}"
            failures.append({"t": run, "text": text, "step": scheme})
    return ChunkTable(columns, failures)


def delay_run(
    study: DelayStudy, scheme: str, values: dict[str, float], seed: int
) -> dict[str, float]:
    """Return the metrics of one run of a scheme; `values` maps factor names to values."""
    delay = values.get("delay", 0.0)
    line: dict[str, Any] = {
        "jitter": values.get("jitter", 0.0) * delay,
        "loss": values.get("loss", 0.0),
    }
    if scheme == "follower":
        return _unilateral(study, delay, line, seed)
    made = WaveVariables() if scheme == "wave-variables" else PositionForce()
    task_map = TaskMap(IncrementMap(np.eye(3)))
    world = World(study.cell)
    pair = Pair(world, made, Hand(strokes(PRESS)), task_map, delay=delay, seed=seed, **line)
    report = pair.run(study.duration).report()
    return {name: getattr(report, name) for name in METRICS if name != "held"}


def _unilateral(
    study: DelayStudy, delay: float, line: dict[str, Any], seed: int
) -> dict[str, float]:
    """Return the metrics of a run in which the follower copies the master's joints.

    There is no force feedback.  `line` has the options of `DelayLine`.
    """
    robot = next(one for one in study.cell.robots if one.name == "follower")
    arm = arm_of(robot, study.cell.gravity)
    limits = limits_of(arm)
    start = np.array(robot.start, dtype=float)
    late = delay + line["jitter"]
    follower = Follower(limits, JointMap(limits), start, Rules.over(late))
    link = DelayLine(delay, seed=seed, **line)
    count = round(study.duration / PERIOD)
    t = PERIOD * np.arange(1, count + 1)
    # The motion starts and ends smoothly, and the master is at rest at the end.
    rise = np.clip(t - 0.5, 0.0, 1.0) * np.clip(study.duration - 1.5 - t, 0.0, 1.0)
    swing = AMPLITUDE * np.sin(2.0 * math.pi * FREQUENCY * t) * rise**2 * (3.0 - 2.0 * rise)
    master = start + swing[:, None]
    found, held, latest, last = np.empty_like(master), 0, None, 0
    engaged = 0
    for k, now in enumerate(t.tolist()):
        # The enable switch is pressed after 0.2 s: a follower needs to see it released first.
        pressed = k * PERIOD >= 0.2
        command = Command(
            1, k + 1, round(1e6 * now), 0, round(1e6 * (late + VALID)), RUN if pressed else 0,
            int(pressed), tuple(master[k].tolist()),
        )  # fmt: skip
        link.send(now, cast(Any, command))
        for arrived in cast(list[Any], link.receive(now)):
            if arrived.seq > last:  # an older command that was overtaken is dropped
                last = arrived.seq
                sent = 1e-6 * arrived.sent
                latest = Received(arrived, now, sent, sent + late + VALID)
        step = follower.step(now, LinkView(1, latest))
        found[k] = step.sample.q
        engaged = engaged or int(step.state is SafetyState.ENGAGED)
        held += engaged and step.state is SafetyState.HOLD
    if not engaged:
        raise BrazoError(
            "the follower never started to follow: no command arrived that its safety rules "
            "accept; use a smaller delay or loss, or a longer duration"
        )
    tool, goal = (np.asarray(arm.fk(q))[:, :3, 3] for q in (found, master))
    lag, error = _best_lag(tool, goal)
    end = t > study.duration - 0.5
    return {
        "tracking_rms": float(np.sqrt(np.mean(error**2))),
        "tracking_max": float(error.max()),
        "lag": lag,
        "moving": float(np.linalg.norm(np.ptp(tool[end], axis=0))),
        "min_energy": 0.0,
        "max_force": 0.0,
        "held": held / count,
    }


def _best_lag(tool: np.ndarray, goal: np.ndarray, most: float = 2.0) -> tuple[float, np.ndarray]:
    """Return the lag (s) that minimises the tracking error, and the errors (k,) in m at this lag.

    `tool` and `goal` (k, 3) are the tool positions of follower and master, every `PERIOD` seconds.
    Lags up to `most` (s) or half the run are tried, in steps of two periods.
    """
    best: tuple[float, float, np.ndarray] | None = None
    for n in range(0, min(round(most / PERIOD), len(goal) // 2), 2):
        before = np.concatenate([np.repeat(goal[:1], n, axis=0), goal[: len(goal) - n]])
        error = np.linalg.norm(tool - before, axis=1)
        score = float(np.mean(error**2))
        if best is None or score < best[0]:
            best = score, n * PERIOD, error
    assert best is not None
    return best[1], best[2]
