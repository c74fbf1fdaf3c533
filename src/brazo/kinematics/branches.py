"""Compiled closed-form inverse kinematics of one robot, for a single target and for batches.

The kernel (`closed_form.compiled`) computes only the joints between base and tool. This module
converts targets and start values of the whole robot to the kernel's inputs. It converts the
kernel's results to `IKResult` and `IKBatch`. A *branch* is one of the IK solutions of a target, and
its *slot* is its index.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from brazo.kinematics.closed_form.base import BranchKernel, ClosedForm
from brazo.kinematics.closed_form.compiled import split
from brazo.kinematics.options import Orientation
from brazo.kinematics.result import Branch, IKBatch, IKResult, Residual

Array = np.ndarray

_TOLERANCE = 1e-9  # m and rad, default of `Robot.ik`
_ANY = 1e9  # rad, tolerance that accepts every orientation
_FLOAT = np.dtype(float)


class Found:
    """All branches (IK solutions) of one target, as returned by the kernel.

    The methods convert the branches to `Branch` objects.
    """

    __slots__ = ("_solver", "branch", "orientation", "q", "start", "tolerance")

    def __init__(
        self,
        solver: CompiledBranches,
        q: Array,
        branch: Array,
        start: Array,
        orientation: Orientation,
        tolerance: float,
    ) -> None:
        self._solver, self.q, self.branch, self.start = solver, q, branch, start
        self.orientation, self.tolerance = orientation, tolerance

    def list(self) -> list[Branch]:
        """Return the branches that reach the target.

        Branches within the joint limits come first, then those out of limits. Each group is
        sorted by the distance from the start values.
        """
        return [branch for branch, _, _ in self.entries()]

    def exact(self) -> list[Branch]:
        """Return the branches that reach the target with an accepted orientation.

        If `orientation` is "full", the orientation error must be within the tolerance. Otherwise
        every orientation is accepted. The branches are sorted as in the method `list`.
        """
        full, tolerance = self.orientation == "full", self.tolerance
        return [b for b in self.list() if not full or b.orientation_error <= tolerance]

    def entries(self) -> list[tuple[Branch, int, float]]:
        """Return (branch, slot, distance) for each branch that reaches the target.

        The tuples are sorted as in the method `list`. The slot is the index of the branch in
        `CompiledBranches.names`. The distance is the largest |q − start value| of the joints
        between base and tool (rad or m).
        """
        solver, free = self._solver, self.orientation == "free"
        names, found = solver.names, []
        rows = solver.whole(self.q, self.start)
        for slot, (valid, bits, position, orientation, away) in enumerate(self.branch.tolist()):
            if valid:
                beyond = solver.joints_of(bits)
                angle = 0.0 if free else orientation
                one = Branch(rows[slot], names[slot], not beyond, beyond, position, angle)
                found.append((one, slot, away))
        found.sort(key=lambda entry: (not entry[0].within_limits, entry[2]))
        return found


class Reached(IKResult):
    """`IKResult` for a reached target; most attributes are computed on first access.

    Compiled code also creates these objects, without calling `__init__`. It sets only attributes
    that are listed in `__slots__`.
    """

    # `_context`: solver and start values; `_found`: the kernel's result; `_all_q`: joint values of
    # the robot for all branches; `_chain_q`: only those of the joints between base and tool.
    __slots__ = ("_all_q", "_chain_q", "_context", "_found")

    def __init__(self, found: Array, context: tuple[CompiledBranches, Array]) -> None:
        self._found, self._context = found, context

    @property
    def q(self) -> Array:
        try:
            return self._q
        except AttributeError:
            solver, start = self._context
            self._q: Any = solver.whole(solver.split(self._found)[2][:-5], start)
            return self._q

    @property
    def success(self) -> bool:
        return True

    @property
    def reason(self) -> str:
        return ""

    @property
    def residual(self) -> Residual:
        return Residual(self._found.item(-4), self._found.item(-3))

    @property
    def all(self) -> tuple[Branch, ...]:
        try:
            known = self._all
        except AttributeError:
            known = None
        if known is None:
            solver, start = self._context
            q, branch, _ = solver.split(self._found)
            known = tuple(Found(solver, q, branch, start, "full", _TOLERANCE).exact())
            self._all = known
        return known

    @property
    def all_q(self) -> Array:
        try:
            return self._all_q
        except AttributeError:
            solver, start = self._context
            self._all_q: Array = solver.whole(solver.split(self._found)[0], start)
            return self._all_q

    @property
    def valid(self) -> Array:
        reached, _, _, orientation, _ = self._context[0].split(self._found)[1].T
        return (reached > 0.0) & (orientation <= _TOLERANCE)

    @property
    def names(self) -> tuple[str, ...]:
        return self._context[0].names

    @property
    def branch(self) -> str:
        return self._context[0].names[int(self._found.item(-5))]

    @property
    def method(self) -> str:
        return self._context[0].method

    @property
    def iterations(self) -> int:
        return 0


class CompiledBranches:
    """Compiled closed-form inverse kinematics of one robot.

    `limits` (n, 2) are the joint limits of the whole robot.
    """

    def __init__(self, form: ClosedForm, limits: Array) -> None:
        self.form = form
        self.used = list(form.chain.coordinates)
        self.limits = limits[self.used]
        self.names = form.branch_names
        self.whole_chain = self.used == list(range(len(limits)))
        self.method = f"closed form, {form.family}"
        self._count = len(self.used)
        self._rules: dict[Any, Array] = {}
        self._beyond: dict[float, tuple[int, ...]] = {0.0: ()}

    @cached_property
    def kernel(self) -> BranchKernel:
        return self.form.branch_kernel(self.limits)

    @cached_property
    def entry(self) -> Callable[..., Any]:
        return self.kernel.entry

    def split(self, found: Array) -> tuple[Array, Array, Array]:
        """Split the kernel's result into the arrays `q`, `branch` and `best` of `compiled.py`."""
        return split(found, len(self.names), self._count)

    def rule(self, orientation: Orientation, tolerance: float, slots: set[int] | None) -> Array:
        """Return the kernel's input `rule`: tolerance, accepted orientations, allowed branches.

        `compiled.py` describes its layout. `slots` are the indices of the allowed branches; None
        allows all.
        """
        key = (orientation, tolerance, None if slots is None else frozenset(slots))
        known = self._rules.get(key)
        if known is None:
            known = np.ones(2 + len(self.names))
            known[0] = _ANY if orientation == "free" else tolerance
            known[1] = 0.0 if orientation == "full" else 1.0
            if slots is not None:
                known[2:] = [float(i in slots) for i in range(len(self.names))]
            if len(self._rules) > 64:
                self._rules.clear()
            self._rules[key] = known
        return known

    def starts(self, start: Array, given: bool) -> Array:
        """Return the kernel's input `q0` for start values (..., n) of the whole robot.

        The input contains the start values of the joints between base and tool, then 1 if `given`
        is True, otherwise −1. `given` is True if the user specified the start values.
        """
        chain = start if self.whole_chain else start[..., self.used]
        values = np.empty((*chain.shape[:-1], self._count + 1))
        values[..., :-1] = chain
        values[..., -1] = 1.0 if given else -1.0
        return values

    def whole(self, q: Array, start: Array) -> Array:
        """Return joint values (..., n) of the whole robot.

        q contains the values of the joints between base and tool. The other joints have their
        values from `start`.
        """
        if self.whole_chain:
            return q
        values = np.array(np.broadcast_to(start, (*q.shape[:-1], start.shape[-1])))
        values[..., self.used] = q
        return values

    def joints_of(self, bits: float) -> tuple[int, ...]:
        """Convert a bit mask (bit i: joint i of the chain) to joint indices of the robot."""
        known = self._beyond.get(bits)
        if known is None:
            field = int(bits)
            known = tuple(sorted(j for i, j in enumerate(self.used) if field >> i & 1))
            self._beyond[bits] = known
        return known

    def fast(self, reference: Array) -> Callable[[Any, Any], IKResult | None]:
        """Return a fast IK function (T, q0) for one pose with full orientation and any branch.

        T must be an array (4, 4), and q0 a float64 array (n,) or None. The function returns None
        for other arguments, if T is not a pose, and if there is no solution within the limits. The
        caller must then use the general method. `reference` (n,) contains the start values for
        calls without q0.
        """
        entry, rule = self.entry, self.rule("full", _TOLERANCE, None)
        default, whole_chain, used = self.starts(reference, False), self.whole_chain, self.used
        plain, given = (self, reference), self.starts(reference, True)

        def solve(T: Any, q0: Any) -> IKResult | None:
            if type(T) is not np.ndarray or T.shape != (4, 4):
                return None
            if q0 is None:
                context, vector = plain, default
            elif type(q0) is np.ndarray and q0.shape == reference.shape and q0.dtype is _FLOAT:
                context, vector = (self, q0 if whole_chain else q0.copy()), given.copy()
                vector[:-1] = q0 if whole_chain else q0[used]
            else:
                return None
            found = entry(T.reshape(16), vector, rule)
            if found.item(-1) == 0.0:  # T is not a pose, or there is no solution
                return None
            return Reached(found, context)

        return solve

    def plain(self, reference: Array, otherwise: Callable[..., Any]) -> Callable[..., Any]:
        """Return an IK function that runs machine code if its only argument is a pose T (4, 4).

        The function passes all other calls to the function `otherwise`. If there is no compiled
        kernel for single targets, `otherwise` itself is returned. `reference` (n,) contains the
        start values.
        """
        kernel = self.kernel.single
        if kernel is None:
            return otherwise
        fixed = (self.starts(reference, False), self.rule("full", _TOLERANCE, None))
        slots = ("_found", "_all_q" if self.whole_chain else "_chain_q", "_context")
        return kernel.fixed_entry(fixed, Reached, slots, (self, reference), otherwise)

    def find(
        self,
        T: Array,
        start: Array,
        given: bool,
        orientation: Orientation,
        tolerance: float,
        slots: set[int] | None,
    ) -> tuple[Found, list[float]]:
        """Find all branches for a valid pose T (4, 4).

        Also returns `best`, the kernel's data of the best branch (see `compiled.py`). The other
        arguments are explained in `starts` and `rule`.
        """
        rule = self.rule(orientation, tolerance, slots)
        found = self.entry(T.reshape(16), self.starts(start, given), rule)
        q, branch, best = self.split(found)
        return Found(self, q, branch, start, orientation, tolerance), best.tolist()

    def batch(
        self,
        T: Array,
        start: Array,
        given: bool,
        orientation: Orientation,
        tolerance: float,
        slots: set[int] | None,
        threads: int | None = None,
    ) -> tuple[IKBatch, Array]:
        """Find all branches for targets T (..., 4, 4).

        Also returns an array (...) that is True where the target is a valid pose. The other
        arguments are explained in `starts` and `rule`.
        """
        lead = T.shape[:-2]
        rule = self.rule(orientation, tolerance, slots)
        vectors = self.starts(start, given)
        flat = np.ascontiguousarray(T, dtype=float).reshape(*lead, 16)
        found = self.kernel.rows(flat, vectors, rule, threads)
        slot, rigid, done = np.moveaxis(found.verdict, -1, 0)
        success = done > 0.0
        wide = start if self.whole_chain else start[..., None, :]
        chosen = self.whole(found.chosen, start)
        if not success.all():
            chosen[~success] = np.nan
        result = IKBatch(
            q=chosen,
            success=success,
            branch=slot.astype(int),
            all_q=self.whole(found.q, wide),
            valid=found.state >= 0.0,
            within_limits=found.state == 0.0,
            position_error=found.position,
            orientation_error=(
                np.zeros(found.state.shape) if orientation == "free" else found.orientation
            ),
            names=self.names,
            method=self.method,
        )
        return result, rigid > 0.0
