"""Compiled nonlinear least squares with limits: find x with e(x, p) = 0, for one p or many.

    g = Graph()
    x, p = g.inputs("x", n), g.inputs("p", m)
    ...                                     # e: k expressions, J: k rows of n, the derivative of e
    solver = compile_solver("reach", g, e, J, lower, upper, split=3, periodic=True)
    found = solver(p)                       # Solution for p of shape (..., m)

:mod:`levenberg` contains the step of the method, :mod:`driver` the attempts, limits and restarts.
With machine code, no Python code runs during a solution. The residual rows form two groups: the
first ``split`` rows and the remaining rows. A problem counts as solved if the norms of both groups
are within tolerance, at an x within the limits. For an unsolved problem, the solver returns the
point with the smallest cost that it found within the limits. This point is a local minimum of the
cost, unless the descent to this minimum is stopped after ``polish`` steps.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.codegen.call_route import native
from brazo.codegen.driver import INFO, SETTINGS, driver_functions
from brazo.codegen.emitter import Module
from brazo.codegen.flow import add_copy
from brazo.codegen.function import GraphFunction
from brazo.codegen.graph import Graph, transplant
from brazo.codegen.levenberg import lm_step, project
from brazo.codegen.linear import dot
from brazo.codegen.llvm import lower_one
from brazo.codegen.native import address, doubles
from brazo.codegen.search import search
from brazo.codegen.sharing import share
from brazo.errors import BrazoError

__all__ = ["Solution", "Solver", "compile_solver"]

_DEFAULTS = {
    "tol_first": 1e-10, "tol_rest": 1e-10, "attempts": 200, "iterations": 50, "seed": 0,
    "mu": 0.07, "stall": 0.9, "patience": 6, "polish": 1000,
}  # fmt: skip
_ROWS_PER_THREAD = 64  # below this, a thread costs more than it saves


@dataclass(frozen=True, slots=True)
class Solution:
    """Result of a solver.

    All fields except x are scalars for a single problem, and arrays (...) for a batch.
    """

    x: np.ndarray
    """Solution (..., n), always within the limits."""
    success: Any
    """Whether both residual norms are within tolerance."""
    cost: Any
    first: Any
    """Norm of the first ``split`` residual rows."""
    rest: Any
    """Norm of the other residual rows."""
    iterations: Any
    """Number of steps in all attempts and in the final descent."""
    attempts: Any
    """Number of starting points used; 1 means only x0."""


def compile_solver(
    name: str,
    graph: Graph,
    e: Sequence[Any],
    J: Sequence[Sequence[Any]],
    lower: Any,
    upper: Any,
    *,
    split: int | None = None,
    periodic: bool | Sequence[bool] = False,
    sample: Any = None,
    cost: Any = None,
) -> Solver:
    """Make a solver for ``e(x, p) = 0`` with ``lower <= x <= upper``; compiled at its first call.

    The graph must have exactly the inputs ``x`` (n) and ``p`` (m), in this order. ``J`` (k, n) is
    the derivative of ``e`` (k,). Weights must be included in ``e`` and ``J``. ``split`` is the
    number of residual rows in the first group (default: all). The default ``cost`` is ``e.e/2``. If
    ``cost`` is given, ``J`` may be any matrix for which ``J^T e`` is the gradient of the cost.
    Limits may be infinite. ``periodic`` marks coordinates with period 2 pi: one boolean for all, or
    one for each. ``sample`` (2, n) contains the lower and upper limits of random starting points.
    Its default is the limits of x, or [-pi, pi] for a periodic coordinate without limits.
    """
    return Solver(name, graph, e, J, lower, upper, split, periodic, sample, cost)


class Solver:
    """Compiled least-squares solver; made by :func:`compile_solver`."""

    def __init__(
        self,
        name: str,
        graph: Graph,
        e: Sequence[Any],
        J: Sequence[Sequence[Any]],
        lower: Any,
        upper: Any,
        split: int | None,
        periodic: bool | Sequence[bool],
        sample: Any,
        cost: Any,
    ):
        if not name.isidentifier() or not name.isascii():
            raise BrazoError(f"solver name {name!r}: it must be an ASCII identifier")
        if list(graph.input_sizes) != ["x", "p"]:
            raise BrazoError(
                f"solver {name}: the graph's inputs are {list(graph.input_sizes)}; "
                "declare 'x' (unknowns), then 'p' (parameters)"
            )
        self.name = name
        self.n, self.m = graph.input_sizes["x"], graph.input_sizes["p"]
        self.k = len(e)
        self.split = self.k if split is None else split
        if not 1 <= self.split <= self.k:
            raise BrazoError(f"solver {name}: split is {split}; it must be from 1 to {self.k}")
        if len(J) != self.k or any(len(row) != self.n for row in J):
            shape = (len(J), *{len(row) for row in J})
            raise BrazoError(f"solver {name}: J has shape {shape}; expected ({self.k}, {self.n})")
        self.periodic = [periodic] * self.n if isinstance(periodic, bool) else list(periodic)
        self._box = self._limits(lower, upper)
        self._sample = self._sampling(sample)
        self._middle = self._sample.mean(axis=0)
        self._step, self._begin = self._functions(graph, e, J, cost)
        self._known_settings: dict[tuple[float, ...], np.ndarray] = {}
        self._lock = threading.Lock()
        self._native: Any = None

    def __call__(
        self,
        p: Any,
        x0: Any = None,
        *,
        tol_first: float = 1e-10,
        tol_rest: float = 1e-10,
        attempts: int = 200,
        iterations: int = 50,
        seed: int = 0,
        mu: float = 0.07,
        stall: float = 0.9,
        patience: int = 6,
        polish: int = 1000,
        threads: int | None = None,
    ) -> Solution:
        """Solve the problem for each row of p, shape (..., m).

        ``x0`` (..., n) is the starting point of the first attempt; the default is the middle of the
        sampling box. ``tol_first`` and ``tol_rest`` are the tolerances for the norms of the two
        groups of residual rows. ``attempts`` is the max number of starting points, ``iterations``
        the max number of steps from each. ``seed`` determines the random starting points. ``mu``,
        ``stall``, ``patience`` and ``polish`` are described in :mod:`driver`. A large batch is
        distributed over at most ``threads`` threads (default: see :class:`sharing.threads`). The
        number of threads does not change the results.
        """
        solve = self._native or self._build()
        p = self._array("p", p, self.m)
        x0 = self._middle if x0 is None else self._array("x0", x0, self.n)
        settings = self._settings(
            (tol_first, tol_rest, mu, stall, iterations, attempts, patience, polish)
        )
        tail = (address(self._box), address(self._sample), settings, seed & (2**63 - 1))
        if p.ndim == 1 and x0.ndim == 1:
            x, info = np.empty(self.n), np.empty(len(INFO))
            solve(1, address(p), 0, address(x0), 0, *tail, address(x), address(info))
            return self._single(x, info, p, x0)
        lead, p, x0 = self._broadcast(p, x0)
        x, info = np.empty((*lead, self.n)), np.empty((*lead, len(INFO)))
        steps = [a.shape[-1] if a.size > a.shape[-1] else 0 for a in (p, x0)]
        columns = (address(p), steps[0]), (address(x0), steps[1])
        results = (address(x), self.n), (address(info), len(INFO))

        def run(start: int, stop: int) -> None:
            (p_at, p_step), (x0_at, x0_step) = ((a + 8 * start * s, s) for a, s in columns)
            out = (a + 8 * start * s for a, s in results)
            solve(stop - start, p_at, p_step, x0_at, x0_step, *tail, *out)

        share(run, math.prod(lead), _ROWS_PER_THREAD, threads)
        return self._batch(x, info, p, x0)

    def plain(self, **settings: float) -> PlainSolver:
        """Return a fast solver for single problems.

        The settings are the keywords of `__call__` except ``threads``.
        """
        for key in settings:
            if key not in _DEFAULTS:
                known = ", ".join(_DEFAULTS)
                raise BrazoError(f"{self.name}: unknown setting '{key}'; settings: {known}")
        solve = self._native or self._build()
        values = {**_DEFAULTS, **settings}
        known = self._settings(tuple(float(values[key]) for key in SETTINGS))
        places = address(self._box), address(self._sample), known, int(values["seed"])
        return PlainSolver(self, solve, places)

    @property
    def lower(self) -> np.ndarray:
        """Lower limits (n,) of the unknowns x."""
        return self._box[0].copy()

    @property
    def upper(self) -> np.ndarray:
        """Upper limits (n,) of the unknowns x."""
        return self._box[1].copy()

    def llvm_ir(self) -> str:
        """Return the LLVM IR of the solver."""
        module = Module()
        for part, probe in ((self._step, ()), (self._begin, ("x", "p"))):
            lower_one(module, part.name, part.graph, part.named_results, probe, "internal")
        add_copy(module)
        module.definitions[f"{self.name}_solve"] = driver_functions(self.name, self.n)
        return module.text()

    def _single(self, x: np.ndarray, info: np.ndarray, p: np.ndarray, x0: np.ndarray) -> Solution:
        status, cost, first, rest, iterations, attempts = info.tolist()
        if status < 0:
            self._complain_about_nonfinite(p, x0)
        first, rest = math.sqrt(first), math.sqrt(rest)
        return Solution(x, status > 0, cost, first, rest, int(iterations), int(attempts))

    def _batch(self, x: np.ndarray, info: np.ndarray, p: np.ndarray, x0: np.ndarray) -> Solution:
        status, cost, first, rest, iterations, attempts = np.moveaxis(info, -1, 0)
        if (status < 0).any():
            self._complain_about_nonfinite(p, x0)
        counts = iterations.astype(np.int64), attempts.astype(np.int64)
        return Solution(x, status > 0, cost, np.sqrt(first), np.sqrt(rest), *counts)

    def _complain_about_nonfinite(self, p: np.ndarray, x0: np.ndarray) -> None:
        for key, array in (("p", p), ("x0", x0)):
            for index in np.argwhere(~np.isfinite(array)).tolist():
                where = ", ".join(map(str, index))
                value = array[tuple(index)]
                raise BrazoError(f"{self.name}: {key}[{where}] is {value}; it must be finite")
        raise BrazoError(f"{self.name}: p or x0 is too large: the sum of its values overflows")

    def _settings(self, values: tuple[float, ...]) -> int:
        """Return the address of the settings array, which is cached for repeated calls."""
        array = self._known_settings.get(values)
        if array is None:
            array = np.array(values, dtype=float)
            if not (array > 0).all() or not np.isfinite(array).all():
                given = ", ".join(f"{k}={v}" for k, v in zip(SETTINGS, values, strict=True))
                raise BrazoError(f"{self.name}: all settings must be positive and finite: {given}")
            self._known_settings[values] = array
        return address(array)

    def _build(self) -> Any:
        with self._lock:
            if self._native is None:
                self._native = self._compiled() if native() else self._interpreted
            return self._native

    def _compiled(self) -> Any:
        from brazo.codegen.jit import load_or_compile

        parts = f"{self._step.signature()}\n{self._begin.signature()}"
        self._library = load_or_compile(f"solver {self.name}\n{parts}", self.llvm_ir)
        pointer, integer = ctypes.c_void_p, ctypes.c_int64
        arguments = [*[pointer, integer] * 2, *[pointer] * 3, integer, *[pointer] * 2]
        kind = ctypes.CFUNCTYPE(None, integer, *arguments)
        return kind(self._library.address(f"{self.name}_solve_many"))

    def _interpreted(
        self, rows: int, p_at: int, p_step: int, x0_at: int, x0_step: int, box_at: int,
        sample_at: int, settings_at: int, seed: int, x_at: int, info_at: int,
    ) -> None:  # fmt: skip
        """Python version of the compiled function, with the same arguments."""
        limits = self._box.ravel().tolist()
        settings = doubles(settings_at, len(SETTINGS)).tolist()
        for k in range(rows):
            p = doubles(p_at + 8 * k * p_step, self.m).tolist()
            x0 = doubles(x0_at + 8 * k * x0_step, self.n).tolist()
            x, info = (
                doubles(at + 8 * k * n, n) for at, n in ((x_at, self.n), (info_at, len(INFO)))
            )
            if not all(map(math.isfinite, [*p, *x0])):
                info[0] = -1.0
                continue

            def step(z: list[float], mu: float, p: list[float] = p):
                values = self._step.evaluate([*z, *p, mu, *limits])
                return values[: self.n], values[self.n :]

            def begin(z: list[float], p: list[float] = p) -> list[float]:
                return self._begin.evaluate([*z, *p, *limits])

            x[:], info[:] = search(begin, step, x0, self._sample.tolist(), settings, seed)

    def _functions(
        self, graph: Graph, e: Sequence[Any], J: Sequence[Any], cost: Any
    ) -> tuple[GraphFunction, GraphFunction]:
        """Return two graph functions: the step and the projection into the limits.

        The step is (x, p, mu, box) -> (y, norms), the projection is (x, p, box) -> y.  ``norms``
        contains the cost and the squared norms of the two groups of residual rows at x.
        """
        n, k = self.n, self.k
        g = Graph()
        x, _, mu, box = (g.inputs(*i) for i in (("x", n), ("p", self.m), ("mu", 1), ("box", 2 * n)))
        lower, upper = box[:n], box[n:]
        extra = [] if cost is None else [cost]
        moved = transplant([*e, *(v for row in J for v in row), *extra], g)
        e, flat = moved[:k], moved[k : k + k * n]
        J = [flat[i * n : (i + 1) * n] for i in range(k)]
        first = dot(e[: self.split], e[: self.split])
        rest = dot(e[self.split :], e[self.split :])
        cost = moved[-1] if extra else (first + rest) * 0.5
        dx = lm_step(x, e, J, cost, mu[0], lower, upper)
        y = [project(x[j] + dx[j], lower[j], upper[j], self.periodic[j]) for j in range(n)]
        step = GraphFunction(f"{self.name}_step", g, {"y": y, "norms": [cost, first, rest]})
        start = Graph()
        x = start.inputs("x", n)
        start.inputs("p", self.m)
        box = start.inputs("box", 2 * n)
        y = [project(x[j], box[j], box[n + j], self.periodic[j]) for j in range(n)]
        return step, GraphFunction(f"{self.name}_begin", start, {"y": y})

    def _limits(self, lower: Any, upper: Any) -> np.ndarray:
        try:
            box = np.array([np.broadcast_to(v, (self.n,)) for v in (lower, upper)], dtype=float)
        except (TypeError, ValueError):
            raise BrazoError(
                f"solver {self.name}: lower and upper need {self.n} numbers each"
            ) from None
        if len(self.periodic) != self.n:
            raise BrazoError(
                f"solver {self.name}: periodic must be one boolean or {self.n} booleans"
            )
        for j, (low, high) in enumerate(box.T):
            if not low <= high:
                raise BrazoError(
                    f"solver {self.name}: x[{j}] has limits [{low}, {high}]; expected low ≤ high"
                )
            if self.periodic[j] and math.isfinite(low) != math.isfinite(high):
                raise BrazoError(
                    f"solver {self.name}: x[{j}] is periodic with limits [{low}, {high}]; give "
                    "two finite limits or none"
                )
        return box

    def _sampling(self, sample: Any) -> np.ndarray:
        if sample is not None:
            box = np.array(sample, dtype=float, order="C")
            if box.shape != (2, self.n):
                raise BrazoError(
                    f"solver {self.name}: sample has shape {box.shape}; expected (2, {self.n})"
                )
        else:
            box = self._box.copy()
            for j in range(self.n):
                if self.periodic[j] and not math.isfinite(box[0, j]):
                    box[:, j] = -math.pi, math.pi
        for j, (low, high) in enumerate(box.T):
            if not (math.isfinite(low) and math.isfinite(high) and low <= high):
                raise BrazoError(
                    f"solver {self.name}: the sampling range of x[{j}] is [{low}, {high}]; "
                    "pass finite limits as 'sample'"
                )
        return box

    def _array(self, key: str, value: Any, size: int) -> np.ndarray:
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise BrazoError(f"{self.name}: {key}: not an array of numbers ({error})") from None
        if array.ndim == 0 or array.shape[-1] != size:
            raise BrazoError(
                f"{self.name}: {key} has shape {array.shape}; expected (..., {size}), with any "
                "leading batch dimensions"
            )
        return np.ascontiguousarray(array)

    def _broadcast(
        self, p: np.ndarray, x0: np.ndarray
    ) -> tuple[tuple[int, ...], np.ndarray, np.ndarray]:
        try:
            lead = np.broadcast_shapes(p.shape[:-1], x0.shape[:-1])
        except ValueError:
            raise BrazoError(
                f"{self.name}: batch dimensions do not broadcast: p {p.shape}, x0 {x0.shape}; "
                "all but the last dimension must be equal or 1"
            ) from None
        p, x0 = (
            a if a.size == a.shape[-1] else np.broadcast_to(a, (*lead, a.shape[-1]))
            for a in (p, x0)
        )
        return lead, np.ascontiguousarray(p), np.ascontiguousarray(x0)


class PlainSolver:
    """A solver for single problems with preallocated input arrays; not thread-safe.

    Fill `p` and `x0`, then call the object. A call returns x and a list with the fields of
    :data:`~brazo.codegen.driver.INFO`. Inputs are not checked.
    """

    __slots__ = ("_arguments", "_info", "_owner", "_solve", "_x", "p", "x0")

    def __init__(self, owner: Solver, solve: Any, places: tuple[int, ...]) -> None:
        self.p, self.x0, self._x = np.zeros(owner.m), owner._middle.copy(), np.zeros(owner.n)
        self._info = np.zeros(len(INFO))
        self._owner, self._solve = owner, solve
        inputs = (address(self.p), 0, address(self.x0), 0)
        self._arguments = (1, *inputs, *places, address(self._x), address(self._info))

    def __call__(self) -> tuple[np.ndarray, list[float]]:
        self._solve(*self._arguments)
        return self._x.copy(), self._info.tolist()
