"""Simulation of two SCARAs by the method of a paper, compared with brazo.

Urrea and Coltters (2015) generate code for M, C and G, invert M numerically in every evaluation and
integrate with Runge–Kutta.  Here `derive()` generates this code.  It is run in Python with NumPy,
and in C with a Gauss–Jordan inverse.  All methods simulate both arms with the same PID controller,
with constant torque in each step.  brazo is also timed with a computed-torque controller.
"""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from brazo.bench.clock import race
from brazo.bench.closed_loop import DT, NativeLoop, gains
from brazo.bench.peers import agrees
from brazo.bench.report import Section
from brazo.bench.settings import Settings
from brazo.control import PID, CompiledController, ComputedTorque
from brazo.robot import Robot, load

__all__ = ["measure"]

_ROBOTS = ("scara1", "scara2")
_STEP = 0.02  # rad and m, small enough that no drive is saturated: the paper's loop has no limits


def measure(settings: Settings) -> list[Section]:
    section = Section("paper", "Two SCARAs, PID and Runge–Kutta: one step of both")
    arms = [load(name) for name in _ROBOTS]
    tasks = [_Task.of(arm) for arm in arms]
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        section.notes.append("no C compiler found: the method is timed in NumPy only")
    with tempfile.TemporaryDirectory(prefix="brazo-paper-") as name:
        folder = Path(name)
        methods_by_name: dict[str, list[_Method]] = {
            "brazo, PID": [
                _Brazo(arm, PID(**task.gains)) for arm, task in zip(arms, tasks, strict=True)
            ],
            "brazo, computed torque": [
                _Brazo(arm, ComputedTorque(kp=400.0, ki=800.0, kd=40.0)) for arm in arms
            ],
            "M, C, G, inverse, RK4: NumPy": [_InNumPy(arm, folder) for arm in arms],
        }
        if compiler is not None:
            methods_by_name["M, C, G, inverse, RK4: C"] = [
                _InC(arm, folder, compiler) for arm in arms
            ]
        contestants, work = {}, {}
        for name, methods in methods_by_name.items():
            steps = 10 if "NumPy" in name else 50 if settings.quick else 500
            run = partial(_both, methods, tasks, steps)
            expected = _both(methods_by_name["brazo, PID"], tasks, steps)
            if "computed" not in name and not agrees(expected, run()):
                section.notes.append(f"{name} gives another result and is not timed")
                continue
            contestants[name], work[name] = run, steps
        seconds = race(settings, contestants, work)
    for name, value in seconds.items():
        section.rows.append(
            {
                "method": name,
                "step of both [µs]": 1e6 * value,
                "time / brazo, PID": value / seconds["brazo, PID"],
            }
        )
    return [section]


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """A motion with PID control from rest at `q` to `goal`."""

    gains: dict[str, Any]
    q: np.ndarray
    goal: np.ndarray

    @classmethod
    def of(cls, arm: Robot) -> _Task:
        q = np.full(arm.n, 0.1)
        return cls(gains(arm, q), q, q + _STEP)


def _both(methods: list[_Method], tasks: list[_Task], steps: int) -> np.ndarray:
    ends = [method.run(task, steps) for method, task in zip(methods, tasks, strict=True)]
    return np.concatenate(ends)


class _Method:
    """Simulation of one arm by one of the compared methods."""

    def run(self, task: _Task, steps: int) -> np.ndarray:
        raise NotImplementedError


class _Brazo(_Method):
    def __init__(self, arm: Robot, controller: CompiledController) -> None:
        self.loop = NativeLoop(arm, controller)

    def run(self, task: _Task, steps: int) -> np.ndarray:
        reference = np.zeros((3, 1, len(task.goal)))
        reference[0] = task.goal
        return self.loop.end(task.q, reference, steps)


class _InNumPy(_Method):
    def __init__(self, arm: Robot, folder: Path) -> None:
        self.n = arm.n
        path = folder / f"{arm.name}_equations.py"
        path.write_text(arm.derive().python(), encoding="utf-8")
        self.model = _module(path)

    def run(self, task: _Task, steps: int) -> np.ndarray:
        model, q, goal = self.model, task.q, task.goal
        kp, ki, kd = (task.gains[name] for name in ("kp", "ki", "kd"))
        qd, s = np.zeros(self.n), np.zeros(self.n)

        def acceleration(q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
            M, C, G = model.mass_matrix(q), model.coriolis(q, qd), model.gravity(q)
            return np.linalg.inv(M) @ (tau - C @ qd - G - model.friction(qd))

        h = DT
        for _ in range(steps):
            e = goal - q
            tau = kp * e + ki * s - kd * qd
            s = s + e * h
            a1 = acceleration(q, qd, tau)
            v2 = qd + 0.5 * h * a1
            a2 = acceleration(q + 0.5 * h * qd, v2, tau)
            v3 = qd + 0.5 * h * a2
            a3 = acceleration(q + 0.5 * h * v2, v3, tau)
            v4 = qd + h * a3
            a4 = acceleration(q + h * v3, v4, tau)
            q = q + h / 6.0 * (qd + 2.0 * v2 + 2.0 * v3 + v4)
            qd = qd + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        return q


class _InC(_Method):
    def __init__(self, arm: Robot, folder: Path, compiler: str) -> None:
        name, self.n = arm.name, arm.n
        here = folder / name
        here.mkdir()
        for file, text in arm.derive().c().items():
            (here / file).write_text(text, encoding="utf-8")
        (here / "loop.c").write_text(_LOOP.replace("NAME", name).replace("SIZE", str(arm.n)))
        sources = [f.name for f in here.glob("*.c")]
        library = here / "loop.so"
        command = [compiler, "-O3", "-march=native", "-shared", "-fPIC", *sources]
        subprocess.run([*command, "-o", library.name, "-lm"], cwd=here, check=True)
        self._loop = ctypes.CDLL(str(library)).loop
        pointer = ctypes.c_void_p
        self._loop.argtypes = [ctypes.c_int, ctypes.c_double, *[pointer] * 5]
        self._loop.restype = None

    def run(self, task: _Task, steps: int) -> np.ndarray:
        end = task.q.copy()
        numbers = (*(task.gains[name] for name in ("kp", "ki", "kd")), task.goal)
        arrays = [np.ascontiguousarray(x, dtype=float) for x in numbers]
        self._loop(steps, DT, *(x.ctypes.data for x in arrays), end.ctypes.data)
        return end


_LOOP = """
#include <math.h>
#include "NAME.h"
#define N SIZE

static void inverse(double A[N][N], double B[N][N]) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) B[i][j] = i == j;
    for (int k = 0; k < N; k++) {
        int best = k;
        for (int i = k + 1; i < N; i++) {
            if (fabs(A[i][k]) > fabs(A[best][k])) best = i;
        }
        for (int j = 0; j < N; j++) {
            double t = A[k][j]; A[k][j] = A[best][j]; A[best][j] = t;
            t = B[k][j]; B[k][j] = B[best][j]; B[best][j] = t;
        }
        double d = 1.0 / A[k][k];
        for (int j = 0; j < N; j++) { A[k][j] *= d; B[k][j] *= d; }
        for (int i = 0; i < N; i++) {
            if (i == k) continue;
            double f = A[i][k];
            for (int j = 0; j < N; j++) { A[i][j] -= f * A[k][j]; B[i][j] -= f * B[k][j]; }
        }
    }
}

static void acceleration(const double *q, const double *qd, const double *tau, double *a) {
    double M[N][N], W[N][N], C[N][N], G[N], F[N], rest[N];
    NAME_mass_matrix(&NAME_default, q, M);
    NAME_coriolis(&NAME_default, q, qd, C);
    NAME_gravity(&NAME_default, q, G);
    NAME_friction(&NAME_default, qd, F);
    inverse(M, W);
    for (int i = 0; i < N; i++) {
        rest[i] = tau[i] - G[i] - F[i];
        for (int j = 0; j < N; j++) rest[i] -= C[i][j] * qd[j];
    }
    for (int i = 0; i < N; i++) {
        a[i] = 0;
        for (int j = 0; j < N; j++) a[i] += W[i][j] * rest[j];
    }
}

void loop(int steps, double h, const double *kp, const double *ki, const double *kd,
          const double *goal, double *q) {
    double qd[N] = {0}, s[N] = {0}, tau[N], x[N], v2[N], v3[N], v4[N], a1[N], a2[N], a3[N], a4[N];
    for (int k = 0; k < steps; k++) {
        for (int i = 0; i < N; i++) {
            double e = goal[i] - q[i];
            tau[i] = kp[i] * e + ki[i] * s[i] - kd[i] * qd[i];
            s[i] += e * h;
        }
        acceleration(q, qd, tau, a1);
        for (int i = 0; i < N; i++) v2[i] = qd[i] + 0.5 * h * a1[i], x[i] = q[i] + 0.5 * h * qd[i];
        acceleration(x, v2, tau, a2);
        for (int i = 0; i < N; i++) v3[i] = qd[i] + 0.5 * h * a2[i], x[i] = q[i] + 0.5 * h * v2[i];
        acceleration(x, v3, tau, a3);
        for (int i = 0; i < N; i++) v4[i] = qd[i] + h * a3[i], x[i] = q[i] + h * v3[i];
        acceleration(x, v4, tau, a4);
        for (int i = 0; i < N; i++) {
            q[i] += h / 6.0 * (qd[i] + 2.0 * v2[i] + 2.0 * v3[i] + v4[i]);
            qd[i] += h / 6.0 * (a1[i] + 2.0 * a2[i] + 2.0 * a3[i] + a4[i]);
        }
    }
}
"""


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
