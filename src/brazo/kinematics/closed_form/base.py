"""The interface of closed-form IK solvers (`ClosedForm`) and their results.

A closed form solves a *family* of arms, recognised from the geometry of the joint axes (which are
parallel, which intersect), never from a robot's name.  A *branch* is one of the IK solutions of a
target.  A solver always computes all B branches; a *slot* is the index of a branch, and the branch
in slot b is called `branch_names[b]`.

The name of a branch consists of *flags*, words with a geometric meaning such as LEFTY or ABOVE.
`flag_values` gives the flags of a configuration, so configurations and IK branches have the same
names.

The mathematics of a family is its `formula`.  It works for any scalar type of `brazo.codegen.ring`
(floats, NumPy arrays, graph nodes), so it uses `where` instead of `if`.  It returns one
`Candidate` per slot, whether or not the target is within reach.  `compiled.py` adds what all
families have in common: Newton refinement, errors by forward kinematics, joint limits and the
choice of the best branch.  For `Robot.ik` this graph is compiled to machine code;
`ClosedForm.solve` evaluates it with NumPy.

In formulas, a condition is a value that is ≥ 0 where the condition holds.
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
Scalar = Any  # float, NumPy array or graph node
# The name of a flag and the words it can take: ("elbow", ("ABOVE", "BELOW")).
Flag = tuple[str, tuple[str, ...]]

# Tolerance for parallel, intersecting and perpendicular axes (rad, or fraction of the arm's size).
GEOMETRY_TOLERANCE = 1e-9
# A solution is accepted if forward kinematics bring the tool this close to the target: in rad, and
# as a fraction of the arm's size, at most 1e-10 m.  Wide enough for the rounding of a target at the
# boundary of the workspace.
ACCEPTED = 1e-10


def accepted_distance(size: float) -> float:
    """Max position error (m) of an accepted solution; `size` is the size of the arm (m)."""
    return ACCEPTED * min(size, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Solutions:
    """All branches for one or many targets; `valid` marks those that reach the target."""

    q: Array  # (..., B, n) revolute values in (−π, π]
    valid: Array  # (..., B) bool
    names: tuple[str, ...]  # B
    position_error: Array  # (..., B) m, by forward kinematics
    orientation_error: Array  # (..., B) rad; non-zero for arms with too few joints


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The reason why an arm does not belong to a family; false in a boolean context."""

    family: str
    reason: str

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return f"not a {self.family}: {self.reason}"


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """The joint values that a formula computes for one branch."""

    # n joint values, approximate where the target is out of reach; an angle may also be given as
    # (cos, sin).
    q: list[Scalar]
    exists: Scalar = 0.0  # ≥ 0 where the branch exists; `compiled` checks the errors as well


class BranchRows(NamedTuple):
    """All branches for many targets, as arrays: the result of a batch kernel."""

    q: Array  # (..., B, n) joint values, moved by full turns into the limits
    state: Array  # (..., B) −1: no solution; else bit i is set if joint i is out of its limits
    position: Array  # (..., B) position error, m
    orientation: Array  # (..., B) orientation error, rad
    chosen: Array  # (..., n) joint values of the best branch
    # (..., 3): slot of the best branch (−1 without success); 1 if T is a pose; 1 on success
    verdict: Array


class BranchKernel(Protocol):
    """Compiled code that computes all branches; `compiled.py` describes T, q0 and rule."""

    @property
    def entry(self) -> Callable[..., Any]:
        """Function (T, q0, rule) for one target; returns q, branch and best as one vector."""
        ...

    @property
    def single(self) -> Kernel | None:
        """The kernel behind `entry`; None if `entry` is a Python function."""
        ...

    def rows(self, T: Array, q0: Array, rule: Array, threads: int | None = None) -> BranchRows:
        """All branches for targets T (..., 16)."""
        ...


class ClosedForm(ABC):
    """Closed-form IK solver for one arm; each family of arms has a subclass."""

    family: ClassVar[str]
    # The part of the target that a valid branch reaches: the full pose; the position, with the
    # closest orientation that is feasible there; or the position with any orientation.
    meets: ClassVar[Literal["pose", "nearest", "position"]] = "pose"
    # False if the branches are only numbered: then the name may change while the arm moves.
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
        """One candidate per slot for a tool pose T in the base frame.

        T consists of nine scalars of the rotation (row by row) and three of the position.  q0 has n
        values for joints that the target does not determine: the user's start values where `given`
        ≥ 0, else 0.
        """

    def errors(self, turns: Sequence[Any], p: Sequence[Scalar]) -> tuple[Scalar, Scalar, Scalar]:
        """Errors of the tool pose, by forward kinematics, as three scalars.

        These are the larger of position error / size and orientation error (rad), the position
        error (m), and the sine of half the orientation error.  `turns` has (cos, sin) for each
        revolute joint and the value of each prismatic joint; p is the target (12: rotation,
        position).
        """
        from brazo.kinematics.closed_form.pose_error import chain_errors

        return chain_errors(self.chain, turns, p)

    @abstractmethod
    def flag_values(self, q: Array) -> Array:
        """Flags of configurations q (..., n), as indices of their words: (..., flags) int."""

    @abstractmethod
    def why_unreachable(self, T: ArrayLike) -> str | None:
        """Message with values why no branch reaches the pose T (4, 4); None if one does."""

    def branch_kernel(self, limits: Array) -> BranchKernel:
        """Compiled solver for all branches with limits (n, 2) of the chain's joints."""
        from brazo.kinematics.closed_form.compiled import BranchGraph

        return BranchGraph(self, limits)

    @cached_property
    def graph(self) -> BranchGraph:
        """The expression graph of all branches without joint limits, used by `solve`."""
        from brazo.kinematics.closed_form.compiled import BranchGraph

        return BranchGraph(self, np.tile([-np.inf, np.inf], (self.chain.n, 1)))

    def solve(self, T: ArrayLike, q0: ArrayLike | None = None) -> Solutions:
        """All branches for tool poses (..., 4, 4) in the base frame.

        At singular poses some joints are not determined by the target; they keep their values of
        q0 (n,) or (..., n).
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
        """Slots (...) of the branches of configurations q (..., n)."""
        values = self.flag_values(np.asarray(q, dtype=float))
        slot = np.zeros(values.shape[:-1], dtype=int)
        for i, (_, words) in enumerate(self.flags):
            slot = slot * len(words) + values[..., i]
        return slot


def wrapped(q: Array, revolute: Array) -> Array:
    """Joint values (..., n) with the angles wrapped to [−π, π]."""
    return np.where(revolute, wrap(q), q)


def pose_errors(chain: Chain, q: Array, T: Array) -> tuple[Array, Array]:
    """Position errors (m) and orientation errors (rad) of the tool at q (N, B, n), each (N, B).

    The targets are T (N, 4, 4).
    """
    miss = (chain.fk(q) - T[:, None])[..., :3, :]
    miss *= miss
    position = np.sqrt(miss[..., 3].sum(axis=-1))
    # |Ra − Rb| = 2√2 sin(angle/2) in the Frobenius norm.
    chord = np.sqrt(miss[..., :3].sum(axis=(-2, -1)) / 8)
    return position, 2 * np.arcsin(np.minimum(chord, 1.0))


def wrap(angle: Array) -> Array:
    """Angles (rad) wrapped to [−π, π]."""
    return angle - 2 * math.pi * np.round(angle / (2 * math.pi))
