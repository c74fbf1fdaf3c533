"""Peers: other libraries that compute the same results, if they are installed.

A peer is built from the model of a robot.  CasADi evaluates brazo's expressions; the other peers
have their own algorithms.  Each operation of a peer is a `TimedCall`.  Peers are imported only if
they are installed, because most of them are not dependencies of brazo.
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
    """An operation of a library: `call` is timed, `answer` returns the result as an array."""

    call: Callable[[], Any]
    answer: Callable[[], np.ndarray]


class Peer:
    """Another library with a model of one robot.

    Its methods return one `TimedCall` or two for each operation that the library supports.
    """

    name: str

    def single(self, arm: Robot, at: States) -> dict[str, TimedCall]:
        """Return calls for the first of the states, by operation."""
        return {}

    def batch(self, arm: Robot, at: States, threads: int) -> dict[str, TimedCall]:
        """Return calls for all N states, by operation; their results are (N, n)."""
        return {}

    def derivatives(self, arm: Robot, at: States) -> dict[str, tuple[TimedCall, TimedCall]]:
        """Return two calls for each operation: for the first of the states, and for all N states.

        The results have the shapes (3, n, n) and (3, N, n, n).  The first dimension contains the
        derivatives with respect to q, to qd, and to qdd or tau.
        """
        return {}


def installed(arm: Robot, only: Sequence[str] | None = None) -> tuple[list[Peer], list[str]]:
    """Return the installed peers, and a note for each one that cannot be used.

    With `only`, peers with other names are ignored.
    """
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
    """Return the peer of an arm; it is cached, because some peers compile C code when created."""
    return maker(arm)


class NotAPeer(Exception):
    """Raised if a library cannot be used as a peer; the message is the reason."""


def optional(module: str) -> Any:
    """Import and return a module of a peer, given by name."""
    return import_module(module)


def agrees(ours: np.ndarray, theirs: np.ndarray, tolerance: float = 1e-9) -> bool:
    """Return whether two arrays have the same shape and differ by at most `tolerance`.

    The tolerance is relative to the largest absolute value in `ours`, or absolute if that value is
    below 1.
    """
    if ours.shape != theirs.shape:
        return False
    return bool(np.abs(ours - theirs).max() <= tolerance * max(1.0, np.abs(ours).max()))
