"""Self-check of generated code on this machine.

:func:`diagnose` inspects the machine, the call route, LLVM and the cache. It compiles a kernel that
contains all scalar operations, and compares its results with an evaluation in extended precision
(``longdouble``). It also checks that single calls, batches and multi-threaded batches give
bit-identical results. On the route ``numpy``, single calls and batches need to agree only up to
rounding.
"""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from brazo.codegen import cache, jit
from brazo.codegen.call_route import route
from brazo.codegen.graph import Graph
from brazo.codegen.kernel import Kernel, compile_kernel
from brazo.codegen.ring import atan2, maximum, minimum, sincos, sqrt, where
from brazo.codegen.sharing import thread_count
from brazo.errors import BrazoError
from brazo.permissions import make_private

__all__ = ["Check", "cpu_name", "diagnose"]

_WORTH_NAMING = ("avx2", "fma", "avx512f", "avx512dq", "neon", "sve")


@dataclass(frozen=True, slots=True)
class Check:
    """Result of one check: its name, the text ``found``, and ``ok``, which is False on failure."""

    name: str
    found: str
    ok: bool = True


def diagnose() -> list[Check]:
    """Run all checks of generated code in this process and return their results."""
    checks = [
        Check("Python", f"{platform.python_implementation()} {platform.python_version()}"),
        Check("NumPy", np.__version__),
        Check("system", f"{platform.system()} {platform.machine()}"),
        Check("CPU", cpu_name()),
    ]
    reason = jit.unusable()
    if reason is None:
        host = jit.host()
        named = [f for f in _WORTH_NAMING if f"+{f}" in host.features.split(",")]
        llvm = host.version.split()
        checks.append(Check("LLVM", f"{llvm[1]} (llvmlite {llvm[0]}), code for {host.cpu}"))
        checks.append(
            Check("SIMD", f"{host.width} doubles per vector; {', '.join(named) or 'baseline'}")
        )
    else:
        checks.append(Check("LLVM", reason, ok=False))
    checks.append(_route())
    checks.append(Check("threads", f"{thread_count()} for large batches"))
    checks.append(_cache())
    checks += _numbers()
    return checks


def cpu_name() -> str:
    """Return the model name of the CPU, or "unknown"."""
    if sys.platform == "darwin":
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
            return subprocess.run(command, capture_output=True, text=True, timeout=5).stdout.strip()
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.lower().startswith(("model name", "cpu model", "hardware")):
                return line.partition(":")[2].strip()
    return os.environ.get("PROCESSOR_IDENTIFIER") or platform.processor() or "unknown"


def _route() -> Check:
    try:
        chosen = route()
    except BrazoError as error:
        return Check("route", str(error), ok=False)
    forced = " (BRAZO_ROUTE)" if os.environ.get("BRAZO_ROUTE") else ""
    texts = {
        "builtin": "builtin: machine code called through a generated builtin function",
        "ctypes": "ctypes: machine code; some microseconds more per call"
        + ("" if forced else ", because the object layout of this interpreter is not supported"),
        "numpy": "numpy: interpreted, no machine code; much slower",
    }
    return Check("route", texts[chosen] + forced, ok=chosen != "numpy" or bool(forced))


def _cache() -> Check:
    try:
        folder = cache.cache_dir()
        make_private(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
        sizes = [f.stat().st_size for f in folder.glob("*.obj")]
    except (OSError, RuntimeError, BrazoError) as error:
        return Check("cache", f"not usable; every process compiles its kernels ({error})", False)
    return Check("cache", f"{folder}: {len(sizes)} kernels, {sum(sizes) / 1e6:.1f} MB")


def _numbers() -> list[Check]:
    """Check the results against extended precision, and batches against single calls."""
    try:
        kernel = _everything()
        rng = np.random.default_rng(0)
        rows = 2 * kernel.rows_per_thread + 5
        x, y = rng.uniform(-9, 9, (rows, 3)), rng.uniform(1, 2, (rows, 2))
        many = kernel(x, y, threads=1)
        some = range(0, rows, max(1, rows // 97))
        exact = np.array(
            [kernel.reference(x[i].astype(np.longdouble), y[i].astype(np.longdouble)) for i in some]
        )
        error = float(np.abs(many[list(some)] - exact).max())
        checks = [Check("accuracy", f"error {error:.1e} vs extended precision", error < 1e-14)]
        alone = np.array([kernel(x[i], y[i]) for i in some])
        same = np.array_equal(many, kernel(x, y, threads=2))
        if route() == "numpy":  # floats and columns differ in the last place of a sine
            same = same and np.allclose(alone, many[list(some)], 1e-13, 1e-13)
            found = f"rows {'agree with' if same else 'differ from'} single calls"
            return [*checks, Check("batches", found, bool(same))]
        same = same and np.array_equal(alone, many[list(some)])
        same = same and np.array_equal(many[:500], kernel(x[:500].copy(), y[:500].copy()))
        found = "identical in single calls, batches and threads" if same else "differ"
        return [*checks, Check("reproducibility", found, same)]
    except Exception as error:  # any failure is the result of the check
        return [Check("accuracy", f"{type(error).__name__}: {error}", ok=False)]


def _everything() -> Kernel:
    """Make a kernel that contains all scalar operations."""
    g = Graph()
    x, y = g.inputs("x", 3), g.inputs("y", 2)
    out = []
    for v in x:
        s, c = sincos(v)
        out += [s * y[0] - c / y[1], sqrt(v * v + 0.3) + minimum(s, c)]
        out.append(where(v - 0.5, maximum(s, y[0]), -c) * 0.1 + v)
        out.append(atan2(s * y[0], c * y[1]))
    return compile_kernel("self_check", g, {"z": out})
