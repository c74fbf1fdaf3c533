"""Start-up time: the duration of complete processes, such as one that only imports brazo."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from brazo.bench.report import Section
from brazo.bench.settings import Settings

__all__ = ["measure"]

_FIRST_TORQUES = """
import numpy as np
import brazo
z = np.zeros(6)
brazo.load("puma560").inverse_dynamics(z, z, z)
"""

_RUNS = {
    "Python alone": ["-c", "pass"],
    "import numpy": ["-c", "import numpy"],
    "import brazo": ["-c", "import brazo"],
    "brazo --help": ["-m", "brazo.cli.main", "--help"],
    "load an arm, first torques (from the cache)": ["-c", _FIRST_TORQUES],
}


def measure(settings: Settings) -> list[Section]:
    section = Section("startup", "Whole processes, start to end")
    best = dict.fromkeys(_RUNS, math.inf)
    with tempfile.TemporaryDirectory(prefix="brazo-bench-") as folder:
        here = str(Path(__file__).parents[2])
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH")))),
            "PYTHONPYCACHEPREFIX": str(Path(folder, "bytecode")),
            "BRAZO_CACHE_DIR": str(Path(folder, "objects")),
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for name in _RUNS:  # bytecode and object code are compiled once
            _seconds(_RUNS[name], environment)
        for _ in range(1 if settings.quick else 15):
            for name, arguments in _RUNS.items():
                best[name] = min(best[name], _seconds(arguments, environment))
    for name, seconds in best.items():
        section.rows.append({"process": name, "time [s]": seconds})
    return [section]


def _seconds(arguments: list[str], environment: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - start
