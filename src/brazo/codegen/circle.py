"""Minimisation of a function of one angle inside a kernel.

The angle is searched on a grid over the full circle. Finer grids around the best angle then refine
it. The function must return a large value at infeasible angles. The input ``need`` selects the SIMD
lanes: lanes with ``need`` < 0 keep their input angle. If ``need`` < 0 in all lanes, the search is
skipped.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from brazo.codegen.emitter import Emitter, Module
from brazo.codegen.function import Function, GraphFunction

__all__ = ["CircleMinimum"]

_GRID = 360
_FAN = 33
_LEVELS = 7  # each reduces the step by a factor of 16: from 1° to less than 1e-9 rad
_CLOSER = 1.0 / 16.0


class CircleMinimum(Function):
    """Function (x, need, p) -> x that minimises ``function(x, p)`` over the angle x (rad).

    Where `need` ≥ 0, the output is the angle of the minimum. Elsewhere it is the input x.
    """

    def __init__(self, name: str, function: GraphFunction) -> None:
        self.name, self.function = name, function
        self.m = function.inputs["p"]
        self.inputs = {"x": 1, "need": 1, "p": self.m}
        self.outputs = {"x": 1}

    def op_counts(self) -> Counter[str]:
        return self.function.op_counts()

    def signature(self) -> str:
        return f"circle minimum {self.name}\n{self.function.signature()}"

    def evaluate(self, values: Sequence[Any]) -> list[Any]:
        batch = np.broadcast_shapes(*(np.shape(v) for v in values))
        x, need, *p = (np.array(np.broadcast_to(v, batch or (1,)), dtype=float) for v in values)
        some = np.nonzero(need >= 0)
        here = [v[some] for v in p]
        for level in range(1 + _LEVELS):
            if not some[0].size:
                break
            best, lowest = x[some], np.full(x[some].shape, np.inf)
            for k in range(_GRID if level == 0 else _FAN):
                angle = _angle(level, k, x[some])
                with np.errstate(all="ignore"):
                    (value,) = self.function.evaluate([angle, *here])
                better = value < lowest
                best, lowest = np.where(better, angle, best), np.where(better, value, lowest)
            x[some] = best
        return [x if batch else x[0]]

    def _text(self, symbol: str, module: Module, width: int) -> str:
        called = self.function.define(module, width)
        e = Emitter(width, module)
        given, value, state = e.buffer(1 + self.m), e.buffer(1), e.buffer(3)  # centre, best, lowest
        start, need = e.load("%in", 0), e.load("%in", 1)
        for i in range(self.m):
            e.store(e.load("%in", 2 + i), given, 1 + i)
        e.store(start, state, 0)
        searched = e.emit(f"fcmp oge {e.type} {need}, {e.number(0.0)}")
        e.put(f"br i1 {e.any_lane(searched)}, label %search, label %done")
        e.put("search:")
        e.label = "search"
        for level in range(1 + _LEVELS):
            self._level(e, level, called, given, value, state)
        e.put("br label %done")
        e.put("done:")
        e.store(e.choose(searched, e.load(state, 0), start), "%out", 0)
        return e.text(symbol)

    def _level(
        self, e: Emitter, level: int, called: str, given: str, value: str, state: str
    ) -> None:
        centre = e.load(state, 0)
        e.store(centre, state, 1)
        e.store(e.number(float("inf")), state, 2)
        first, step = _spacing(level)

        def one(k: str) -> None:
            number = e.splat(e.emit(f"uitofp i64 {k} to double"))
            angle = e.fma(number, e.number(step), e.number(first))
            if level:
                angle = e.fadd(angle, centre)
            e.store(angle, given, 0)
            e.put(f"call void @{called}(ptr {given}, ptr {value})")
            found, lowest = e.load(value, 0), e.load(state, 2)
            better = e.greater(lowest, found)
            e.store(e.choose(better, angle, e.load(state, 1)), state, 1)
            e.store(e.choose(better, found, lowest), state, 2)

        e.repeat(_GRID if level == 0 else _FAN, one)
        e.store(e.load(state, 1), state, 0)


def _spacing(level: int) -> tuple[float, float]:
    """Return the first angle and the step of the grid of a refinement level (rad).

    Level 0 covers the full circle. From level 1 on, the first angle is relative to the best angle
    of the previous level.
    """
    step = 2.0 * math.pi / _GRID
    if level == 0:
        return -math.pi, step
    half = step * _CLOSER ** (level - 1)
    return -half, 2.0 * half / (_FAN - 1)


def _angle(level: int, k: int, centre: Any) -> Any:
    first, step = _spacing(level)
    return k * step + first + (centre if level else 0.0 * centre)
