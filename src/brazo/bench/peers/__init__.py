"""Other engines that compute the same results, if they are installed.

A peer is built from a robot's model, never from brazo's kinematics, and each of its operations is a
`TimedCall`: a call to time, and its result.  Peers are not imported by name, because none is a
dependency.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from brazo.bench.arms import States
from brazo.robot import Robot

__all__ = ["OPERATIONS", "Peer", "TimedCall", "agrees", "installed", "optional"]

OPERATIONS = ("inverse_dynamics", "fk", "jacobian", "mass_matrix", "forward_dynamics")


@dataclass(frozen=True, slots=True)
class TimedCall:
    """A call to time, and its result."""

    call: Callable[[], Any]
    answer: Callable[[], np.ndarray]


class Peer:
    """An engine with one robot; operations that it lacks are not in its tasks."""

    name: str

    def single(self, arm: Robot, at: States) -> dict[str, TimedCall]:
        """Tasks by operation, for the first of the states."""
        return {}

    def batch(self, arm: Robot, at: States, threads: int) -> dict[str, TimedCall]:
        """Tasks by operation, for all of the states; answers are (N, n)."""
        return {}

    def derivatives(self, arm: Robot, at: States) -> dict[str, tuple[TimedCall, TimedCall]]:
        """Tasks of derivatives, for the first of the states and for all; answers are
        (3, ..., n, n)."""
        return {}


def installed(arm: Robot, only: Sequence[str] | None = None) -> tuple[list[Peer], list[str]]:
    """Return the installed peers (of those named in `only`), and a note on each that is missing."""
    peers: list[Peer] = []
    notes: list[str] = []
    for module, package, make in (
        ("pinocchio", "pin", "Pinocchio"),
        ("mujoco", "mujoco", "MuJoCo"),
        ("roboticstoolbox", "roboticstoolbox-python", "Toolbox"),
        ("casadi", "casadi", "CasADi"),
    ):
        if only is not None and make not in only:
            continue
        if find_spec(module) is None:
            notes.append(f"{make} is not installed (pip install {package})")
            continue
        try:
            maker = getattr(import_module(f"brazo.bench.peers.{module}_peer"), make)
            peers.append(_made(maker, arm))
        except NotAPeer as reason:
            notes.append(f"{make}: {reason}")
    return peers, notes


@lru_cache(maxsize=16)
def _made(maker: Callable[[Robot], Peer], arm: Robot) -> Peer:
    """Make a peer once for all sections: some compile C code."""
    return maker(arm)


class NotAPeer(Exception):
    """The reason why an engine cannot be used."""


def optional(module: str) -> Any:
    """Import a peer's module by name."""
    return import_module(module)


def agrees(ours: np.ndarray, theirs: np.ndarray, tolerance: float = 1e-9) -> bool:
    """Whether two arrays are equal relative to their largest entry."""
    if ours.shape != theirs.shape:
        return False
    return bool(np.abs(ours - theirs).max() <= tolerance * max(1.0, np.abs(ours).max()))
