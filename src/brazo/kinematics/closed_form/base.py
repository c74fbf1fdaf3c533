"""The interface of closed forms.

A closed form belongs to a *family* of arms, recognised from the geometry of the joint axes
(which are parallel, which intersect), never from a robot's name.  It finds all branches of a
target; slot b is always the branch `branch_names[b]`.

A family writes one `formula` over any scalar (`brazo.codegen.ring`, `pairs.py`): selections instead
of branches, one `Candidate` per slot, whether or not the target is within reach.  The part common
to all families is added by `compiled.py`: Newton refinement, errors by forward kinematics, limits,
choice of the best branch.  The whole is lowered to machine code for `Robot.ik`; `ClosedForm.solve`
runs the same graph on NumPy columns.

A branch's name consists of *flags*, words with a geometric meaning such as LEFTY or ABOVE.  The
flags of a configuration are given by `flag_values`, so names of configurations and of IK branches
have the same meaning.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np

from brazo.kinematics.chain import Chain
from brazo.kinematics.forward import Pose

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from brazo.codegen import Kernel
    from brazo.kinematics.closed_form.compiled import BranchGraph

Array = np.ndarray
Scalar = Any  # an element of a ring: float, NumPy column, node of a graph
# A flag and the names of its values: ("elbow", ("ABOVE", "BELOW")).
Flag = tuple[str, tuple[str, ...]]

# Tolerance of parallel, intersecting and perpendicular axes (rad, or fraction of size).
GEOMETRY_TOLERANCE = 1e-9
# A solution counts as one when forward kinematics bring the tool this close to the target: rad, and
# a fraction of the arm's size, at most 1e-10 m.  Wide enough for a target at the very edge of the
# reach, rounded.
ACCEPTED = 1e-10


def accepted_distance(size: float) -> float:
    """The position error (m) up to which a solution is accepted, for an arm of a size (m)."""
    return ACCEPTED * min(size, 1.0)


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


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """One slot of a formula."""

    # n joint values, the nearest ones where the target is out of reach; an angle may also be given
    # as a pair (cos, sin).
    q: list[Scalar]
    exists: Scalar = 0.0  # ≥ 0 where the branch exists; its errors are checked anyway


class BranchRows(NamedTuple):
    """The branches of many targets."""

    q: Array  # (..., B, n) turned into the limits
    state: Array  # (..., B) −1 without a solution, else its joints out of limits (bit i: joint i)
    position: Array  # (..., B) error, m
    orientation: Array  # (..., B) error, rad
    chosen: Array  # (..., n) the best branch
    verdict: Array  # (..., 3): its slot (−1: no success), 1 if T is a pose, 1 on success


class BranchKernel(Protocol):
    """The compiled branches of an arm; see `compiled` for the inputs T, q0, rule."""

    @property
    def entry(self) -> Callable[..., Any]:
        """T, q0, rule of one target -> q, branch, best as one vector."""
        ...

    @property
    def single(self) -> Kernel | None:
        """The kernel of `entry`, if it is one."""
        ...

    def rows(self, T: Array, q0: Array, rule: Array, threads: int | None = None) -> BranchRows:
        """The branches of targets (..., 16)."""
        ...


class ClosedForm(ABC):
    """A solver for one arm of a family."""

    family: ClassVar[str]
    # Which part of a pose a branch meets: all of it; the position with the nearest orientation that
    # the arm has there; or the position with whatever orientation results.
    meets: ClassVar[Literal["pose", "nearest", "position"]] = "pose"
    # Whether the names mean something geometric, so that a configuration keeps its name in motion.
    geometric: ClassVar[bool] = True
    chain: Chain
    flags: tuple[Flag, ...]

    @property
    def branch_names(self) -> tuple[str, ...]:
        """The name of every slot, e.g. "LEFTY ABOVE NOFLIP"."""
        return tuple(" ".join(words) for words in itertools.product(*(w for _, w in self.flags)))

    @property
    def branches(self) -> int:
        return math.prod(len(words) for _, words in self.flags)

    @abstractmethod
    def formula(self, T: Pose, q0: list[Scalar], given: Scalar) -> list[Candidate]:
        """A candidate for every slot, for a tool pose T (nine scalars of the rotation, row by row,
        and three of the position, all nodes of one graph) in the base frame.

        q0: n values for joints that the target leaves free, the user's or 0; `given` ≥ 0 where they
        are the user's.
        """

    def errors(self, turns: Sequence[Any], p: Sequence[Scalar]) -> tuple[Scalar, Scalar, Scalar]:
        """Forward kinematics: the larger of both errors (a fraction of the size, rad), the position
        error (m) and the sine of half the orientation error.

        turns: a pair (cos, sin) for each revolute joint, the value of each prismatic one; p: the
        target (12).
        """
        from brazo.kinematics.closed_form.pose_error import chain_errors

        return chain_errors(self.chain, turns, p)

    @abstractmethod
    def flag_values(self, q: Array) -> Array:
        """The value of each flag at configurations q: (..., n) -> (..., flags) int."""

    @abstractmethod
    def why_unreachable(self, T: ArrayLike) -> str | None:
        """A message why no branch reaches a pose (4, 4), with values; None if one does."""

    def branch_kernel(self, limits: Array) -> BranchKernel:
        """All branches with limits (n, 2) of the chain's joints, compiled; see `compiled`."""
        from brazo.kinematics.closed_form.compiled import BranchGraph

        return BranchGraph(self, limits)

    @cached_property
    def graph(self) -> BranchGraph:
        """The graph of all branches without limits, for `solve`."""
        from brazo.kinematics.closed_form.compiled import BranchGraph

        return BranchGraph(self, np.tile([-np.inf, np.inf], (self.chain.n, 1)))

    def solve(self, T: ArrayLike, q0: ArrayLike | None = None) -> Solutions:
        """All branches for tool poses (..., 4, 4) in the base frame.

        q0 (n,) or (..., n) determines joint values that the target leaves free at singular poses.
        """
        T = np.asarray(T, dtype=float)
        batch, n = T.shape[:-2], self.chain.n
        if q0 is not None:
            q0 = np.broadcast_to(np.asarray(q0, dtype=float), (*batch, n)).reshape(-1, n)
        q, branch = self.graph.evaluate(T.reshape(-1, 4, 4), q0)
        valid, _, position, orientation, _ = np.moveaxis(
            branch.reshape(*batch, self.branches, 5), -1, 0
        )
        return Solutions(
            wrapped(q.reshape(*batch, self.branches, n), self.chain.revolute),
            valid > 0,
            self.branch_names,
            position,
            orientation,
        )

    def branch_of(self, q: ArrayLike) -> Array:
        """The slot of configurations q: (..., n) -> (...) int."""
        values = self.flag_values(np.asarray(q, dtype=float))
        slot = np.zeros(values.shape[:-1], dtype=int)
        for i, (_, words) in enumerate(self.flags):
            slot = slot * len(words) + values[..., i]
        return slot


def wrapped(q: Array, revolute: Array) -> Array:
    """Joint values (..., n) with the angles wrapped to [−π, π]."""
    return np.where(revolute, wrap(q), q)


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
