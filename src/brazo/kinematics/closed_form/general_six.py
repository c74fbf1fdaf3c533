"""Inverse kinematics of any arm with six revolute joints: all real solutions, up to sixteen.

`elimination` reduces the closed loop of arm and target to a trigonometric polynomial G of degree 8
in the angle of one joint, the kept joint. G is sampled at 24 angles, although 17 angles determine
it: the coefficients above degree 8 measure the rounding error. The zeros of G are located on a
grid, from the values of G and its derivatives. Minima of |G| close to zero count as double zeros,
because rounding may have removed both zeros. Each zero determines the other five joints. Newton
steps on the tool pose refine all six joint values to rounding. A solution is accepted if its
forward kinematics reach the target.

The loop of an arm can be written in eight forms (`elimination.Reading`). Their solutions are equal
in exact arithmetic, but their rounding errors differ by many orders of magnitude. For each arm the
form with the smallest rounding error at random poses is chosen once. A second form, the most
accurate one with another kept joint, is also used at targets where the first form is degenerate or
gives an odd number of solutions. If both forms are degenerate, Newton's method starts from random
configurations. Arms for which G vanishes identically in all forms are not supported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from brazo.codegen import Graph, GraphFunction, Kernel, Refinement, compile_kernel, ring
from brazo.codegen.zeros import TrigonometricZeros, zero_function
from brazo.kinematics.chain import Chain
from brazo.kinematics.closed_form import elimination
from brazo.kinematics.closed_form.base import (
    ACCEPTED,
    BranchRows,
    Candidate,
    ClosedForm,
    Mismatch,
    Solutions,
    accepted_distance,
    wrap,
    wrapped,
)
from brazo.kinematics.closed_form.compiled import cleaned, split
from brazo.kinematics.closed_form.elimination import DEGREE, Reading
from brazo.kinematics.closed_form.joint_limits import placed
from brazo.kinematics.closed_form.pose_error import (
    angle_of_chord,
    chain_errors,
    check,
    newton_step,
)
from brazo.kinematics.forward import Pose

Array = np.ndarray

NAME = "general 6R arm"
SOLUTIONS = 16
_SAMPLES = 24  # of G around the circle
_ROUNDING = 3e-15  # rounding error of G relative to its max
_PROBES = 24  # random poses by which the readings of an arm are compared
_READINGS = 2  # max number of readings compiled for an arm
_USABLE = 1e-4  # rad, max median error of a zero of G before refinement
_FINE, _HOPELESS = 1e-13, 0.5  # errors at which refinement ends, or is not started
_REFINEMENTS, _RANDOM_REFINEMENTS = 16, 40  # max steps
_RANDOM = 256  # random starts if every reading of the loop is degenerate at a target
_CHUNK = 1024  # targets at a time
_KEY = np.array([1.0, 2.0, 1.0, 3.0, 2.0, 1.0])  # integers: full turns make no difference
_SAME = 1e-6  # rad, solutions closer than this are duplicates


def recognise(chain: Chain) -> ClosedForm | Mismatch:
    """Return the solver for an arm with six revolute joints, or the reason why there is none."""
    if chain.n != 6 or not chain.revolute.all():
        kinds = "".join(kind[0].upper() for kind in chain.kinds)
        return Mismatch(NAME, f"the joints are {kinds}; six revolute joints are needed")
    X = chain.X.copy()
    X[:, :3, 3] /= chain.size
    rated = sorted(((_error(reading, X), i) for i, reading in enumerate(_readings(X))))
    if not rated[0][0] < _USABLE:
        return Mismatch(
            NAME, "the elimination is degenerate for this special geometry of the joint axes"
        )
    readings = _readings(X)
    # The best reading for each kept joint.
    usable: dict[int, Reading] = {}
    for error, i in rated:
        if error < _USABLE:
            usable.setdefault(readings[i].joint, readings[i])
    return GeneralSix(chain, list(usable.values())[:_READINGS])


def _readings(X: Array) -> list[Reading]:
    return elimination.readings(X)


def _error(reading: Reading, X: Array) -> float:
    """Return the median error (rad) of the zeros of G over random configurations of the arm.

    G is the determinant for this reading (form of the loop equation, see `elimination`). X (7, 4,
    4) contains the constant transforms of the arm.
    """
    q = np.random.default_rng(0).uniform(-math.pi, math.pi, (_PROBES, 6))
    T = _fk(X, q)
    entries = [T[:, i, j, None] for i in range(3) for j in range(4)]
    with np.errstate(all="ignore"):
        _, _, E = _equations(reading, entries)
        angles = 2 * math.pi * np.arange(_SAMPLES) / _SAMPLES
        U = elimination.triangle(E, np.cos(angles)[None], np.sin(angles)[None])
        G = np.broadcast_to(elimination.determinant(U), (_PROBES, _SAMPLES))
        known = reading.sign * q[:, reading.joint]
        value, slope = (
            np.einsum("nk,ks,ns->n", waves(known), _SPECTRUM, G) for waves in (_waves, _slopes)
        )
        noise = np.abs(np.fft.rfft(G, axis=1)[:, DEGREE + 1 :]).max(axis=1) * 2 / _SAMPLES
        error = (np.abs(value) + noise) / np.abs(slope)
    return float(np.median(np.nan_to_num(error, nan=math.inf)))


def _fk(X: Array, q: Array) -> Array:
    return Chain(("revolute",) * 6, X).fk(q)


def _equations(reading: Reading, T: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Return K, the right side and the six equations of a reading (form of the loop equation).

    The functions `loop_target`, `right_side` and `equations` of `elimination` compute them. T (12
    scalars) is the target.
    """
    K = elimination.loop_target(reading, T)
    right = elimination.right_side(reading, K)
    return K, right, elimination.equations(reading, right)


# --- trigonometric polynomials of degree 8: coefficients of 1, cos kθ, sin kθ ----------------


def _waves(angle: Array) -> Array:
    """Evaluate 1, cos kθ and sin kθ (k = 1 to 8) at angles θ: (...) -> (..., 17)."""
    k = np.arange(1, DEGREE + 1) * np.asarray(angle)[..., None]
    return np.concatenate([np.ones((*k.shape[:-1], 1)), np.cos(k), np.sin(k)], axis=-1)


def _slopes(angle: Array) -> Array:
    """Return the derivatives of `_waves` with respect to the angle."""
    k = np.arange(1, DEGREE + 1)
    a = k * np.asarray(angle)[..., None]
    return np.concatenate([np.zeros((*a.shape[:-1], 1)), -k * np.sin(a), k * np.cos(a)], axis=-1)


_ANGLES = 2 * math.pi * np.arange(_SAMPLES) / _SAMPLES
_CIRCLE = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], axis=-1)
_SPECTRUM = _waves(_ANGLES).T * np.array([1.0] + [2.0] * 16)[:, None] / _SAMPLES  # (17, samples)


@cache
def _zero() -> GraphFunction:
    return zero_function("six_zero", DEGREE)


@cache
def _zeros() -> TrigonometricZeros:
    return TrigonometricZeros(DEGREE, _ROUNDING)


class GeneralSix(ClosedForm):
    """Solver for a general arm with six revolute joints; see the module docstring."""

    family = NAME
    geometric = False  # the solutions of a target are numbered

    def __init__(self, chain: Chain, readings: list[Reading]) -> None:
        self.chain = chain
        self.flags = (("solution", tuple(str(i + 1) for i in range(SOLUTIONS))),)
        self.readings = readings

    def formula(self, T: Pose, q0: list[Any], given: Any) -> list[Candidate]:
        raise NotImplementedError("a general 6R arm has no formula; use `branch_kernel`")

    def branch_kernel(self, limits: Array) -> GeneralSixKernel:
        return GeneralSixKernel(self, limits)

    @cached_property
    def _kernel(self) -> GeneralSixKernel:
        return GeneralSixKernel(self, np.tile([-np.inf, np.inf], (6, 1)))

    def solve(self, T: ArrayLike, q0: ArrayLike | None = None) -> Solutions:
        """Return all solutions for tool poses T (..., 4, 4) in the base frame."""
        T = np.asarray(T, dtype=float)
        start = np.zeros(7)
        if q0 is not None:
            start = np.concatenate([q0, np.ones((*np.shape(q0)[:-1], 1))], axis=-1)
        rule = np.ones(2 + SOLUTIONS)
        found = self._kernel(T.reshape(*T.shape[:-2], 16), start, rule)
        q, branch, _ = split(found, SOLUTIONS, 6)
        valid, _, position, orientation, _ = np.moveaxis(branch, -1, 0)
        return Solutions(
            wrapped(q, self.chain.revolute), valid > 0, self.branch_names, position, orientation
        )

    def flag_values(self, q: Array) -> Array:
        """Return the index (..., 1) of a configuration among the solutions for its tool pose."""
        found = self.solve(self.chain.fk(q))
        gap = np.abs(wrapped(found.q - q[..., None, :], self.chain.revolute)).max(axis=-1)
        return np.argmin(np.where(found.valid, gap, math.inf), axis=-1)[..., None]

    def why_unreachable(self, T: ArrayLike) -> str | None:
        if self.solve(T).valid.any():
            return None
        return "no joint values reach this pose: the equations have no real solution"


class SixSolutions(NamedTuple):
    """M IK solutions of N targets, sorted by target."""

    rows: Array  # (M,) index of the target of each solution
    q: Array  # (M, 6) joint values, moved by full turns into the limits
    # (M, 4) joints out of limits (bit i: joint i), position and orientation error, distance from q0
    rest: Array
    repeated: Array  # (N,) bool, the target may have duplicate solutions
    flat: Array  # (N,) bool, G of the target is close to rounding error: solutions may be missing

    def chosen(self, some: Array) -> SixSolutions:
        """Return the solutions selected by an index array or a boolean mask."""
        return self._replace(rows=self.rows[some], q=self.q[some], rest=self.rest[some])

    def joined(self, other: SixSolutions, some: Array) -> SixSolutions:
        """Return these solutions and those of `other` together, without duplicates.

        Target i of `other` is target `some[i]` of this object.
        """
        rows = np.concatenate([self.rows, some[other.rows]])
        order = np.argsort(rows, kind="stable")
        repeated, flat = np.zeros_like(self.repeated), np.zeros_like(self.flat)
        repeated[some], flat[some] = True, other.flat
        q, rest = (
            np.concatenate(pair)[order] for pair in ((self.q, other.q), (self.rest, other.rest))
        )
        return SixSolutions(rows[order], q, rest, repeated, flat).distinct()

    def distinct(self) -> SixSolutions:
        """Return the solutions without duplicates."""
        if not self.repeated.any():
            return self
        # Equal solutions have equal keys; usually all keys differ, and there is nothing to remove.
        key = np.sort(np.sin(self.q @ _KEY) + 4.0 * self.rows)
        if len(key) < 2 or float((key[1:] - key[:-1]).min()) > 10 * _SAME:
            return self
        keep = np.ones(len(self.rows), dtype=bool)
        for target in np.flatnonzero(self.repeated).tolist():
            low, high = np.searchsorted(self.rows, [target, target + 1])
            order = low + np.argsort(self.rest[low:high, 1], kind="stable")
            same = np.abs(wrap(self.q[order, None] - self.q[order])).max(axis=-1) < _SAME
            keep[order[np.tril(same, -1).any(axis=1)]] = False
        return self.chosen(keep)


class GeneralSixKernel:
    """`BranchKernel` for a general 6R arm with joint limits (6, 2)."""

    def __init__(self, form: GeneralSix, limits: Array) -> None:
        self.form, self.limits = form, limits
        self.chain = form.chain
        self._readings = [_ReadingKernels(self, reading) for reading in form.readings]

    @property
    def entry(self) -> Callable[..., Array]:
        return self.__call__

    @property
    def single(self) -> None:
        return None

    def rows(self, T: Array, q0: Array, rule: Array, threads: int | None = None) -> BranchRows:
        q, branch, best = split(self(T, q0, rule), SOLUTIONS, 6)
        valid, bits, position, orientation, _ = np.moveaxis(branch, -1, 0)
        state = np.where(valid > 0, bits, -1.0)
        slot, _, _, rigid, success = np.moveaxis(best[..., 6:], -1, 0)
        verdict = np.stack([np.where(success > 0, slot, -1.0), rigid, success], axis=-1)
        return BranchRows(q, state, position, orientation, best[..., :6], verdict)

    def __call__(self, T: Array, q0: Array, rule: Array) -> Array:
        """Solve targets T (..., 16); return vectors with the layout described in `compiled.py`.

        The inputs q0 (..., 7) and rule (18,) are described there too.
        """
        lead = T.shape[:-1]
        T = np.asarray(T, dtype=float).reshape(-1, 16)
        start = np.broadcast_to(q0[..., :6], (*lead, 6)).reshape(-1, 6)
        target, rigid = self.cleaned(T)
        found = np.zeros((len(T), SOLUTIONS * 11 + 11))
        q, branch, best = split(found, SOLUTIONS, 6)
        for i in range(0, len(T), _CHUNK):
            some = slice(i, i + _CHUNK)
            self._fill(target[some], start[some], q[some], branch[some])
        _best(q, branch, rule, rigid, best)
        return found.reshape(*lead, SOLUTIONS * 11 + 11)

    def _fill(self, target: Array, start: Array, q: Array, branch: Array) -> None:
        """Solve targets (N, 12) with start values (N, 6); write the solutions to q and branch.

        `compiled.py` describes the arrays q and branch.
        """
        count = len(target)
        found = self._readings[0].candidates(target, start).distinct()
        for reading in self._readings[1:]:
            # The number of simple zeros is even: an odd number means that one was missed.
            odd = np.bincount(found.rows, minlength=count) % 2 == 1
            some = np.flatnonzero(found.flat | odd)
            if not len(some):
                break
            found = found.joined(reading.candidates(target[some], start[some]), some)
        some = np.flatnonzero(found.flat)
        if len(some):
            found = found.joined(self._random(target[some], start[some]), some)
        self._slots(found, q, branch)

    def _random(self, target: Array, start: Array) -> SixSolutions:
        """Find solutions by Newton's method from the start values and from random configurations.

        This is used for targets at which every form of the loop equation is degenerate.
        """
        count = len(target)
        rows = np.repeat(np.arange(count), _RANDOM)
        q = np.random.default_rng(0).uniform(-math.pi, math.pi, (_RANDOM, 6))
        q = np.tile(q, (count, 1))
        q[::_RANDOM] = start
        q, rest = self.finish(q, target[rows], start[rows])
        marks = np.ones(count, dtype=bool), np.zeros(count, dtype=bool)
        return SixSolutions(rows, q, rest, *marks).chosen(self.accepted(rest)).distinct()

    def accepted(self, rest: Array) -> Array:
        """Return a mask (M,), True for solutions that reach their targets.

        `rest` (M, 4) is `SixSolutions.rest`, which contains the errors.
        """
        return (rest[:, 1] <= accepted_distance(self.chain.size)) & (rest[:, 2] <= ACCEPTED)

    def _slots(self, found: SixSolutions, q: Array, branch: Array) -> None:
        """Write the solutions of each target to slots (rows) 0, 1, … of the arrays q and branch."""
        slot = np.arange(len(found.rows)) - np.searchsorted(found.rows, found.rows)
        if len(slot) and slot.max() >= SOLUTIONS:  # infinitely many: keep the nearest to the start
            found = found.chosen(np.lexsort((found.rest[:, 3], found.rows)))
            keep = slot < SOLUTIONS
            found, slot = found.chosen(keep), slot[keep]
        branch[..., 2:] = math.inf
        q[found.rows, slot] = found.q
        branch[found.rows, slot, 0] = 1.0
        branch[found.rows, slot, 1:] = found.rest

    @cached_property
    def cleaned(self) -> Kernel:
        """Kernel T (16) -> target (12), and 1 if T is a pose, otherwise 0.

        The target consists of the nearest exact rotation (9) and the position (3).
        """
        graph = Graph()
        T = graph.inputs("T", 16)
        R, rigid = cleaned([*T[0:3], *T[4:7], *T[8:11]], T[12:])
        outputs = {"target": [*R, T[3], T[7], T[11]], "rigid": [rigid]}
        return compile_kernel("six_target", graph, outputs, finite=False)

    @cached_property
    def finish(self) -> Kernel:
        """Kernel (q (6), target (12), start (6)) -> (refined q (6), `SixSolutions.rest` (4))."""
        graph = Graph()
        q, target = graph.inputs("q", 6), graph.inputs("target", 12)
        start = graph.inputs("start", 6)
        outputs = finished(
            graph, self.chain, self.limits, q, target, start, math.tau, _RANDOM_REFINEMENTS
        )
        return compile_kernel("six_finish", graph, outputs, finite=False)


class _ReadingKernels:
    """Compiled kernels that solve the loop equation in one of its forms (`Reading`)."""

    def __init__(self, owner: GeneralSixKernel, reading: Reading) -> None:
        self.owner, self.reading = owner, reading

    def _entries(self, target: list[Any]) -> list[Any]:
        """Return the target (12) as three rows of four scalars, in units of the arm's size."""
        scale = 1.0 / self.owner.chain.size
        return [x for i in range(3) for x in (*target[3 * i : 3 * i + 3], target[9 + i] * scale)]

    @cached_property
    def sample(self) -> Kernel:
        """Kernel (target (12), (cos, sin) of the kept joint) -> `elimination.determinant`."""
        graph = Graph()
        target, angle = graph.inputs("target", 12), graph.inputs("angle", 2)
        _, _, E = _equations(self.reading, self._entries(target))
        G = elimination.determinant(elimination.triangle(E, angle[0], angle[1]))
        return compile_kernel("six_sample", graph, {"G": [G]}, finite=False)

    @cached_property
    def complete(self) -> Kernel:
        """Kernel that computes and refines all six joint values for one zero of the determinant G.

        Inputs: target (12), coefficients of G (17), bracket of the zero (2), start (6). Outputs: q
        (6), `SixSolutions.rest` (4).
        """
        graph = Graph()
        target, wave = graph.inputs("target", 12), graph.inputs("wave", 2 * DEGREE + 1)
        bracket, start = graph.inputs("bracket", 2), graph.inputs("start", 6)
        ((angle,), _) = graph.call(_zero(), wave, bracket)
        s, c = ring.sincos(angle)
        K, right, E = _equations(self.reading, self._entries(target))
        found = elimination.solution(self.reading, K, right, E, c, s)
        q = [ring.atan2(y, x) for y, x in found]
        chain, limits = self.owner.chain, self.owner.limits
        outputs = finished(graph, chain, limits, q, target, start, _HOPELESS, _REFINEMENTS)
        return compile_kernel("six_complete", graph, outputs, finite=False)

    def candidates(self, target: Array, start: Array) -> SixSolutions:
        """Return the solutions that reach their targets (N, 12); the start values are (N, 6)."""
        G = self.sample(target[:, None, :], _CIRCLE)[..., 0]
        size = np.abs(G).max(axis=1, keepdims=True)
        wave = (G / np.maximum(size, 1e-300)) @ _SPECTRUM.T
        rows, brackets, close, flat = _zeros()(wave)
        if not len(rows):
            return SixSolutions(rows, np.zeros((0, 6)), np.zeros((0, 4)), close, flat)
        if len(target) > 1:
            target, wave, start = target[rows], wave[rows], start[rows]
        q, rest = self.complete(target, wave, brackets, start)
        found = SixSolutions(rows, q, rest, close, flat)
        good = self.owner.accepted(rest)
        return found if good.all() else found.chosen(good)


def finished(
    graph: Graph,
    chain: Chain,
    limits: Array,
    q: list[Any],
    target: list[Any],
    start: list[Any],
    hopeless: float,
    steps: int,
) -> dict[str, list[Any]]:
    """Add the refinement of joint values q to a graph; return the outputs `q` and `rest`.

    `SixSolutions` describes the outputs. The refined values are shifted by full turns into the
    limits. Values with an error above `hopeless` (rad, and fraction of the arm's size) are not
    refined. `steps` is the max number of Newton steps.
    """
    errors = partial(chain_errors, chain)
    refined = Refinement(
        "six_refined", check(chain.kinds, errors), newton_step(chain), _FINE, hopeless, steps
    )
    x, _, (position, chord) = graph.call(refined, q, target)
    values, bits, away = placed(chain.kinds, limits, x, start)
    return {"q": values, "rest": [bits, position, angle_of_chord(chord), away]}


def _best(q: Array, branch: Array, rule: Array, rigid: Array, best: Array) -> None:
    """Write the best solution of each target to `best` (N, 11), described in `compiled.py`.

    The best solution is the one nearest to q0, of those within the limits whose slot `rule` allows.
    `rigid` (N, 1) is 1 where the target is a pose.
    """
    usable = (branch[..., 0] > 0) & (branch[..., 1] == 0) & (rule[2:] > 0)
    away = np.where(usable, branch[..., 4], math.inf)
    slot = np.argmin(away, axis=-1)
    rows = np.arange(len(q))
    some = usable[rows, slot]
    best[:, :6] = q[rows, slot]
    best[:, 6] = np.where(some, slot, -1)
    best[:, 7:9] = branch[rows, slot, 2:4]
    best[:, 9] = rigid[:, 0]
    best[:, 10] = some * rigid[:, 0]
