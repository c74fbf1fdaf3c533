"""Kernels without machine code: the graph is interpreted by Python, or by NumPy for batches.

A single call is evaluated with plain floats. A batch is evaluated in chunks of rows that fit in the
CPU's cache; each operation of the graph is one NumPy call for all rows of a chunk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.codegen.evaluation import GraphEvaluation
from brazo.codegen.sharing import share

if TYPE_CHECKING:
    from brazo.codegen.kernel import Kernel

__all__ = ["Interpreted"]

_CHUNK = 1024  # rows at a time: some hundred columns of them fit in the second-level cache


class Interpreted:
    """Interpreter of a kernel with the interface of `Native`; needs no machine code."""

    def __init__(self, kernel: Kernel):
        self._kernel = kernel
        self._evaluation = GraphEvaluation([x for v in kernel.outputs.values() for x in v])
        self.entry: Callable[..., Any] = kernel._evaluate

    def builtin(self, fallback: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``fallback``, because there is no machine code."""
        return fallback

    def fixed_builtin(self, *parts: Any) -> Callable[..., Any]:
        """Return the last argument, which is the fallback; see `Native.fixed_builtin`."""
        return parts[-1]

    def one(self, arrays: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> bool:
        """Evaluate one set of input vectors; return False if an input is not finite.

        If the kernel has ``explain``, also return False if a result is not finite.
        """
        inputs = {key: a.tolist() for key, a in zip(self._kernel.inputs, arrays, strict=True)}
        values = self._evaluation(inputs)
        start = 0
        for result in results:
            result.reshape(-1)[:] = values[start : start + result.size]
            start += result.size
        seen = (
            [inputs.values(), [values]] if self._kernel.explain is not None else [inputs.values()]
        )
        return all(math.isfinite(x) for group in seen for v in group for x in v)

    def many(
        self,
        lead: tuple[int, ...],
        arrays: Sequence[np.ndarray],
        results: Sequence[np.ndarray],
        threads: int | None,
    ) -> bool:
        """Evaluate every row of a batch; return False in the same cases as `one`."""
        keys = list(self._kernel.inputs)
        wide = [np.broadcast_to(a, (*lead, a.shape[-1])).reshape(-1, a.shape[-1]) for a in arrays]
        rows = math.prod(lead)
        flat = [r.reshape(rows, r.size // rows) if rows else r for r in results]

        def run(begin: int, end: int) -> None:
            for start in range(begin, end, _CHUNK):
                stop = min(start + _CHUNK, end)
                columns = {
                    key: np.ascontiguousarray(a[start:stop].T)
                    for key, a in zip(keys, wide, strict=True)
                }
                with np.errstate(all="ignore"):
                    values = iter(self._evaluation(columns))
                for target in flat:
                    for j in range(target.shape[1]):
                        target[start:stop, j] = next(values)

        share(run, rows, 16 * _CHUNK, threads)
        seen = [*arrays, *results] if self._kernel.explain is not None else arrays
        return all(np.isfinite(a).all() for a in seen)
