"""One function applied to several sets of input vectors.

In a single call the sets run in parallel, one per SIMD lane. If there are more sets than
lanes, the call runs several rounds. In a batch call the lanes contain the rows of the batch, so the
sets run one after another through the same machine code.

The layout of inputs and outputs is element 0 of every set, then element 1 of every set, and so on,
so that one vector load fills the lanes. Inputs that all sets share follow once, at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from brazo.codegen.emitter import Emitter, Module
from brazo.codegen.function import Function

__all__ = ["Vectorized"]


class Vectorized(Function):
    """`function` applied to `count` sets of inputs; all sets share the inputs named in `shared`.

    The shared inputs must be the last inputs of `function`.
    """

    def __init__(
        self, name: str, function: Function, count: int, shared: Sequence[str] = ()
    ) -> None:
        self.name, self.function, self.count = name, function, count
        own = len(function.inputs) - len(shared)
        assert list(function.inputs)[own:] == list(shared), "shared inputs must come last"
        sizes = list(function.inputs.values())
        self._own, self._shared = sum(sizes[:own]), sum(sizes[own:])
        self.inputs = {
            key: size if key in shared else count * size for key, size in function.inputs.items()
        }
        self.outputs = {key: count * size for key, size in function.outputs.items()}

    def op_counts(self) -> Counter[str]:
        return Counter({k: v * self.count for k, v in self.function.op_counts().items()})

    def signature(self) -> str:
        head = f"across {self.name} {self.count} {self._shared}"
        return f"{head}\n{self.function.signature()}"

    def evaluate(self, values: Sequence[Any]) -> list[Any]:
        own = values[: self.count * self._own]
        shared = values[self.count * self._own :]
        sets = [self.function.evaluate([*own[i :: self.count], *shared]) for i in range(self.count)]
        return [value for element in zip(*sets, strict=True) for value in element]

    def _text(self, symbol: str, module: Module, width: int) -> str:
        lanes = width if width > 1 else self._lanes()
        called = self.function.define(module, lanes)
        made = sum(self.function.outputs.values())
        e = Emitter(lanes, module)
        values, results = e.buffer(self._own + self._shared), e.buffer(made)
        # One set at a time fills the lanes with rows; several fill them with their own values.
        sets = 1 if width > 1 else lanes
        step = 8 * lanes if width > 1 else 8  # bytes of an element
        for i in range(self._shared):
            place = f"ptr %in, i64 {(self.count * self._own + i) * step}"
            at = e.emit(f"getelementptr i8, {place}")
            if width > 1:
                value = e.emit(f"load {e.type}, ptr {at}, align {step}")
            else:
                value = e.splat(e.emit(f"load double, ptr {at}, align {step}"))
            e.store(value, values, self._own + i)
            e.limit_block()

        def some(k: str) -> None:
            first = e.emit(f"mul i64 {k}, {sets}")
            if self.count % sets:  # the last lanes repeat sets of those before
                last = str(self.count - sets)
                late = e.emit(f"icmp ugt i64 {first}, {last}")
                first = e.emit(f"select i1 {late}, i64 {last}, i64 {first}")
            start = e.emit(f"mul i64 {first}, {step}")

            def place(base: str, i: int) -> str:
                own = e.emit(f"getelementptr i8, ptr {base}, i64 {i * self.count * step}")
                return e.emit(f"getelementptr i8, ptr {own}, i64 {start}")

            for i in range(self._own):
                value = e.emit(f"load {e.type}, ptr {place('%in', i)}, align {step}")
                e.store(value, values, i)
            e.put(f"call void @{called}(ptr {values}, ptr {results})")
            for i in range(made):
                value = e.load(results, i)
                e.put(f"store {e.type} {value}, ptr {place('%out', i)}, align {step}")

        e.repeat(-(-self.count // sets), some)
        return e.text(symbol)

    def _lanes(self) -> int:
        """Number of sets that run in parallel in a single call."""
        from brazo.codegen.jit import host

        lanes = host().width
        while lanes > self.count:
            lanes //= 2
        return lanes
