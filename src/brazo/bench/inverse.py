"""Inverse kinematics of the Puma 560, of the UR5e and of six-joint arms without special geometry.

For the Puma and the UR5e, one call and batches are timed.  Each call solves the next of many random
poses and returns the joint values of all branches as an array, or as a list of branches.  Libraries
that find one numeric solution return only that one.  A peer (another library) is timed if its
solutions for 20 poses reach the targets.  A peer that finds all branches must also find as many
branches as brazo.

The arms without special geometry are one of brazo's robots and two arms for which the library ssik
has a prepared solver.  Each call returns a list of all solutions, including those out of limits.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from itertools import cycle
from typing import Any

import numpy as np

from brazo.bench.arms import puma, ur5e
from brazo.bench.clock import race
from brazo.bench.peers.inverse import InversePeer, ShippedSSIK, inverse_peers, missing
from brazo.bench.report import Section, Value
from brazo.bench.settings import Settings
from brazo.codegen import thread_count, threads
from brazo.robot import Robot, load

__all__ = ["measure"]

_POSES = 200
_REACHED = 1e-6
_SAME_POSE = 1e-12
_PREPARED = ("jaco2", "gen3_lite")  # Kinova's JACO 2 and Gen3 lite, as ssik names them


def measure(settings: Settings) -> list[Section]:
    single = Section("ik_single", "Inverse kinematics, one call")
    batch = Section("ik_batch", "Inverse kinematics, batches")
    for arm in (puma(), ur5e()):
        peers, notes = inverse_peers(arm) if settings.peers else ([], [])
        single.notes += [note for note in notes if note not in single.notes]
        T = arm.fk(arm.random_q(_POSES, seed=1))
        fit = []
        for peer in peers:
            if (why := _unfit(arm, peer, T)) is None:
                fit.append(peer)
            else:
                single.notes.append(f"{peer.name}, {arm.name}: {why}")
        single.rows.append(_single(settings, arm, fit, T))
        size = 1_000 if settings.quick else 10_000
        T = arm.fk(arm.random_q(size, seed=2))
        for count in (1, 2) if thread_count() > 1 else (1,):
            batch.rows.append(_batch(settings, arm, fit, T, count))
    return [single, batch, _general(settings)]


def _general(settings: Settings) -> Section:
    section = Section("ik_general", "Inverse kinematics, 6R of no special geometry, all solutions")
    arm = load("general-6r")
    section.rows.append(_listed(settings, arm, [], arm.fk(arm.random_q(_POSES, seed=1))))
    if not settings.peers:
        return section
    if find_spec("ssik") is None:
        section.notes.append(missing("ssik", "ssik"))
        return section
    for key in _PREPARED:
        peer = ShippedSSIK(key)
        q = peer.arm.random_q(_POSES, seed=1)
        if (gap := peer.disagreement(q[:20])) > _SAME_POSE:
            section.notes.append(f"ssik, {key}: its tool pose differs by {gap:.1e}; not timed")
            continue
        T = peer.arm.fk(q)
        if (why := _unfit(peer.arm, peer, T)) is None:
            section.rows.append(_listed(settings, peer.arm, [peer], T))
        else:
            section.notes.append(f"ssik, {key}: {why}")
    return section


def _listed(
    settings: Settings, arm: Robot, peers: list[InversePeer], T: np.ndarray
) -> dict[str, Value]:
    own = cycle(T)
    contestants: dict[str, Callable[[], Any]] = {"brazo": lambda: arm.ik(next(own)).all}
    contestants |= {peer.name: peer.caller(T) for peer in peers}
    seconds = race(settings, contestants)
    counts = arm.ik_batch(T).valid.sum(axis=1)
    row: dict[str, Value] = {"arm": arm.name, "solutions, mean": float(counts.mean())}
    row |= {f"{name} [µs]": 1e6 * value for name, value in seconds.items()}
    for peer in peers:
        row[f"{peer.name} / brazo"] = seconds[peer.name] / seconds["brazo"]
    return row


def _single(
    settings: Settings, arm: Robot, peers: list[InversePeer], T: np.ndarray
) -> dict[str, Value]:
    own, everything = cycle(T), cycle(T)
    contestants: dict[str, Callable[[], Any]] = {
        "brazo": lambda: arm.ik(next(own)).all_q,
        "brazo, list of branches": lambda: arm.ik(next(everything)).all,
    }
    for peer in peers:
        contestants[peer.name] = peer.caller(T)
    seconds = race(settings, contestants)
    row: dict[str, Value] = {"arm": arm.name}
    row |= {f"{name} [µs]": 1e6 * value for name, value in seconds.items()}
    for peer in peers:
        row[f"{peer.name} / brazo"] = seconds[peer.name] / seconds["brazo"]
    return row


def _batch(
    settings: Settings, arm: Robot, peers: list[InversePeer], T: np.ndarray, count: int
) -> dict[str, Value]:
    def own() -> None:
        with threads(count):
            arm.ik_batch(T)

    contestants: dict[str, Callable[[], Any]] = {"brazo": own}
    for peer in peers:
        if (call := peer.batch(T, count)) is not None:
            contestants[peer.name] = call
    seconds = race(settings, contestants, work=len(T))
    row: dict[str, Value] = {"arm": arm.name, "N": len(T), "threads": count}
    row |= {f"{name} [µs/pose]": 1e6 * value for name, value in seconds.items()}
    for name, value in seconds.items():
        if name != "brazo":
            row[f"{name} / brazo"] = value / seconds["brazo"]
    return row


def _unfit(arm: Robot, peer: InversePeer, T: np.ndarray) -> str | None:
    """Return the reason why a peer is not timed; None if it is timed.  T are poses (N, 4, 4)."""
    ours = arm.ik_batch(T).valid.sum(axis=1)
    for target, count in zip(T[:20], ours, strict=False):
        q = peer.solve(target)
        if peer.every_branch and len(q) != count:
            return f"it finds {len(q)} branches where brazo finds {count}; not timed"
        if len(q) and np.abs(arm.fk(q) - target).max() > _REACHED:
            return "its branches do not reach the target; not timed"
    return None
