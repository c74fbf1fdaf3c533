"""Interface of closed-form IK solvers (`ClosedForm`) and their results.

A closed form solves a *family* of arms. The family is recognised from the geometry of the joint
axes (which axes are parallel, which intersect), not from the robot's name. A *branch* is one of the
IK solutions of a target. A solver always computes all B branches. The index of a branch is its
*slot*, and the branch in slot b has the name `branch_names[b]`.

The name of a branch consists of *flags*, words with a geometric meaning such as LEFTY or ABOVE.
`flag_values` returns the flags of a configuration, so configurations have the same names as IK
branches.

The mathematics of a family is its `formula`. It works for any scalar type of `brazo.codegen.ring`
(floats, NumPy arrays, graph nodes), so it uses `where` instead of `if`. It returns one `Candidate`
per slot, even if the target is out of reach. `compiled.py` adds the parts that all families have in
common: Newton refinement, errors by forward kinematics, joint limits and the choice of the best
branch. The result is an expression graph. For `Robot.ik` it is compiled to machine code.
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
    """Return the max position error (m) of an accepted IK solution, for an arm of `size` (m)."""
    return ACCEPTED * min(size, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Solutions:
    """All branches (IK solutions) of one or many targets, including those that are not valid."""

    q: Array  # (..., B, n) revolute values in [−π, π]
    valid: Array  # (..., B) bool, True if the branch reaches the target
    names: tuple[str, ...]  # B
    position_error: Array  # (..., B) m, by forward kinematics
    orientation_error: Array  # (..., B) rad; non-zero for arms with too few joints


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Reason why an arm does not belong to a family of arms; false in a boolean context."""

    family: str
    reason: str

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return f"not a {self.family}: {self.reason}"


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """Joint values that a closed-form formula computes for one branch (IK solution)."""

    # n joint values, approximate where the target is out of reach; an angle may also be given as
    # (cos, sin).
    q: list[Scalar]
    exists: Scalar = 0.0  # ≥ 0 where the branch exists; `compiled` checks the errors as well


class BranchRows(NamedTuple):
    """Result of a batch kernel: all branches (IK solutions) of many targets, as arrays."""

    q: Array  # (..., B, n) joint values, moved by full turns into the limits
    state: Array  # (..., B) −1: no solution; else bit i is set if joint i is out of its limits
    position: Array  # (..., B) position error, m
    orientation: Array  # (..., B) orientation error, rad
    chosen: Array  # (..., n) joint values of the best branch
    # (..., 3): slot of the best branch (−1 without success); 1 if T is a pose; 1 on success
    verdict: Array


class BranchKernel(Protocol):
    """Compiled code that computes all branches (IK solutions) of targets; see `compiled.py`."""

    @property
    def entry(self) -> Callable[..., Any]:
        """Function (T, q0, rule) that returns all branches of one target as one vector.

        `compiled.py` describes the inputs and the layout of the vector.
        """
        ...

    @property
    def single(self) -> Kernel | None:
        """The kernel that `entry` calls; None if `entry` is a Python function."""
        ...

    def rows(self, T: Array, q0: Array, rule: Array, threads: int | None = None) -> BranchRows:
        """Return all branches of the targets T (..., 16), which are flattened 4 × 4 pose matrices.

        `compiled.py` describes q0 and rule.
        """
        ...


class ClosedForm(ABC):
    """Closed-form IK solver for one arm; there is one subclass per family of arms."""

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
        """Names of all branches in the order of their slots (indices), e.g. "LEFTY ABOVE"."""
        return tuple(" ".join(words) for words in itertools.product(*(w for _, w in self.flags)))

    @property
    def branches(self) -> int:
        return math.prod(len(words) for _, words in self.flags)

    @abstractmethod
    def formula(self, T: Pose, q0: list[Scalar], given: Scalar) -> list[Candidate]:
        """Return one candidate per branch for a tool pose T in the base frame.

        T consists of nine scalars for the rotation (row by row) and three for the position. q0
        contains n start values, which are used for joints that the target does not determine.
        `given` is ≥ 0 where the user specified q0; elsewhere q0 is 0.
        """

    def errors(self, turns: Sequence[Any], p: Sequence[Scalar]) -> tuple[Scalar, Scalar, Scalar]:
        """Return three errors of the tool pose, computed by forward kinematics.

        1. the larger of position error / size of the arm and 2 sin(orientation error / 2);
        2. the position error (m);
        3. the sine of half the orientation error.

        `turns` contains (cos, sin) of each revolute joint and the value of each prismatic joint. p
        contains the target's rotation (nine scalars) and position (three).
        """
        from brazo.kinematics.closed_form.pose_error import chain_errors

        return chain_errors(self.chain, turns, p)

    @abstractmethod
    def flag_values(self, q: Array) -> Array:
        """Return the flags of configurations q (..., n) as integers (..., number of flags).

        A flag is one word of the branch name. The integer is the index of the word among the words
        that the flag can have, e.g. 0 for LEFTY and 1 for RIGHTY.
        """

    @abstractmethod
    def why_unreachable(self, T: ArrayLike) -> str | None:
        """Return a message that explains why no branch reaches the pose T (4, 4).

        Return None if a branch reaches it.
        """

    def branch_kernel(self, limits: Array) -> BranchKernel:
        """Make the compiled solver; `limits` (n, 2) are the limits of the chain's joints."""
        from brazo.kinematics.closed_form.compiled import BranchGraph

        return BranchGraph(self, limits)

    @cached_property
    def graph(self) -> BranchGraph:
        """The expression graph of all branches without joint limits, used by `solve`."""
        from brazo.kinematics.closed_form.compiled import BranchGraph

        return BranchGraph(self, np.tile([-np.inf, np.inf], (self.chain.n, 1)))

    def solve(self, T: ArrayLike, q0: ArrayLike | None = None) -> Solutions:
        """Compute all branches for tool poses (..., 4, 4) in the base frame.

        At singular poses the target does not determine some joints. These joints keep their values
        from q0, which has shape (n,) or (..., n). Without q0 they are 0.
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
        """Return the branches (...) of configurations q (..., n), as indices in `branch_names`."""
        values = self.flag_values(np.asarray(q, dtype=float))
        slot = np.zeros(values.shape[:-1], dtype=int)
        for i, (_, words) in enumerate(self.flags):
            slot = slot * len(words) + values[..., i]
        return slot


def wrapped(q: Array, revolute: Array) -> Array:
    """Return joint values (..., n) with the angles of revolute joints wrapped to [−π, π]."""
    return np.where(revolute, wrap(q), q)


def pose_errors(chain: Chain, q: Array, T: Array) -> tuple[Array, Array]:
    """Return position errors (m) and orientation errors (rad) of the tool, each (N, B).

    q (N, B, n) contains joint values of B branches for each target, and T (N, 4, 4) the targets.
    """
    miss = (chain.fk(q) - T[:, None])[..., :3, :]
    miss *= miss
    position = np.sqrt(miss[..., 3].sum(axis=-1))
    # |Ra − Rb| = 2√2 sin(angle/2) in the Frobenius norm.
    chord = np.sqrt(miss[..., :3].sum(axis=(-2, -1)) / 8)
    return position, 2 * np.arcsin(np.minimum(chord, 1.0))


def wrap(angle: Array) -> Array:
    """Wrap angles (rad) to [−π, π]."""
    return angle - 2 * math.pi * np.round(angle / (2 * math.pi))
