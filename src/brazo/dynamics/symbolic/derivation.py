"""`derive`: symbolic equations of motion of a robot by Lagrange–Euler, in a readable form.

    M(q) q̈ + C(q, q̇) q̇ + G(q) + K q̇ + Coulomb friction = τ + Jᵀ F

There are two forms.  For the *expanded* form, products are multiplied out (`polynomial`).  Then, as
in a textbook, products of sines and cosines are combined into functions such as cos(q₁ + q₂), and
common factors are moved in front of brackets (`readable`).  The *recursive* form keeps the terms
that the derivation produces from link to link, and gives names to repeated terms (`shared`).  The
expanded form is the default unless it would have more than `MAX_TERMS` terms.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import sympy as sp

from brazo.checks import one_of
from brazo.dynamics.coriolis import coriolis_matrix
from brazo.dynamics.symbolic.equations import Equations, Form
from brazo.dynamics.symbolic.from_model import mechanism_of
from brazo.dynamics.symbolic.lagrange import Derived, Lagrange
from brazo.dynamics.symbolic.mechanism import Mechanism, Parameters
from brazo.dynamics.symbolic.polynomial import (
    Poly,
    TooManyTerms,
    TrigRing,
    largest,
    terms_of,
)
from brazo.dynamics.symbolic.readable import Readable
from brazo.dynamics.symbolic.shared import GraphRing, Naming
from brazo.errors import BrazoError

Expr = Any
Progress = Callable[[float, str], Any]

MAX_TERMS = 20_000  # of M, C and G together; more is no longer for people
_ROUNDING = 1e-14  # of the natural size of an entry: what floats leave where terms cancel


class Cancelled(BrazoError):
    """Raised when the progress callback returns False to stop the derivation."""


def derive(
    robot: Any,
    parameters: Parameters = "symbolic",
    form: Form | Literal["auto"] = "auto",
    progress: Progress | None = None,
) -> Equations:
    """Derive the symbolic equations of motion of a robot or model.

    `parameters="symbolic"` keeps the symbols of the robot file, `"numeric"` inserts their values.
    `form` is `"expanded"`, `"recursive"` or `"auto"`, which expands unless the result has too many
    terms.  `progress(fraction, text)` is called during the derivation.  If it returns False, the
    derivation stops and raises `Cancelled`.
    """
    one_of(parameters, ("symbolic", "numeric"), "parameters")
    one_of(form, ("auto", "expanded", "recursive"), "form")
    steps = _Steps(progress)
    steps(0.0, "reading the robot")
    mechanism = mechanism_of(getattr(robot, "model", robot))
    if parameters == "numeric" and mechanism.values:
        mechanism = mechanism.with_numbers()
    if form != "recursive":
        try:
            return _expanded(mechanism, steps)
        except TooManyTerms:
            if form == "expanded":
                raise BrazoError(
                    f"robot '{mechanism.name}': the expanded equations have more than {MAX_TERMS} "
                    "terms; use --form recursive (in Python form='recursive')"
                ) from None
    return recursive(mechanism, steps)


def recursive(mechanism: Mechanism, progress: Progress | None = None) -> Equations:
    """Derive the equations of motion in the recursive form."""
    steps = progress if isinstance(progress, _Steps) else _Steps(progress)
    ring = GraphRing(mechanism)
    lagrange = Lagrange(ring, mechanism)
    derived = lagrange.energies(steps.part(0.05, 0.4))
    n = mechanism.n
    steps(0.4, "Coriolis matrix")
    C = coriolis_matrix(derived.M, ring.q, ring.qd)
    G = lagrange.gravity(derived.potential)
    poses = [*derived.frames, derived.tool]
    outputs = [
        *(x for row in derived.M for x in row), *(x for row in C for x in row), *G,
        derived.potential, *(x for R, p in poses for x in (*R, *p)),
        *(x for row in derived.jacobian for x in row),
    ]  # fmt: skip
    steps(0.7, "naming shared terms")
    named = Naming(ring, outputs, [entry.symbol.name for entry in mechanism.symbols])
    steps(0.9, "friction and frames")
    return _assembled(
        mechanism,
        "recursive",
        M=sp.ImmutableMatrix(n, n, lambda i, j: named[derived.M[i][j]]),
        C=sp.ImmutableMatrix(n, n, lambda i, j: named[C[i][j]]),
        G=sp.ImmutableMatrix([named[x] for x in G]),
        derived=derived,
        show=lambda x: named[x],
        steps=tuple(named.steps),
    )


def _expanded(mechanism: Mechanism, steps: _Steps) -> Equations:
    ring = TrigRing(limit=MAX_TERMS, tick=steps.check)
    lagrange = Lagrange(ring, mechanism)
    # The joints' angles come first: their exponents are then the lowest digits of a monomial.
    for axes in lagrange.axes:
        if axes.turn.angle is not None:
            ring.cos_sin(axes.turn.angle)
    derived = lagrange.energies(steps.part(0.05, 0.3))
    _drop_rounding(derived)
    n = mechanism.n
    symbols = lagrange.christoffel(derived.M, steps.part(0.3, 0.4))
    G = lagrange.gravity(derived.potential)
    lower = [derived.M[i][j] for i in range(n) for j in range(i + 1)]
    every = [*lower, *G, *(x for a in symbols for b in a for x in b)]
    if sum(len(terms_of(x)) for x in every) > MAX_TERMS:
        raise TooManyTerms
    heavy = [e.symbol for e in mechanism.symbols if e.kind in ("mass", "inertia", "motor")]
    readable = Readable(ring, heavy)
    M = sp.zeros(n, n)
    for i in range(n):
        steps(0.4 + 0.1 * i / n, f"mass matrix, row {i + 1}")
        for j in range(i + 1):
            M[i, j] = M[j, i] = readable.expression(derived.M[i][j])
    C = sp.zeros(n, n)
    for i in range(n):
        steps(0.5 + 0.4 * i / n, f"Coriolis matrix, row {i + 1}")
        for j in range(n):
            steps.check()
            C[i, j] = _with_speeds(readable, symbols[i][j], mechanism.qd)
    steps(0.9, "gravity, friction and frames")
    return _assembled(
        mechanism,
        "expanded",
        M=sp.ImmutableMatrix(M),
        C=sp.ImmutableMatrix(C),
        G=sp.ImmutableMatrix([readable.expression(x) for x in G]),
        derived=derived,
        show=readable.expression,
    )


def _with_speeds(readable: Readable, coefficients: list[Any], speeds: tuple[Expr, ...]) -> Expr:
    """Sum Σ ½ c_k q̇_k, with speeds of equal or opposite coefficients collected in one bracket."""
    found: dict[tuple, tuple[Any, list[Expr]]] = {}
    for c, speed in zip(coefficients, speeds, strict=True):
        terms = terms_of(c)
        if not terms:
            continue
        key = tuple(sorted(terms.items()))
        opposite = tuple((k, -x) for k, x in key)
        if opposite in found:
            found[opposite][1].append(-speed)
        else:
            found.setdefault(key, (c * Fraction(1, 2), []))[1].append(speed)
    return sp.Add(*(readable.expression(c) * sp.Add(*rates) for c, rates in found.values()))


def _assembled(
    mechanism: Mechanism,
    form: Form,
    M: Expr,
    C: Expr,
    G: Expr,
    derived: Derived,
    show: Callable[[Any], Expr],
    steps: tuple[tuple[Expr, Expr], ...] = (),
) -> Equations:
    n = mechanism.n
    viscous = [sp.Integer(0)] * n
    coulomb: list[tuple[Expr, Expr]] = [(sp.Integer(0), sp.Integer(0))] * n
    for link in mechanism.links:
        k, scale = link.coordinate, abs(link.multiplier)
        viscous[k] = viscous[k] + scale**2 * link.viscous
        plus, minus = link.coulomb if link.multiplier > 0 else link.coulomb[::-1]
        coulomb[k] = (coulomb[k][0] + scale * plus, coulomb[k][1] + scale * minus)

    def pose(R: list[Any], p: list[Any]) -> Expr:
        rows = [[*R[3 * i : 3 * i + 3], p[i]] for i in range(3)]
        return sp.ImmutableMatrix([[show(x) for x in row] for row in rows] + [[0, 0, 0, 1]])

    equations = Equations(
        mechanism=mechanism,
        form=form,
        M=M,
        C=C,
        G=G,
        K=sp.ImmutableMatrix(sp.diag(*viscous)),
        coulomb=tuple(coulomb),
        potential=show(derived.potential),
        fk=pose(*derived.tool),
        frames=tuple(pose(*frame) for frame in derived.frames),
        jacobian=sp.ImmutableMatrix([[show(x) for x in row] for row in derived.jacobian]),
        steps=steps,
    )
    return replace(equations, notes=_notes(equations))


def _notes(equations: Equations) -> tuple[str, ...]:
    """Notes for the user: a text if the mass matrix is singular in every configuration."""
    M, n = equations.M, equations.n
    still = [i for i in range(n) if all(x == 0 for x in M.row(i))]
    if still:
        which = ", ".join(f"{i + 1} ({equations.joint_names[i]})" for i in still)
        return (
            f"M is singular: row and column {which} are zero, because the joint moves no "
            "inertia; give the links an inertia to compute accelerations",
        )
    rng = np.random.default_rng(0)
    for _ in range(3):
        value = equations.evaluate(equations.M, rng.uniform(-2.0, 2.0, n))
        scale = np.sqrt(np.abs(np.diag(value)))
        scale[scale == 0.0] = 1.0
        if np.linalg.eigvalsh(value / np.outer(scale, scale))[0] > 1e-12:
            return ()
    return ("M is singular in every configuration; accelerations cannot be computed",)


def _drop_rounding(derived: Derived) -> None:
    """If parameters are floats, remove terms that are only the rounding error of a cancellation."""
    M = derived.M
    n = len(M)
    if not any(isinstance(x, float) for row in M for e in row for x in terms_of(e).values()):
        return
    size = [np.sqrt(largest([M[i][i]])) for i in range(n)]
    for i in range(n):
        for j in range(n):
            M[i][j] = _pruned(M[i][j], _ROUNDING * size[i] * size[j])
    derived.potential = _pruned(derived.potential, _ROUNDING * largest([derived.potential]))
    for pose in (*derived.frames, derived.tool):
        for part in pose:
            part[:] = [_pruned(x, _ROUNDING * max(1.0, largest(part))) for x in part]
    for row in derived.jacobian:
        row[:] = [_pruned(x, _ROUNDING * max(1.0, largest(row))) for x in row]


def _pruned(value: Any, threshold: float) -> Any:
    if not isinstance(value, Poly):
        return 0 if abs(value) <= threshold else value
    return Poly(value.ring, {k: x for k, x in value.terms.items() if abs(x) > threshold})


class _Steps:
    """Forwards progress to the callback; raises `Cancelled` if the callback returns False."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress
        self.last = (0.0, "")
        self.reported = 0.0

    def __call__(self, fraction: float, text: str) -> None:
        self.last = (fraction, text)
        self._tell()

    def check(self) -> None:
        """Repeat the last callback call if it was more than 50 ms ago, to let the user cancel."""
        if time.monotonic() - self.reported > 0.05:
            self._tell()

    def part(self, start: float, end: float) -> Callable[[float, str], None]:
        """Return a progress callback that maps fractions of [0, 1] linearly to [`start`, `end`]."""
        return lambda fraction, text: self(start + (end - start) * fraction, text)

    def _tell(self) -> None:
        self.reported = time.monotonic()
        if self.progress is not None and self.progress(*self.last) is False:
            raise Cancelled("the derivation was cancelled")
