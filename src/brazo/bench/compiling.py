"""Compilation time of all kernels of an arm, with an empty cache and with cached object code."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator

from brazo.bench.arms import general_arm, puma
from brazo.bench.report import Section
from brazo.bench.settings import Settings
from brazo.codegen import Kernel
from brazo.codegen.call_route import native
from brazo.dynamics.kernels import TreeDynamicsKernels
from brazo.kinematics.kernels import TreeKernels
from brazo.model.description import TreeModel

__all__ = ["measure"]


def measure(settings: Settings) -> list[Section]:
    section = Section("compile", "Derive and compile all kernels of an arm, one process")
    if not native():
        section.notes.append("no machine code on this machine")
        return [section]
    for arm in (puma(),) if settings.quick else (puma(), general_arm()):
        model = arm.model.require_tree()
        best = {"derive": 9e9, "cold": 9e9, "cached": 9e9}
        count = 0
        for _ in range(1 if settings.quick else 3):
            with tempfile.TemporaryDirectory(prefix="brazo-bench-") as folder, _cache_at(folder):
                for kind in ("cold", "cached"):
                    start = time.perf_counter()
                    kernels = [kernel() for kernel in _all(model)]
                    derived = time.perf_counter()
                    for kernel in kernels:
                        kernel._build()
                    end = time.perf_counter()
                    best["derive"] = min(best["derive"], derived - start)
                    best[kind] = min(best[kind], end - start)
                    count = len(kernels)
        section.rows.append(
            {
                "arm": arm.name,
                "kernels": count,
                "derive only [s]": best["derive"],
                "derive and compile [s]": best["cold"],
                "derive and load from cache [s]": best["cached"],
            }
        )
    return [section]


def _all(model: TreeModel) -> Iterator[Callable[[], Kernel]]:
    """Yield one function per kernel of an arm; the function derives and returns the kernel."""
    forward, dynamics = TreeKernels(model), TreeDynamicsKernels(model)
    yield lambda: forward.fk
    yield lambda: forward.frames
    yield lambda: forward.tool_jacobian
    for frame in ("base", "tool"):
        yield lambda frame=frame: forward.link_jacobian(frame)
    for name in (
        "inverse_dynamics",
        "inverse_dynamics_full",
        "forward_dynamics",
        "forward_dynamics_full",
        "mass_matrix",
        "coriolis",
        "gravity",
        "gravity_full",
        "energy",
        "rk4_step",
    ):
        yield lambda name=name: getattr(dynamics, name)


class _cache_at:
    """Use a folder as the cache of object code (context manager)."""

    def __init__(self, folder: str) -> None:
        self.folder, self.before = folder, os.environ.get("BRAZO_CACHE_DIR")

    def __enter__(self) -> None:
        os.environ["BRAZO_CACHE_DIR"] = self.folder

    def __exit__(self, *error: object) -> None:
        if self.before is None:
            del os.environ["BRAZO_CACHE_DIR"]
        else:
            os.environ["BRAZO_CACHE_DIR"] = self.before
