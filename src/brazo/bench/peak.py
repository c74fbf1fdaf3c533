"""Peak performance of one core, measured with fused multiply-adds in all SIMD lanes.

Each multiply-add of a chain uses the result of the one before, without loads and stores.  Several
independent chains run at the same time, to hide the latency of the multipliers.  The peak is the
best result with 8 to 16 chains.
"""

from __future__ import annotations

import ctypes
import time
from functools import lru_cache

from brazo.bench.report import Section
from brazo.bench.settings import Settings
from brazo.codegen import jit
from brazo.codegen.call_route import native
from brazo.codegen.emitter import Emitter, Module

__all__ = ["flops_of_sincos", "measure", "peak_flops"]

_STEPS = 50_000


def measure(settings: Settings) -> list[Section]:
    section = Section("peak", "Fused multiply-adds, one core")
    if not native():
        section.notes.append("no machine code on this machine")
        return [section]
    section.rows.append({"lanes": jit.host().width, "peak [GFLOP/s]": peak_flops(settings) / 1e9})
    return [section]


@lru_cache(maxsize=2)
def peak_flops(settings: Settings) -> float:
    """Return the peak of one core (floating-point operations per second).

    A fused multiply-add counts as two operations.
    """
    width = jit.host().width
    best = 0.0
    for chains in (8, 10, 12, 16):
        library = jit.build(_chains(width, chains))
        run = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)(library.address("peak"))
        for _ in range(2 * settings.rounds):
            start = time.perf_counter()
            run(_STEPS)
            taken = time.perf_counter() - start
            best = max(best, 2.0 * width * chains * _STEPS / taken)
    return best


def flops_of_sincos() -> int:
    """Number of floating-point operations in the generated code of one sine with its cosine."""
    from brazo.codegen.trigonometry import emit_sincos

    e = Emitter(1, Module())
    emit_sincos(e, "%x", True, True)
    text = "\n".join(e.lines)
    single = sum(text.count(f" {op} double") for op in ("fadd", "fsub", "fmul"))
    return single + 2 * text.count("@llvm.fma")


def _chains(width: int, count: int) -> str:
    """Return the LLVM IR of a function ``double peak(i64 steps)``.

    In each step it computes x ← x/2 + 1/4 in `count` vectors with `width` lanes.
    """
    module = Module()
    e = Emitter(width, module)
    names = [f"%x{i}" for i in range(count)]
    results = [e.fma(x, e.number(0.5), e.number(0.25)) for x in names]
    phis = [
        f"  {x} = phi {e.type} [ {e.number(1.0 + 0.1 * i)}, %entry ], [ {results[i]}, %loop ]"
        for i, x in enumerate(names)
    ]
    end = Emitter(width, module, "e")
    total = results[0]
    for x in results[1:]:
        total = end.fadd(total, x)
    first = total if width == 1 else end.emit(f"extractelement {e.type} {total}, i64 0")
    module.definitions["peak"] = "\n".join(
        [
            "define double @peak(i64 %steps) #0 {",
            "entry:",
            "  br label %loop",
            "loop:",
            "  %k = phi i64 [ 0, %entry ], [ %k_next, %loop ]",
            *phis,
            *e.lines,
            "  %k_next = add i64 %k, 1",
            "  %more = icmp slt i64 %k_next, %steps",
            "  br i1 %more, label %loop, label %done",
            "done:",
            *end.lines,
            f"  ret double {first}",
            "}",
        ]
    )
    return module.text()
