"""The interface and results of closed forms, and shared trigonometry.

A closed form belongs to a *family* of arms, recognised from the geometry of the joint axes
(which are parallel, which intersect), never from a robot's name.  It finds all branches for a batch
of targets; slot b of the result is always the branch `branch_names[b]`.

A branch's name is made of *flags*, words with a geometric meaning such as LEFTY or ABOVE.  The
flags of a configuration are given by `flag_values`, so names of configurations and of IK branches
have the same meaning.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from brazo.kinematics.chain import Chain

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Array = np.ndarray
# A flag and the names of its values: ("elbow", ("ABOVE", "BELOW")).
Flag = tuple[str, tuple[str, ...]]

# Tolerance of parallel, intersecting and perpendicular axes (rad, or fraction of size).
GEOMETRY_TOLERANCE = 1e-9
# A solution counts as one when forward kinematics bring the tool this close to the target: rad, and
# a fraction of the arm's size.  Wide enough for a target at the very edge of the reach, rounded.
ACCEPTED = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class Solutions:
    """All branches for all targets; branches without a solution are not `valid`."""

    q: Array  # (..., B, n) revolute values in (−π, π]
    valid: Array  # (..., B) bool
    names: tuple[str, ...]  # B
    position_error: Array  # (..., B) m, by forward kinematics
    orientation_error: Array  # (..., B) rad; non-zero for arms with too few joints


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Why an arm does not belong to a family; falsy."""

    family: str
    reason: str

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return f"not {self.family}: {self.reason}"


class ClosedForm(ABC):
    """A solver for one arm of a family."""

    family: ClassVar[str]
    chain: Chain
    flags: tuple[Flag, ...]

    @property
    def branch_names(self) -> tuple[str, ...]:
        """The name of every slot, e.g. "LEFTY ABOVE NOFLIP"."""
        return tuple(" ".join(words) for words in itertools.product(*(w for _, w in self.flags)))

    @property
    def branches(self) -> int:
        return math.prod(len(words) for _, words in self.flags)

    def solve(self, T: ArrayLike, q0: ArrayLike | None = None) -> Solutions:
        """All branches for tool poses (..., 4, 4) in the base frame.

        q0 (n,) or (..., n) determines joint values that the target leaves free at singular poses.
        """
        T = np.asarray(T, dtype=float)
        batch = T.shape[:-2]
        n, B = self.chain.n, self.branches
        if q0 is not None:
            q0 = np.broadcast_to(np.asarray(q0, dtype=float), (*batch, n)).reshape(-1, n)
        q, valid, position, orientation = self._solve(T.reshape(-1, 4, 4), q0)
        return Solutions(
            q.reshape(*batch, B, n),
            valid.reshape(*batch, B),
            self.branch_names,
            position.reshape(*batch, B),
            orientation.reshape(*batch, B),
        )

    def branch_of(self, q: ArrayLike) -> Array:
        """The slot of configurations q: (..., n) -> (...) int."""
        values = self.flag_values(np.asarray(q, dtype=float))
        slot = np.zeros(values.shape[:-1], dtype=int)
        for i, (_, words) in enumerate(self.flags):
            slot = slot * len(words) + values[..., i]
        return slot

    @abstractmethod
    def flag_values(self, q: Array) -> Array:
        """The value of each flag at configurations q: (..., n) -> (..., flags) int."""

    @abstractmethod
    def why_unreachable(self, T: ArrayLike) -> str | None:
        """A message why no branch reaches a pose (4, 4), with values; None if one does."""

    @abstractmethod
    def _solve(self, T: Array, q0: Array | None) -> tuple[Array, Array, Array, Array]:
        """q (N, B, n), valid (N, B), position and orientation error (N, B) of targets (N, 4, 4)."""


def pose_errors(chain: Chain, q: Array, T: Array) -> tuple[Array, Array]:
    """Distance (m) and angle (rad) from the targets T (N, 4, 4) of the tool at q (N, B, n)."""
    miss = (chain.fk(q) - T[:, None])[..., :3, :]
    miss *= miss
    position = np.sqrt(miss[..., 3].sum(axis=-1))
    # |Ra − Rb| = 2√2 sin(angle/2) in the Frobenius norm.
    chord = np.sqrt(miss[..., :3].sum(axis=(-2, -1)) / 8)
    return position, 2 * np.arcsin(np.minimum(chord, 1.0))


def wrap(angle: Array) -> Array:
    """Wrap to [−π, π]."""
    return angle - 2 * math.pi * np.round(angle / (2 * math.pi))


def solve_trig(A: Array, B: Array, C: Array, free: Array, negligible: float) -> Array:
    """Both θ with A cos θ + B sin θ = C: (...) -> (..., 2).

    First the one where the left side decreases with θ: −A sin θ + B cos θ ≤ 0.

    If |C| is too large the nearest θ is returned twice.  If A and B are `negligible`, θ is
    arbitrary: `free` and its opposite are returned.
    """
    r = np.hypot(A, B)
    root = np.sqrt(np.maximum((r - C) * (r + C), 0.0))
    middle, half = np.arctan2(B, A), np.arctan2(root, C)
    theta = np.stack([middle + half, middle - half], axis=-1)
    vanishing = r <= negligible
    if np.any(vanishing):
        opposite = np.stack(np.broadcast_arrays(free, free + math.pi), axis=-1)
        theta = np.where(vanishing[..., None], opposite, theta)
    return theta
