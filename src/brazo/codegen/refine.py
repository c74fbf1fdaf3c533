"""Newton refinement of a vector inside a kernel.

    check(x, p) -> (miss, more)          error of x, and other values at x
    step(x, p, caution) -> trial         x after a step, damped by `caution`

A trial that does not reduce the error `miss` is rejected, and `caution` is multiplied by 30. After
an accepted trial `caution` is divided by 10, down to 1. A SIMD lane makes no step if its error is
below `fine` or above `hopeless`, or if its `caution` exceeds 1e6. The loop ends after `steps` steps
or if no lane makes a step, so the cost for a vector that is already good is one check. A result
does not depend on the other lanes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from brazo.codegen import ring
from brazo.codegen.emitter import Emitter, Module
from brazo.codegen.function import Function, GraphFunction

__all__ = ["Refinement"]

_CAREFUL, _CALM, _MOST_CAUTION = 30.0, 0.1, 1e6


class Refinement(Function):
    """Function (x, p) -> (x, miss, more): the refined x, and the outputs of `check` for it."""

    def __init__(
        self,
        name: str,
        check: GraphFunction,
        step: GraphFunction,
        fine: float,
        hopeless: float,
        steps: int = 16,
    ) -> None:
        self.name, self.check, self.step = name, check, step
        self.fine, self.hopeless, self.steps = fine, hopeless, steps
        self.inputs = dict(check.inputs)
        self.n, self.m = self.inputs.values()
        self.more = check.outputs["more"]
        self.outputs = {"x": self.n, "miss": 1, "more": self.more}

    def op_counts(self) -> Counter[str]:
        return self.check.op_counts()

    def signature(self) -> str:
        head = f"refinement {self.name} {self.fine} {self.hopeless} {self.steps}"
        return f"{head}\n{self.check.signature()}\n{self.step.signature()}"

    def evaluate(self, values: Sequence[Any]) -> list[Any]:
        x, p = values[: self.n], values[self.n :]
        batch = np.broadcast_shapes(*(np.shape(v) for v in values))
        rows = batch or (1,)
        found = [*x, *self.check.evaluate(values)]
        columns = [np.array(np.broadcast_to(v, rows)) for v in found]
        known = [np.broadcast_to(v, rows) for v in p]
        caution = np.ones(rows)
        for _ in range(self.steps):
            with np.errstate(invalid="ignore"):
                some = np.nonzero(self._active(columns[self.n], caution) >= 0)
            if not some[0].size:
                break
            here = [v[some] for v in known]
            with np.errstate(all="ignore"):
                now = [v[some] for v in columns[: self.n]]
                trial = self.step.evaluate([*now, *here, caution[some]])
                new = [*trial, *self.check.evaluate([*trial, *here])]
                better = new[self.n] < columns[self.n][some]
            for column, value in zip(columns, new, strict=True):
                column[some] = np.where(better, value, column[some])
            was = caution[some]
            caution[some] = np.where(better, np.maximum(_CALM * was, 1.0), _CAREFUL * was)
        return columns if batch else [v[0] for v in columns]

    def _active(self, miss: Any, caution: Any) -> Any:
        return ring.minimum(
            ring.minimum(miss - self.fine, self.hopeless - miss), _MOST_CAUTION - caution
        )

    def _text(self, symbol: str, module: Module, width: int) -> str:
        check, step = self.check.define(module, width), self.step.define(module, width)
        n, m, more = self.n, self.m, 1 + self.more
        e = Emitter(width, module)
        now, trial = e.buffer(n + m + 1), e.buffer(n + m)
        found, new = e.buffer(more), e.buffer(more)
        for i in range(n + m):
            value = e.load("%in", i)
            e.store(value, now, i)
            if i >= n:
                e.store(value, trial, i)
        e.store(e.number(1.0), now, n + m)
        e.put(f"call void @{check}(ptr %in, ptr {found})")
        e.put("br label %loop")
        e.put("loop:")
        count = "%count"
        e.put(f"{count} = phi i64 [ 0, %entry ], [ %count_next, %stepped ]")
        miss, caution = e.load(found, 0), e.load(now, n + m)
        mask = "i1" if width == 1 else f"<{width} x i1>"
        tests = [
            e.emit(f"fcmp oge {e.type} {miss}, {e.number(self.fine)}"),
            e.emit(f"fcmp ole {e.type} {miss}, {e.number(self.hopeless)}"),
            e.emit(f"fcmp ole {e.type} {caution}, {e.number(_MOST_CAUTION)}"),
        ]
        active = e.emit(f"and {mask} {tests[0]}, {tests[1]}")
        active = e.emit(f"and {mask} {active}, {tests[2]}")
        some = e.any_lane(active)
        left = e.emit(f"icmp ult i64 {count}, {self.steps}")
        e.put(f"br i1 {e.emit(f'and i1 {some}, {left}')}, label %stepped, label %done")
        e.put("stepped:")
        e.put(f"call void @{step}(ptr {now}, ptr {trial})")
        e.put(f"call void @{check}(ptr {trial}, ptr {new})")
        lower = e.emit(f"fcmp olt {e.type} {e.load(new, 0)}, {miss}")
        better = e.emit(f"and {mask} {active}, {lower}")
        for source, target, size in ((trial, now, n), (new, found, more)):
            for i in range(size):
                e.store(e.choose(better, e.load(source, i), e.load(target, i)), target, i)
        calm = e.fmul(caution, e.number(_CALM))
        calm = e.choose(e.greater(calm, e.number(1.0)), calm, e.number(1.0))
        careful = e.choose(active, e.fmul(caution, e.number(_CAREFUL)), caution)
        e.store(e.choose(better, calm, careful), now, n + m)
        e.put(f"%count_next = add i64 {count}, 1")
        e.put("br label %loop")
        e.put("done:")
        for i in range(n):
            e.store(e.load(now, i), "%out", i)
        for i in range(more):
            e.store(e.load(found, i), "%out", n + i)
        return e.text(symbol)
