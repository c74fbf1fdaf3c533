"""Compiled search for brackets of all real zeros of trigonometric polynomials.

    f(x) = w_0 + sum_k w_k cos kx + w_{n+k} sin kx,    k = 1 ... n

The circle is divided into cells. The signs of f and its derivatives at both ends bound the number
of zeros in a cell (Budan and Fourier; the last derivative is assumed to have at most one zero in a
cell). A cell with a sign change of f and a bound of one is a bracket. In a cell where |f| has a
minimum, the value of f at the minimum decides whether the cell has two zeros or none. A cell that
may have more zeros is halved.

f must be scaled to a max of about 1. If |f| is below `rounding` at both ends of a cell, its sign is
not reliable and the cell is skipped. If |f| is below 300 times `rounding` at both ends of a cell,
the polynomial is marked as *flat*.

If |f| has a minimum that is almost zero, rounding may have removed two zeros. The minimum is then
returned as a double zero: two brackets whose ends are all equal. The caller decides whether the
double zero is valid. At most 31 brackets of a polynomial are returned.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from brazo.codegen import ring
from brazo.codegen.call_route import native
from brazo.codegen.emitter import Module, hex_double
from brazo.codegen.flow import WORD, Flow, add_copy
from brazo.codegen.function import GraphFunction
from brazo.codegen.graph import Graph
from brazo.codegen.llvm import lower_one
from brazo.codegen.native import address, doubles
from brazo.codegen.sharing import share

__all__ = ["Brackets", "TrigonometricZeros", "polynomial", "zero_function"]

_ORDERS = 9  # derivatives examined, from 0
_CELLS = 64
_LEAST_DEPTH, _DEPTH = 2, 22  # halvings of a cell
_NEAR = 0.008  # rad, max imaginary part of two complex zeros that are reported as a double zero
_ITERATIONS = 10
_MOST = 32  # size of the bracket array of a row; the last place is not used
_ROWS_PER_THREAD = 64
_NONE, _ONE, _DIP, _SPLIT = range(4)
_MARGIN = 300.0  # times rounding: below this, signs may be wrong


class Brackets(NamedTuple):
    """Brackets of the zeros of N polynomials: M intervals with one zero each, and flags."""

    rows: np.ndarray  # (M,) index of the polynomial, ascending
    ends: np.ndarray  # (M, 2) rad; equal for a double zero
    close: np.ndarray  # (N,) bool: whether two zeros lie at one minimum of |f|
    flat: np.ndarray  # (N,) bool: whether |f| is at the level of rounding in some cell


def polynomial(wave: Sequence[Any], angle: Any) -> tuple[Any, Any]:
    """Return f and f' at an angle (rad); `wave` contains w_0 ... w_2n of the module docstring."""
    value, slope = derivatives(wave, angle, 2)
    return value, slope


def derivatives(wave: Sequence[Any], angle: Any, orders: int) -> list[Any]:
    """Return f and its derivatives up to order ``orders - 1`` at an angle (rad)."""
    degree = len(wave) // 2
    s, c = ring.sincos(angle)
    ck, sk = c, s
    result: list[Any] = [wave[0], *[0.0] * (orders - 1)]
    for k in range(1, degree + 1):
        a, b = wave[k], wave[degree + k]
        even, odd = a * ck + b * sk, b * ck - a * sk
        for order in range(orders):
            sign = -1.0 if order % 4 > 1 else 1.0
            term = odd if order % 2 else even
            result[order] = result[order] + (sign * float(k) ** order) * term
        if k < degree:
            ck, sk = ck * c - sk * s, sk * c + ck * s
    return result


def zero_function(name: str, degree: int) -> GraphFunction:
    """Make a graph function (coefficients, bracket) -> (zero in the bracket, slope there).

    It uses Newton's method, and bisection if a step leaves the bracket.
    """
    graph = Graph()
    wave, (low, high) = graph.inputs("wave", 2 * degree + 1), graph.inputs("bracket", 2)
    left, _ = polynomial(wave, low)
    right, _ = polynomial(wave, high)
    x = low + (high - low) * (left / _nonzero(left - right))
    for _ in range(_ITERATIONS):
        value, slope = polynomial(wave, x)
        same = value * left  # the zero is to the right of x where this is positive
        low, high = ring.where(same, x, low), ring.where(same, high, x)
        newton = x - value / _nonzero(slope)
        middle = 0.5 * (low + high)
        x = ring.where(newton - low, ring.where(high - newton, newton, middle), middle)
    _, slope = polynomial(wave, x)
    return GraphFunction(name, graph, {"angle": [x], "slope": [slope]})


class TrigonometricZeros:
    """Search for brackets of the zeros of trigonometric polynomials of one degree."""

    def __init__(self, degree: int, rounding: float) -> None:
        self.size = 2 * degree + 1
        self.rounding = rounding
        graph = Graph()
        wave, (angle,) = graph.inputs("wave", self.size), graph.inputs("angle", 1)
        values = derivatives(wave, angle, _ORDERS)
        self._values = GraphFunction("zeros_values", graph, {"values": values})
        self._cell = self._classified()
        self._pair = self._extremum(zero_function("zeros_extremum", degree))
        self._lock = threading.Lock()
        self._native: Any = None

    def __call__(self, wave: np.ndarray) -> Brackets:
        """Return the brackets for coefficients (N, 2n + 1), scaled so that max |f| is about 1."""
        solve = self._native or self._build()
        wave = np.ascontiguousarray(wave, dtype=np.float64)
        count = len(wave)
        ends, info = np.empty((count, _MOST, 2)), np.empty((count, 3))

        def run(start: int, stop: int) -> None:
            parts = (wave, self.size), (ends, 2 * _MOST), (info, 3)
            solve(stop - start, *(address(a) + 8 * start * step for a, step in parts))

        share(run, count, _ROWS_PER_THREAD)
        if count == 1:
            found = int(info[0, 0])
            rows = np.zeros(found, dtype=np.intp)
            return Brackets(rows, ends[0, :found], info[:, 1] > 0, info[:, 2] > 0)
        rows, at = np.nonzero(np.arange(_MOST) < info[:, :1])
        return Brackets(rows, ends[rows, at], info[:, 1] > 0, info[:, 2] > 0)

    def _classified(self) -> GraphFunction:
        """Make the graph function that classifies a cell.

        Its inputs are the derivatives at both ends and the number of halvings. Its output is a code
        (no zero, one zero, minimum of |f|, or split) and a flag that is 1 if f is flat (see the
        module docstring).
        """
        graph = Graph()
        low, high = graph.inputs("low", _ORDERS), graph.inputs("high", _ORDERS)
        (depth,) = graph.inputs("depth", 1)
        signs = [[ring.where(x, 1.0, 0.0) for x in end] for end in (low, high)]
        changes = [[_differ(a, b) for a, b in pairwise(s)] for s in signs]
        # Plus one if the last derivative has a zero in the cell.
        bound = _differ(signs[0][-1], signs[1][-1])
        for a, b in zip(*changes, strict=True):
            bound = bound + (a - b)
        crossing = _differ(signs[0][0], signs[1][0])
        dip = ring.minimum(changes[0][0], 1.0 - changes[1][0]) - crossing  # 1 or less
        plain = ring.where(crossing - 0.5, float(_ONE), _if(dip, _DIP, _NONE))
        several = ring.where(bound - 2.5, float(_SPLIT), _if(dip, _DIP, _SPLIT))
        code = ring.where(bound - 1.5, several, plain)
        # Wide cells are halved first: Newton's method needs a good start.
        some = ring.where(code - (_ONE - 0.5), float(_SPLIT), float(_NONE))
        code = ring.where(depth - (_LEAST_DEPTH - 0.5), code, some)
        code = ring.where(depth - (_DEPTH - 0.5), plain, code)
        size = ring.maximum(ring.absolute(low[0]), ring.absolute(high[0]))
        code = ring.where(size - self.rounding, code, float(_NONE))
        flat = ring.where(size - _MARGIN * self.rounding, 0.0, 1.0)
        return GraphFunction("zeros_cell", graph, {"code": [code, flat]})

    def _extremum(self, zero: GraphFunction) -> GraphFunction:
        """Make the graph function for a cell in which |f| has a minimum.

        Its output is the number of zeros (0 or 2) and two brackets.
        """
        graph = Graph()
        wave, (low, high) = graph.inputs("wave", self.size), graph.inputs("cell", 2)
        degree = self.size // 2
        a, b = wave[1 : degree + 1], wave[degree + 1 :]
        slopes = [0.0, *(float(k + 1) * x for k, x in enumerate(b))]
        slopes += [-float(k + 1) * x for k, x in enumerate(a)]
        (lowest,), (curvature,) = graph.call(zero, slopes, [low, high])
        value, _ = polynomial(wave, lowest)
        square = -2.0 * value / _nonzero(curvature)
        half = ring.sqrt(ring.maximum(square, 0.0))
        ends = []
        for side, limit in ((-1.0, low), (1.0, high)):
            # Around the zero of the parabola, if the signs agree.
            inner, outer = lowest + (0.5 * side) * half, lowest + (1.5 * side) * half
            at_inner, _ = polynomial(wave, inner)
            at_outer, _ = polynomial(wave, outer)
            inner = ring.where(at_inner * value, inner, lowest)
            beyond = ring.where(side * (limit - outer), -(at_outer * value), -1.0)
            outer = ring.where(beyond, outer, limit)
            ends += [outer, inner] if side < 0 else [inner, outer]
        there = ring.where(-square, 0.0, 1.0)
        ends = [ring.where(there - 0.5, end, lowest) for end in ends]
        number = ring.where(square + _NEAR * _NEAR, 2.0, 0.0)
        return GraphFunction("zeros_pair", graph, {"found": [number, *ends]})

    def _build(self) -> Any:
        with self._lock:
            if self._native is None:
                self._native = self._compiled() if native() else self._interpreted
            return self._native

    def llvm_ir(self) -> str:
        """Return the LLVM IR of the search."""
        module = Module()
        for part in (self._values, self._cell, self._pair):
            lower_one(module, part.name, part.graph, part.named_results, (), "internal")
        add_copy(module)
        for name, text in (
            ("zeros_append", _append()),
            ("zeros_row", _row()),
            ("zeros_many", _many(self.size)),
        ):
            module.definitions[name] = text
        return module.text()

    def _compiled(self) -> Any:
        from brazo.codegen.jit import load_or_compile

        parts = "\n".join(p.signature() for p in (self._values, self._cell, self._pair))
        self._library = load_or_compile(f"zeros {self.size}\n{parts}", self.llvm_ir)
        kind = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * 3)
        return kind(self._library.address("zeros_many"))

    def _interpreted(self, rows: int, wave_at: int, ends_at: int, info_at: int) -> None:
        """Python version of the compiled function, with the same arguments."""
        for k in range(rows):
            wave = doubles(wave_at + 8 * k * self.size, self.size).tolist()
            ends = doubles(ends_at + 16 * k * _MOST, 2 * _MOST)
            found: list[float] = []
            close = flat = 0.0
            width = 2 * math.pi / _CELLS
            for cell in range(_CELLS):
                stack = [(cell * width, (cell + 1) * width, 0)]
                while stack:
                    low, high, depth = stack.pop()
                    sides = [self._values.evaluate([*wave, x]) for x in (low, high)]
                    code, low_values = self._cell.evaluate([*sides[0], *sides[1], float(depth)])
                    flat = max(flat, low_values)
                    if code == _ONE:
                        found += [low, high]
                    elif code == _DIP:
                        number, *pair = self._pair.evaluate([*wave, low, high])
                        if number:
                            found, close = found + pair, 1.0
                    elif code == _SPLIT:
                        middle = 0.5 * (low + high)
                        stack += [(middle, high, depth + 1), (low, middle, depth + 1)]
            found = found[: 2 * (_MOST - 1)]
            ends[: len(found)] = found
            doubles(info_at + 24 * k, 3)[:] = len(found) // 2, close, flat


def _differ(a: Any, b: Any) -> Any:
    """1 if two signs (0 or 1) differ, otherwise 0."""
    return ring.absolute(a - b)


def _if(test: Any, yes: int, no: int) -> Any:
    return ring.where(test - 0.5, float(yes), float(no))


def _nonzero(x: Any) -> Any:
    return ring.where(ring.absolute(x) - 1e-200, x, 1e-200)


# An entry of the stack: low, high, derivatives at low, derivatives at high, depth.
_AT_LOW, _AT_HIGH, _AT_DEPTH, _ENTRY = 2, 2 + _ORDERS, 2 + 2 * _ORDERS, 3 + 2 * _ORDERS


def _append() -> str:
    """LLVM IR of a function that appends a bracket, unless the array is full."""
    f = Flow("define internal void @zeros_append(ptr %out, ptr %count, double %low, double %high)")
    n = f.load("i64", "%count")
    with f.when(f.binary("icmp slt i64", n, _MOST - 1)):
        bracket = f.item("%out", n, 2 * WORD)
        f.set("double", "%low", bracket, 0)
        f.set("double", "%high", bracket, 1)
        f.store("i64", f.binary("add i64", n, 1), "%count")
    f.result()
    return f.text()


def _row() -> str:
    """LLVM IR of a function that brackets the zeros of one polynomial.

    The function writes three doubles to its argument ``info``: the number of brackets, and the
    flags ``close`` and ``flat`` of `Brackets`.
    """
    f = Flow("define internal void @zeros_row(ptr %wave, ptr %out, ptr %info)")
    stack, code, found = f.room((_DEPTH + 4) * _ENTRY), f.room(2), f.room(5)
    previous, middle = f.room(_ORDERS), f.room(_ORDERS)
    angle, count = f.variable("double", "0.0"), f.variable("i64", 0)

    def values(at: str, to: str) -> None:
        f.call("double", "@zeros_values", "ptr %wave", f"ptr {at}", f"ptr {to}")

    def append(low: str, high: str) -> None:
        given = f"ptr {count.name}", f"double {low}", f"double {high}"
        f.call("void", "@zeros_append", "ptr %out", *given)

    def places(entry: str) -> list[str]:
        return [f.at(entry, WORD * k) for k in (1, _AT_LOW, _AT_HIGH, _AT_DEPTH)]

    for place in (1, 2):
        f.set("double", "0.0", "%info", place)
    values(angle.name, previous)
    with f.each(_CELLS) as cell:
        high_at, at_low, at_high, depth_at = places(stack)
        for place, k in ((stack, cell), (high_at, f.binary("add i64", cell, 1))):
            number = f.emit(f"sitofp i64 {k} to double")
            width = hex_double(2 * math.pi / _CELLS)
            f.store("double", f.binary("fmul double", number, width), place)
        f.store("double", "0.0", depth_at)
        f.copy(at_low, previous, _ORDERS)
        values(high_at, at_high)
        f.copy(previous, at_high, _ORDERS)
        size = f.variable("i64", 1)
        with f.forever() as work:
            with f.when(f.binary("icmp eq i64", size.get(), 0)):
                f.leave(work)
            entry = f.item(stack, size.add(-1), WORD * _ENTRY)
            high_at, at_low, at_high, depth_at = places(entry)
            given = (f"ptr {place}" for place in (at_low, at_high, depth_at, code))
            f.call("double", "@zeros_cell", *given)
            flat = f.binary("fadd double", f.get("double", code, 1), f.get("double", "%info", 2))
            f.set("double", flat, "%info", 2)
            kind = f.emit(f"fptosi double {f.get('double', code, 0)} to i64")
            low, high = f.load("double", entry), f.load("double", high_at)
            with f.when(f.binary("icmp eq i64", kind, _ONE)):
                append(low, high)
            with f.when(f.binary("icmp eq i64", kind, _DIP)):
                f.call("double", "@zeros_pair", "ptr %wave", f"ptr {entry}", f"ptr {found}")
                number, *ends = (f.get("double", found, k) for k in range(5))
                with f.when(f.binary("fcmp ogt double", number, "0.0")):
                    append(*ends[:2])
                    append(*ends[2:])
                    f.set("double", "1.0", "%info", 1)
            with f.when(f.binary("icmp eq i64", kind, _SPLIT)):
                centre = f.binary("fmul double", f.binary("fadd double", low, high), "0.5")
                angle.set(centre)
                values(angle.name, middle)
                deeper = f.binary("fadd double", f.load("double", depth_at), "1.0")
                added = f.at(entry, WORD * _ENTRY)  # the lower half; the upper one stays in place
                added_high_at, added_low, added_high, added_depth_at = places(added)
                f.store("double", low, added)
                f.store("double", centre, added_high_at)
                f.copy(added_low, at_low, _ORDERS)
                f.copy(added_high, middle, _ORDERS)
                f.store("double", centre, entry)
                f.copy(at_low, middle, _ORDERS)
                for place in (depth_at, added_depth_at):
                    f.store("double", deeper, place)
                size.add(2)
    f.set("double", f.emit(f"sitofp i64 {count.get()} to double"), "%info", 0)
    f.result()
    return f.text()


def _many(wave_size: int) -> str:
    f = Flow("define void @zeros_many(i64 %rows, ptr %wave, ptr %out, ptr %info)")
    with f.each("%rows") as k:
        rows = (("%wave", wave_size), ("%out", 2 * _MOST), ("%info", 3))
        f.call("void", "@zeros_row", *(f"ptr {f.item(at, k, WORD * n)}" for at, n in rows))
    f.result()
    return f.text()
