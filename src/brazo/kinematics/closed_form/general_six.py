"""Any arm of six revolute joints: all its real solutions, up to sixteen.

`elimination` reduces the loop to a trigonometric polynomial G of degree 8 in one joint.  It is
sampled at 24 angles, more than the 17 that determine it: the coefficients beyond degree 8 measure
the rounding error.  Its zeros are found on a grid with derivatives; minima of |G| close to zero
count as double zeros, so that no pair of solutions is lost to rounding.  For each zero the other
five joints follow, and Newton steps on the pose of the tool refine all six to rounding.  A solution
is accepted by its forward kinematics only.

The loop of an arm has eight readings (`Reading`) that are equal in exact arithmetic and differ by
many orders of magnitude in rounding error.  The best one for random poses is chosen once
per arm, and the next best one is used where the first one is degenerate.  Geometries in which G
vanishes identically in all of them are refused.
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

NAME = "a general 6R arm"
SOLUTIONS = 16
_SAMPLES = 24  # of G around the circle
_ROUNDING = 3e-15  # of G, as a part of its max
_PROBES = 24  # random poses by which the readings of an arm are compared
_READINGS = 2  # compiled for an arm
_USABLE = 1e-4  # rad, median error of a zero of G before refinement
_FINE, _HOPELESS = 1e-13, 0.5  # misses at which refinement ends, or does not begin
_REFINEMENTS, _RANDOM_REFINEMENTS = 16, 40  # steps at most
_RANDOM = 256  # random starts where every reading of the loop is degenerate
_CHUNK = 1024  # targets at a time
_KEY = np.array([1.0, 2.0, 1.0, 3.0, 2.0, 1.0])  # integers: full turns make no difference
_SAME = 1e-6  # rad, solutions nearer than this are one


def recognise(chain: Chain) -> ClosedForm | Mismatch:
    """The solver of an arm with six revolute joints."""
    if chain.n != 6 or not chain.revolute.all():
        kinds = "".join(kind[0].upper() for kind in chain.kinds)
        return Mismatch(NAME, f"the joints are {kinds}; six revolute joints are needed")
    X = chain.X.copy()
    X[:, :3, 3] /= chain.size
    rated = sorted(((_error(reading, X), i) for i, reading in enumerate(_readings(X))))
    if not rated[0][0] < _USABLE:
        return Mismatch(
            NAME, "the elimination is degenerate: the axes are special in a way that has no family"
        )
    readings = _readings(X)
    # The best one for each joint that can be kept.
    usable: dict[int, Reading] = {}
    for error, i in rated:
        if error < _USABLE:
            usable.setdefault(readings[i].joint, readings[i])
    return GeneralSix(chain, list(usable.values())[:_READINGS])


def _readings(X: Array) -> list[Reading]:
    return elimination.readings(X)


def _error(reading: Reading, X: Array) -> float:
    """The typical error (rad) of a zero of G, from random configurations of the arm."""
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
    K = elimination.loop_target(reading, T)
    right = elimination.right_side(reading, K)
    return K, right, elimination.equations(reading, right)


# --- trigonometric polynomials of degree 8: coefficients of 1, cos kθ, sin kθ ----------------


def _waves(angle: Array) -> Array:
    """(...) -> (..., 17)"""
    k = np.arange(1, DEGREE + 1) * np.asarray(angle)[..., None]
    return np.concatenate([np.ones((*k.shape[:-1], 1)), np.cos(k), np.sin(k)], axis=-1)


def _slopes(angle: Array) -> Array:
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
    """See the module."""

    family = NAME
    geometric = False  # the solutions of a target are numbered

    def __init__(self, chain: Chain, readings: list[Reading]) -> None:
        self.chain = chain
        self.flags = (("solution", tuple(str(i + 1) for i in range(SOLUTIONS))),)
        self.readings = readings

    def formula(self, T: Pose, q0: list[Any], given: Any) -> list[Candidate]:
        raise NotImplementedError("a general arm has no formula for its solutions; use `kernel`")

    def branch_kernel(self, limits: Array) -> GeneralSixKernel:
        return GeneralSixKernel(self, limits)

    @cached_property
    def _kernel(self) -> GeneralSixKernel:
        return GeneralSixKernel(self, np.tile([-np.inf, np.inf], (6, 1)))

    def solve(self, T: ArrayLike, q0: ArrayLike | None = None) -> Solutions:
        """All solutions for tool poses (..., 4, 4) in the base frame, by the angle of one joint."""
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
        """The number of a configuration among the solutions for its own pose."""
        found = self.solve(self.chain.fk(q))
        gap = np.abs(wrapped(found.q - q[..., None, :], self.chain.revolute)).max(axis=-1)
        return np.argmin(np.where(found.valid, gap, math.inf), axis=-1)[..., None]

    def why_unreachable(self, T: ArrayLike) -> str | None:
        if self.solve(T).valid.any():
            return None
        return "no joint values reach this pose: the elimination has no real solution"


class SixSolutions(NamedTuple):
    """Solutions of several targets, in the order of the targets."""

    rows: Array  # (M,) the target of each
    q: Array  # (M, 6) turned into the limits
    rest: Array  # (M, 4) joints out of limits, position and orientation error, distance from q0
    repeated: Array  # (N,) targets that may have a solution twice
    flat: Array  # (N,) targets whose polynomial is at the level of rounding somewhere

    def chosen(self, some: Array) -> SixSolutions:
        return self._replace(rows=self.rows[some], q=self.q[some], rest=self.rest[some])

    def joined(self, other: SixSolutions, some: Array) -> SixSolutions:
        """These solutions, with those of another reading for some of the targets."""
        rows = np.concatenate([self.rows, some[other.rows]])
        order = np.argsort(rows, kind="stable")
        repeated, flat = np.zeros_like(self.repeated), np.zeros_like(self.flat)
        repeated[some], flat[some] = True, other.flat
        q, rest = (
            np.concatenate(pair)[order] for pair in ((self.q, other.q), (self.rest, other.rest))
        )
        return SixSolutions(rows[order], q, rest, repeated, flat).distinct()

    def distinct(self) -> SixSolutions:
        """The solutions without duplicates."""
        if not self.repeated.any():
            return self
        # Equal solutions have equal keys; nearly always all of them differ.
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
    """All solutions within limits (6, 2), called as the kernels of `compiled` are."""

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
        """T (..., 16), q0 (..., 7), rule (2 + 16) -> the vector of `compiled`."""
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
        count = len(target)
        found = self._readings[0].candidates(target, start).distinct()
        for reading in self._readings[1:]:
            # Simple zeros come in pairs: an odd number means that one was missed.
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
        """Solutions from the start and from random configurations, for targets at which every
        reading is flat."""
        count = len(target)
        rows = np.repeat(np.arange(count), _RANDOM)
        q = np.random.default_rng(0).uniform(-math.pi, math.pi, (_RANDOM, 6))
        q = np.tile(q, (count, 1))
        q[::_RANDOM] = start
        q, rest = self.finish(q, target[rows], start[rows])
        marks = np.ones(count, dtype=bool), np.zeros(count, dtype=bool)
        return SixSolutions(rows, q, rest, *marks).chosen(self.accepted(rest)).distinct()

    def accepted(self, rest: Array) -> Array:
        return (rest[:, 1] <= accepted_distance(self.chain.size)) & (rest[:, 2] <= ACCEPTED)

    def _slots(self, found: SixSolutions, q: Array, branch: Array) -> None:
        slot = np.arange(len(found.rows)) - np.searchsorted(found.rows, found.rows)
        if len(slot) and slot.max() >= SOLUTIONS:  # a continuum: those nearest to the start
            found = found.chosen(np.lexsort((found.rest[:, 3], found.rows)))
            keep = slot < SOLUTIONS
            found, slot = found.chosen(keep), slot[keep]
        branch[..., 2:] = math.inf
        q[found.rows, slot] = found.q
        branch[found.rows, slot, 0] = 1.0
        branch[found.rows, slot, 1:] = found.rest

    @cached_property
    def cleaned(self) -> Kernel:
        """T (16) -> an exact pose (12: rotation, position), and 1 if T is one."""
        graph = Graph()
        T = graph.inputs("T", 16)
        R, rigid = cleaned([*T[0:3], *T[4:7], *T[8:11]], T[12:])
        outputs = {"target": [*R, T[3], T[7], T[11]], "rigid": [rigid]}
        return compile_kernel("six_target", graph, outputs, finite=False)

    @cached_property
    def finish(self) -> Kernel:
        """q (6), target (12), start (6) -> q (6), rest (4), from any start."""
        graph = Graph()
        q, target = graph.inputs("q", 6), graph.inputs("target", 12)
        start = graph.inputs("start", 6)
        outputs = finished(
            graph, self.chain, self.limits, q, target, start, math.tau, _RANDOM_REFINEMENTS
        )
        return compile_kernel("six_finish", graph, outputs, finite=False)


class _ReadingKernels:
    """The compiled parts for one reading of the loop."""

    def __init__(self, owner: GeneralSixKernel, reading: Reading) -> None:
        self.owner, self.reading = owner, reading

    def _entries(self, target: list[Any]) -> list[Any]:
        """The rows of a pose, lengths in units of the arm's size."""
        scale = 1.0 / self.owner.chain.size
        return [x for i in range(3) for x in (*target[3 * i : 3 * i + 3], target[9 + i] * scale)]

    @cached_property
    def sample(self) -> Kernel:
        """The determinant: target (12), (cos, sin) -> G."""
        graph = Graph()
        target, angle = graph.inputs("target", 12), graph.inputs("angle", 2)
        _, _, E = _equations(self.reading, self._entries(target))
        G = elimination.determinant(elimination.triangle(E, angle[0], angle[1]))
        return compile_kernel("six_sample", graph, {"G": [G]}, finite=False)

    @cached_property
    def complete(self) -> Kernel:
        """All joints at a zero of G: target (12), coefficients (17), bracket (2), start (6) ->
        q (6), rest (4)."""
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
        """Solutions of targets (N, 12)."""
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
    """q refined and turned into the limits, and the four values of `SixSolutions.rest`."""
    errors = partial(chain_errors, chain)
    refined = Refinement(
        "six_refined", check(chain.kinds, errors), newton_step(chain), _FINE, hopeless, steps
    )
    x, _, (position, chord) = graph.call(refined, q, target)
    values, bits, away = placed(chain.kinds, limits, x, start)
    return {"q": values, "rest": [bits, position, angle_of_chord(chord), away]}


def _best(q: Array, branch: Array, rule: Array, rigid: Array, best: Array) -> None:
    """The nearest solution within the limits, its slot and errors, and two flags."""
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
