"""A function that is called only where a cheaper result is not good enough.

The inputs contain the cheap result and a value ``need``, which is ≥ 0 where the cheap result must
be improved. The function is called if ``need`` ≥ 0 in any SIMD lane; otherwise nothing is copied.
It changes only the lanes with ``need`` ≥ 0, so the result of a lane does not depend on the other
lanes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from brazo.codegen.emitter import Emitter, Module
from brazo.codegen.function import Function

__all__ = ["Guarded"]


class Guarded(Function):
    """Function (x, p, need) -> x that replaces x by ``function(x, p)`` where `need` ≥ 0.

    With `sets` > 1, `x` consists of several sets, laid out as in
    :class:`~brazo.codegen.vectorized.Vectorized`, and `need` has one value per set. Only sets with
    `need` ≥ 0 are replaced.
    """

    in_place = True

    def __init__(self, name: str, function: Function, sets: int = 1) -> None:
        self.name, self.function, self.sets = name, function, sets
        self.size = sum(function.outputs.values())
        given = sum(function.inputs.values())
        self.inputs = {"x": self.size, "p": given - self.size, "need": sets}
        self.outputs = {"x": self.size}

    def op_counts(self) -> Counter[str]:
        return Counter()

    def signature(self) -> str:
        return f"guarded {self.name} {self.sets}\n{self.function.signature()}"

    def evaluate(self, values: Sequence[Any]) -> list[Any]:
        batch = np.broadcast_shapes(*(np.shape(v) for v in values))
        columns = [np.broadcast_to(v, batch or (1,)) for v in values]
        given, need = columns[: -self.sets], [v >= 0 for v in columns[-self.sets :]]
        some = np.logical_or.reduce(need)
        if not some.any():
            return list(values[: self.size])
        x = [np.array(v) for v in given[: self.size]]
        with np.errstate(all="ignore"):
            new = self.function.evaluate([v[some] for v in given])
        for i, (column, value) in enumerate(zip(x, new, strict=True)):
            column[some] = np.where(need[i % self.sets][some], value, column[some])
        return x if batch else [v[0] for v in x]

    def _text(self, symbol: str, module: Module, width: int) -> str:
        called = self.function.define(module, width)
        first = sum(self.inputs.values()) - self.sets
        e = Emitter(width, module)
        new = e.buffer(self.size)
        zero = e.number(0.0)
        need = [
            e.emit(f"fcmp oge {e.type} {e.load('%in', first + k)}, {zero}")
            for k in range(self.sets)
        ]
        mask = "i1" if width == 1 else f"<{width} x i1>"
        some = need[0]
        for other in need[1:]:
            some = e.emit(f"or {mask} {some}, {other}")
        e.put(f"br i1 {e.any_lane(some)}, label %replace, label %done")
        e.put("replace:")
        e.put(f"call void @{called}(ptr %in, ptr {new})")
        for i in range(self.size):
            value = e.choose(need[i % self.sets], e.load(new, i), e.load("%in", i))
            e.store(value, "%out", i)
        e.put("br label %done")
        e.put("done:")
        return e.text(symbol)
