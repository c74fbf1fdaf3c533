"""Description of the machine on which a benchmark runs, with the versions of the software."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from brazo.bench.report import Value
from brazo.codegen import jit
from brazo.codegen.call_route import native, route
from brazo.codegen.diagnose import cpu_name

_PACKAGES = (
    "brazo",
    "numpy",
    "llvmlite",
    "mujoco",
    "pin",
    "roboticstoolbox-python",
    "casadi",
)


def describe() -> dict[str, Value]:
    """Return properties of the CPU and the system, and package versions, by name."""
    found: dict[str, Value] = {
        "cpu": cpu_name(),
        "cpus": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "route": route(),
    }
    if native():
        host = jit.host()
        found |= {"llvm_cpu": host.cpu, "lanes": host.width, "llvm": host.version.split()[1]}
    if hasattr(os, "getloadavg"):
        found["load_at_start"] = round(os.getloadavg()[0], 2)
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    found["optimised_bytecode"] = sys.flags.optimize > 0
    return found
