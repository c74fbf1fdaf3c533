"""Compiled kernel that computes all branches of a closed form and chooses the best one.

The kernel's graph contains the candidates of the formula, Newton refinement, errors by forward
kinematics and joint limits. The *slot* of a branch is its index. B is the number of branches and n
the number of joints of the chain. Inputs for each target:

    T      16       target pose; a rounded rotation matrix is replaced by the nearest exact one
    q0     n + 1    start values of the chain's joints, and 1 if the user gave them, otherwise −1
    rule   2 + B    orientation tolerance (rad); 1 if any orientation is accepted, otherwise 0; 1
                    for each allowed slot, otherwise 0

Outputs for one target, concatenated to one vector (allocating one array is faster than three):

    q      (B, n)   joint values, shifted by full turns into the limits, as near to q0 as possible
    branch (B, 5)   1 if the branch reaches the target; joints out of limits (bit i: joint i);
                    position error (m); orientation error (rad); distance max |q − q0|
    best   n + 5    q of the best branch; its slot (−1 if there is none); its position error and
                    orientation error; 1 if T is a pose; 1 on success (T is a pose, and there is
                    a best branch with an accepted orientation)

The batch kernel returns `BranchRows` instead, which needs less memory traffic.

The best branch is chosen from the allowed branches that reach the target within the limits.
Branches whose orientation error exceeds the smallest one by more than the tolerance are discarded.
Of the remaining branches, the nearest to q0 is chosen.

Closed forms lose precision near double roots (a stretched arm). They are also inexact for arms with
axes that are only nearly parallel or nearly intersect, because the formulas treat these axes as
parallel or intersecting. If a closed form solves full poses, branches with an error larger than
rounding are therefore refined by damped Newton steps (`brazo.codegen.refine`).

Branches share most joint values (the eight branches of a Puma have only two values of q₁), so
angles and limits are computed once for each distinct value. Errors are computed from (cos, sin).
The joint angles are the arc tangents of these pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from brazo.codegen import (
    FixedEntry,
    Graph,
    GraphFunction,
    Guarded,
    Kernel,
    Refinement,
    Vectorized,
    compile_kernel,
)
from brazo.codegen.evaluation import GraphEvaluation
from brazo.codegen.linear import dot
from brazo.codegen.ring import absolute, maximum, minimum, where
from brazo.kinematics.closed_form.base import (
    ACCEPTED,
    BranchRows,
    Candidate,
    ClosedForm,
    accepted_distance,
)
from brazo.kinematics.closed_form.joint_limits import beyond, bounds, centre, placed, turned
from brazo.kinematics.closed_form.pairs import angle_of, of_angle
from brazo.kinematics.closed_form.pose_error import angle_of_chord, check, newton_step
from brazo.kinematics.forward import cross

Array = np.ndarray
Scalar = Any

_FINE = 1e-13  # rad, and fraction of the arm's size: converged below this error
_HOPELESS = 1e-3  # above this error the target is out of reach: no refinement
_HUGE = 1e300
_ROUNDED = 1e-14  # a rotation matrix with a larger error is replaced by the nearest rotation
_NO_ROTATION = 1e-5  # with a larger error it is rejected


class BranchGraph:
    """Expression graph and compiled kernels of a closed form.

    `limits` (n, 2) are the limits of the chain's joints.
    """

    def __init__(self, form: ClosedForm, limits: Array) -> None:
        self.form, self.limits = form, limits
        self.n, self.branches = form.chain.n, form.branches

    @cached_property
    def built(self) -> tuple[Graph, dict[str, list[Any]]]:
        """The graph, and a dict of its outputs `q`, `branch` and `best`, each a flat list."""
        form, n, count = self.form, self.n, self.branches
        graph = Graph()
        T, q0 = graph.inputs("T", 16), graph.inputs("q0", n + 1)
        rule = graph.inputs("rule", 2 + count)
        R, rigid = cleaned([*T[0:3], *T[4:7], *T[8:11]], T[12:])
        p = [T[3], T[7], T[11]]
        start, given = q0[:n], q0[n]
        free = [where(given, x, 0.0) for x in start]
        candidates = form.formula((R, p), free, given)
        assert len(candidates) == count, (form.family, len(candidates), count)
        joints = _Joints(form, self.limits, candidates, start)
        target = [*R, *p]
        errors = Vectorized("errors_of_all", self._errors(joints), count, shared=("target",))
        need, position, orientation = graph.call(errors, joints.turns, target)
        found = [*joints.q, *joints.bits, *position, *orientation, *joints.away]
        if form.meets == "pose":
            need = [minimum(x, c.exists) for x, c in zip(need, candidates, strict=True)]
            refined = Vectorized("refine_all", self._refined(), count, shared=("target", "q0"))
            guarded = Guarded("refine_some", refined, count)
            (found,) = graph.call(guarded, found, [*target, *start], need)
        values = [found[b::count] for b in range(count)]
        q, rest = [x[:n] for x in values], [x[n:] for x in values]
        near = accepted_distance(form.chain.size)
        rows, valid = [], []
        for candidate, (bits, position, orientation, away) in zip(candidates, rest, strict=True):
            ok = where(candidate.exists, where(near - position, 1.0, 0.0), 0.0)
            if form.meets == "pose":
                ok = where(ACCEPTED - orientation, ok, 0.0)
            valid.append(ok)
            rows += [ok, bits, position, orientation, away]
        best = _best(q, rest, valid, rule)
        *best, meets = best
        done = where(minimum(meets, rigid) - 0.5, 1.0, 0.0)
        outputs = {"q": [x for row in q for x in row], "branch": rows, "best": [*best, rigid, done]}
        return graph, outputs

    @property
    def single(self) -> Kernel:
        return self._single

    @cached_property
    def _single(self) -> Kernel:
        """Kernel for one target: (T, q0, rule) -> one vector with `q`, `branch` and `best`.

        The module docstring describes the inputs and outputs.
        """
        graph, outputs = self.built
        found = [x for part in outputs.values() for x in part]
        fixed = FixedEntry(first=(4, 4), view=(self.branches, self.n))
        # Batches have a kernel of their own, so that the first call compiles less.
        return compile_kernel("ik", graph, {"found": found}, finite=False, fixed=fixed, lanes=False)

    @property
    def entry(self) -> Callable[..., Any]:
        return self.single.entry

    @cached_property
    def batch(self) -> Kernel:
        """Kernel for many targets: (T, q0, rule) -> the fields of `BranchRows`."""
        graph, outputs = self.built
        n, rows, best = self.n, outputs["branch"], outputs["best"]
        valid, bits, position, orientation, _ = (rows[i::5] for i in range(5))
        state = [where(ok - 0.5, b, -1.0) for ok, b in zip(valid, bits, strict=True)]
        *chosen, slot, _, _, rigid, done = best
        verdict = [where(done - 0.5, slot, -1.0), rigid, done]
        parts = (outputs["q"], state, position, orientation, chosen, verdict)
        shapes = {"q": (self.branches, n)}
        names = BranchRows._fields
        found = dict(zip(names, parts, strict=True))
        return compile_kernel("ik_batch", graph, found, shapes, finite=False)

    def rows(self, T: Array, q0: Array, rule: Array, threads: int | None = None) -> BranchRows:
        return BranchRows(*self.batch(T, q0, rule, threads=threads))

    def evaluate(self, T: Array, q0: Array | None) -> tuple[Array, Array]:
        """Evaluate the graph with NumPy, without compiling it.

        T (N, 4, 4) are the targets and q0 (N, n) the start values. Returns q (N, B, n) and branch
        (N, B, 5); the module docstring describes them.
        """
        N = len(T)
        starts = np.zeros((self.n + 1, N))
        starts[-1] = -1.0
        if q0 is not None:
            starts[:-1], starts[-1] = q0.T, 1.0
        rule = np.ones((2 + self.branches, N))
        inputs = {"T": np.ascontiguousarray(T.reshape(N, 16).T), "q0": starts, "rule": rule}
        with np.errstate(all="ignore"):
            values = self._evaluation(inputs)
        flat = np.stack([np.broadcast_to(v, N) for v in values], axis=-1)
        split = self.branches * self.n
        return (
            flat[:, :split].reshape(N, self.branches, self.n),
            flat[:, split:].reshape(N, self.branches, 5),
        )

    @cached_property
    def _evaluation(self) -> GraphEvaluation:
        _, outputs = self.built
        return GraphEvaluation([*outputs["q"], *outputs["branch"]])

    def _errors(self, joints: _Joints) -> GraphFunction:
        """Make the graph function (turns, target) -> (need, position, orientation) of one branch.

        `turns` contains the joint values with the layout of `joints.turns`. The target has 12
        scalars (rotation, position). `need` is ≥ 0 where the branch should be refined. `position`
        (m) and `orientation` (rad) are the errors.
        """
        graph = Graph()
        given = iter(graph.inputs("turn", sum(2 if pair else 1 for pair in joints.pairs)))
        target = graph.inputs("target", 12)
        turns: list[Any] = []
        for kind, pair in zip(self.form.chain.kinds, joints.pairs, strict=True):
            value = next(given)
            if kind == "revolute":
                turns.append((value, next(given)) if pair else of_angle(value))
            else:
                turns.append(value)
        miss, position, chord = self.form.errors(turns, target)
        need = minimum(miss - _FINE, _HOPELESS - miss)
        outputs = {"need": [need], "position": [position], "orientation": [angle_of_chord(chord)]}
        return GraphFunction("errors", graph, outputs)

    def _refined(self) -> GraphFunction:
        """Make the graph function that refines one branch: (x, target, q0) -> x.

        x (n + 4) contains the joint values, a bit mask of the joints out of limits, the position
        error, the orientation error and the distance from q0. The target has 12 scalars (rotation,
        position), q0 has n.
        """
        form, kinds = self.form, self.form.chain.kinds
        graph = Graph()
        q, target = graph.inputs("x", self.n + 4)[: self.n], graph.inputs("target", 12)
        start = graph.inputs("q0", self.n)
        step = newton_step(form.chain)
        refined = Refinement("refined", check(kinds, form.errors), step, _FINE, _HOPELESS)
        x, _, (position, chord) = graph.call(refined, q, target)
        q, bits, away = placed(kinds, self.limits, x, start)
        return GraphFunction(
            "refine", graph, {"x": [*q, bits, position, angle_of_chord(chord), away]}
        )


class _Joints:
    """Joint values of all candidate solutions, shifted by full turns into the limits.

    Equal values are computed once. `turns` and `q` have the layout of `Vectorized`: first the
    values of joint 1 for all candidates, then those of joint 2, … `q` contains the joint values.
    `turns` contains (cos, sin) of a joint if all candidates give this joint as (cos, sin),
    otherwise its value. `bits` (joints out of limits) and `away` (distance max |q − start|) have
    one value per candidate.
    """

    def __init__(
        self, form: ClosedForm, limits: Array, candidates: list[Candidate], start: list[Scalar]
    ) -> None:
        count, kinds = len(candidates), form.chain.kinds
        each = list(zip(*(c.q for c in candidates), strict=True))
        self.pairs = [
            kind == "revolute" and all(isinstance(x, tuple) for x in given)
            for kind, given in zip(kinds, each, strict=True)
        ]
        known = _turned(self.pairs, limits, each, start)
        self.turns: list[Scalar] = []
        self.q: list[Scalar] = []
        self.bits: list[Scalar] = [0.0] * count
        self.away: list[Scalar] = [0.0] * count
        for i, (kind, given) in enumerate(zip(kinds, each, strict=True)):
            low, high = limits[i].tolist()
            if self.pairs[i]:
                self.turns += [x[0] for x in given] + [x[1] for x in given]
                q, bits, away = zip(*(known[i, *x] for x in given), strict=True)
            else:
                q = [angle_of(x) if isinstance(x, tuple) else x for x in given]
                if kind == "revolute":
                    q = [turned(x, centre(low, high, start[i])) for x in q]
                bits = [beyond(x, *bounds(low, high), 2.0**i) for x in q]
                away = [absolute(x - start[i]) for x in q]
                self.turns += q
            self.q += q
            self.bits = [a + b for a, b in zip(self.bits, bits, strict=True)]
            self.away = [maximum(a, b) for a, b in zip(self.away, away, strict=True)]


def _turned(
    pairs: list[bool], limits: Array, each: Sequence[Sequence[Any]], start: list[Scalar]
) -> dict[Any, tuple[Scalar, ...]]:
    """Return a dict with (angle, bit, distance) for each distinct joint value (cos, sin).

    The keys are (joint, cos, sin). The angle is shifted by full turns into the limits. The bit is
    2**joint if the angle is out of the limits, otherwise 0. The distance is |angle − start
    value|. `each[i]` contains the values of joint i in all candidates. Joint i is included if
    `pairs[i]` is True, which means that all these values are (cos, sin).
    """
    sets: dict[Any, list[Scalar]] = {}
    for i, given in enumerate(each):
        if pairs[i]:
            low, high = limits[i].tolist()
            joint = [centre(low, high, start[i]), start[i], *bounds(low, high), 2.0**i]
            sets |= {(i, *pair): [*pair, *joint] for pair in given}
    if not sets:
        return {}
    graph = Graph()
    c, s, middle, zero, least, most, bit = graph.inputs("joint", 7)
    q = turned(angle_of((c, s)), middle)
    values = [q, beyond(q, least, most, bit), absolute(q - zero)]
    turn = GraphFunction("turn", graph, {"turn": values})
    elements = [x for element in zip(*sets.values(), strict=True) for x in element]
    (found,) = start[0].graph.call(Vectorized("turns", turn, len(sets)), elements)
    return {key: tuple(found[k :: len(sets)]) for k, key in enumerate(sets)}


def split(found: Array, branches: int, n: int) -> tuple[Array, Array, Array]:
    """Split a kernel's result into views q (..., B, n), branch (..., B, 5), best (..., n + 5)."""
    lead, middle = found.shape[:-1], branches * n
    end = middle + 5 * branches
    return (
        found[..., :middle].reshape(*lead, branches, n),
        found[..., middle:end].reshape(*lead, branches, 5),
        found[..., end:],
    )


def cleaned(R: Sequence[Scalar], last: Sequence[Scalar]) -> tuple[list[Scalar], Scalar]:
    """Return the rotation nearest to R (nine scalars), and 1 if the input is a pose, otherwise 0.

    The input is a pose if R is a rotation up to errors of 1e-5 and `last`, the last row of the pose
    matrix, is (0, 0, 0, 1).
    """
    x, y, z = list(R[0:3]), list(R[3:6]), list(R[6:9])
    lengths = [absolute(dot(a, a) - 1.0) for a in (x, y, z)]
    angles = [absolute(dot(a, b)) for a, b in ((x, y), (y, z), (x, z))]
    worst = maximum(maximum(lengths[0], lengths[1]), angles[0])
    for a, b in zip(cross(x, y), z, strict=True):
        worst = maximum(worst, absolute(a - b))
    rigid = where(_NO_ROTATION - worst, 1.0, 0.0)
    for value, wanted in zip(last, (0.0, 0.0, 0.0, 1.0), strict=True):
        rigid = where(-absolute(value - wanted), rigid, 0.0)
    off: Scalar = 0.0
    for part in [*lengths, *angles]:
        off = off + part
    (exact,) = R[0].graph.call(Guarded("clean_some", _polar()), R, [], [off - _ROUNDED])
    return exact, rigid


def _polar() -> GraphFunction:
    """Make the graph function that maps nine scalars near a rotation to the nearest rotation."""
    graph = Graph()
    R: list[Scalar] = graph.inputs("R", 9)
    for _ in range(2):  # Newton's iteration for the polar factor: 1e-5, 1e-10, 1e-20
        rows = [R[0:3], R[3:6], R[6:9]]
        S = [[-0.5 * dot(a, b) for b in rows] for a in rows]
        for i in range(3):
            S[i][i] = S[i][i] + 1.5
        columns = list(zip(*rows, strict=True))
        R = [dot(row, column) for row in S for column in columns]
    return GraphFunction("polar", graph, {"R": R})


def _best(
    q: list[list[Scalar]], found: list[list[Scalar]], valid: list[Scalar], rule: list[Scalar]
) -> list[Scalar]:
    """Return q, slot, position error and orientation error of the best branch, and success.

    The slot is the index of the branch. Success is 1 if there is a best branch and its orientation
    is accepted, otherwise 0. `found` contains for each branch a bit mask of the joints out of
    limits, position error, orientation error and distance from q0. `valid` is 1 for each branch
    that reaches the target. The module docstring describes `rule`.
    """
    tolerance, loose, allowed = rule[0], rule[1], rule[2:]
    usable, gap = [], _HUGE
    for slot, (bits, _, orientation, _) in enumerate(found):
        ok = where(-bits, minimum(valid[slot], allowed[slot]), 0.0)  # no joint out of limits
        usable.append(where(ok - 0.5, 1.0, -1.0))
        gap = where(usable[slot], minimum(gap, orientation), gap)
    nearest, slot_of, gap_of, angle = _HUGE, -1.0, _HUGE, _HUGE
    chosen: list[Scalar] = list(q[0])
    for slot, (_, position, orientation, away) in enumerate(found):
        close = where(usable[slot], gap + tolerance - orientation, -1.0)
        take = where(close, where(away - nearest, -1.0, 1.0), -1.0)
        nearest, slot_of = where(take, away, nearest), where(take, float(slot), slot_of)
        gap_of, angle = where(take, position, gap_of), where(take, orientation, angle)
        chosen = [where(take, a, b) for a, b in zip(q[slot], chosen, strict=True)]
    meets = where(slot_of, where(loose - 0.5, 1.0, where(tolerance - angle, 1.0, 0.0)), 0.0)
    return [*chosen, slot_of, gap_of, angle, meets]
