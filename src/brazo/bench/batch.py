"""Inverse and forward dynamics of batches of N states of six-joint arms, with one or two threads.

Pinocchio's batch functions are in C++ and use one column per state.  CasADi maps its compiled
function over the arrays of brazo, with one thread.  For brazo's kernels with one thread, the
performance is also given as a share of the peak of one core.  This share counts floating-point
operations, including those inside sines and cosines.  Loads, stores and checks are not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from brazo.bench.arms import States, general_arm, puma, states
from brazo.bench.clock import race
from brazo.bench.peak import flops_of_sincos, peak_flops
from brazo.bench.peers import agrees, installed
from brazo.bench.report import Section, Value
from brazo.bench.settings import Settings
from brazo.codegen import Kernel
from brazo.codegen.call_route import native
from brazo.codegen.sharing import thread_count
from brazo.robot import Robot

__all__ = ["flops", "measure"]

_WORTH_SHARING = 10_000  # rows; smaller batches always run on one thread


def measure(settings: Settings) -> list[Section]:
    sizes = (1_000, 10_000) if settings.quick else (1_000, 100_000, 1_000_000)
    return [
        _arm(settings, puma(), "batch", "Batches, Puma 560", sizes),
        _arm(
            settings,
            general_arm(),
            "batch_general",
            "Batches, 6R arm without special geometry",
            sizes[1:2],
        ),
        _peak_shares(settings),
    ]


def _arm(settings: Settings, arm: Robot, key: str, title: str, sizes: tuple[int, ...]) -> Section:
    section = Section(key, title)
    peers, notes = installed(arm) if settings.peers else ([], [])
    section.notes += notes
    for size in sizes:
        at = states(arm, size)
        for threads in (1, 2) if thread_count() > 1 and size >= _WORTH_SHARING else (1,):
            for operation, last in (("inverse_dynamics", at.qdd), ("forward_dynamics", at.tau)):
                expected = getattr(arm, operation)(at.q, at.qd, last)
                contestants = {"brazo": _own(arm, operation, at, last, threads)}
                for peer in peers:
                    task = peer.batch(arm, at, threads).get(operation)
                    if task is None:
                        continue
                    if not agrees(expected, task.answer()):
                        section.notes.append(f"{peer.name} disagrees on {operation}: not timed")
                        continue
                    contestants[peer.name] = task.call
                seconds = race(settings, contestants, work=size)
                row: dict[str, Value] = {
                    "operation": operation,
                    "N": size,
                    "threads": threads,
                    "brazo [M/s]": 1e-6 / seconds["brazo"],
                }
                for name, value in seconds.items():
                    if name != "brazo":
                        row[f"{name} [M/s]"] = 1e-6 / value
                        row[f"brazo / {name}"] = value / seconds["brazo"]
                section.rows.append(row)
    return section


def _own(
    arm: Robot, operation: str, at: States, last: np.ndarray, threads: int
) -> Callable[[], Any]:
    function, q, qd, out = getattr(arm, operation), at.q, at.qd, np.empty_like(at.q)
    if (
        threads == 1 and len(q) <= 10_000
    ):  # a plain call, because the batch is too small for threads
        return lambda: function(q, qd, last, out=out)
    return lambda: function(q, qd, last, out=out, threads=threads)


def _peak_shares(settings: Settings) -> Section:
    """Measure the performance of brazo's kernels as a share of the peak of one core."""
    section = Section("peak_share", "Share of the peak, one core, N = 10000")
    if not native():
        section.notes.append("no machine code on this machine")
        return section
    peak = peak_flops(settings)
    for arm in (puma(), general_arm()):
        at = states(arm, 10_000)
        kernels = arm.dynamics.kernels
        dt = np.array([1e-3])
        for kernel, inputs in (
            (kernels.inverse_dynamics, (at.q, at.qd, at.qdd)),
            (kernels.forward_dynamics, (at.q, at.qd, at.tau)),
            (kernels.mass_matrix, (at.q,)),
            (kernels.coriolis, (at.q, at.qd)),
            (kernels.rk4_step, (at.q, at.qd, at.tau, dt)),
        ):
            outs = tuple(np.empty((len(at.q), *shape)) for shape in kernel.shapes.values())
            out = outs[0] if len(outs) == 1 else outs
            call = partial(kernel, *inputs, out=out, threads=1)
            seconds = race(settings, {"brazo": call}, work=len(at.q))["brazo"]
            section.rows.append(
                {
                    "arm": arm.name,
                    "kernel": kernel.name,
                    "flop": flops(kernel),
                    "brazo [M/s]": 1e-6 / seconds,
                    "GFLOP/s": 1e-9 * flops(kernel) / seconds,
                    "of the peak [%]": 100.0 * flops(kernel) / seconds / peak,
                }
            )
    return section


def flops(kernel: Kernel) -> int:
    """Return the number of floating-point operations in one evaluation of a kernel.

    A sine and the cosine of the same angle count together as `flops_of_sincos()` operations.
    """
    counts = kernel.op_counts()
    pairs = max(counts.get("sin", 0), counts.get("cos", 0))
    plain = sum(counts.get(op, 0) for op in ("add", "sub", "mul", "div", "sqrt", "min", "max"))
    return plain + pairs * flops_of_sincos()
