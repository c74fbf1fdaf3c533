"""The C export: compiled without a warning, called, and held against Newton–Euler."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import brazo
from brazo.dynamics.symbolic import derive
from tests.dynamics.symbolic.equations import close, equations, robot, states
from tests.dynamics.symbolic.test_derivation import POINT_MASSES, load_text

FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]


@cache
def compiler() -> str:
    for name in ("cc", "gcc", "clang"):
        if found := shutil.which(name):
            return found
    pytest.fail("no C compiler found (looked for cc, gcc, clang): install gcc or clang")


class Library:
    """The exported functions, called with arrays."""

    def __init__(self, eqs, folder: Path) -> None:
        files = eqs.c()
        for name, text in files.items():
            (folder / name).write_text(text, encoding="ascii")
        source = next(name for name in files if name.endswith(".c"))
        self.name, self.n = source.removesuffix(".c"), eqs.n
        library = folder / f"{self.name}{'.dll' if sys.platform == 'win32' else '.so'}"
        done = subprocess.run(
            [compiler(), *FLAGS, source, "-o", str(library), "-lm"],
            cwd=folder,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        self.library = ctypes.CDLL(str(library))
        self.parameters = None
        self.fields = list(eqs.symbols)
        if self.fields:
            size = len(self.fields)
            default = (ctypes.c_double * size).in_dll(self.library, f"{self.name}_default")
            self.parameters = np.array(default)

    def call(self, function: str, *arguments, out: tuple[int, ...] | None = None):
        entry = getattr(self.library, f"{self.name}_{function}")
        entry.restype = ctypes.c_int
        given = [] if self.parameters is None else [self.parameters]
        arrays = [None if a is None else np.ascontiguousarray(a, dtype=float) for a in arguments]
        result = np.full(out, np.nan) if out is not None else None
        everything = [*given, *arrays, *([] if result is None else [result])]
        status = entry(
            *(None if a is None else a.ctypes.data_as(ctypes.c_void_p) for a in everything)
        )
        return (status, arrays) if result is None else (status, result)


@pytest.mark.parametrize(
    ("name", "parameters", "form"),
    [
        ("scara1", "symbolic", "expanded"),
        ("scara2", "numeric", "expanded"),
        ("puma560-drives", "symbolic", "expanded"),
        ("puma560", "symbolic", "recursive"),
        ("panda", "symbolic", "recursive"),
    ],
)
def test_every_function_agrees(name, parameters, form, tmp_path):
    arm = robot(name)
    c = Library(equations(name, parameters, form), tmp_path)
    n = arm.n
    rng = np.random.default_rng(3)
    for q, qd, qdd in zip(*states(n, 5), strict=True):
        tau, wrench = rng.uniform(-5, 5, n), rng.uniform(-5, 5, 6)
        assert close(c.call("fk", q, out=(4, 4))[1], arm.fk(q), 1e-13)
        assert close(c.call("jacobian", q, out=(6, n))[1], arm.jacobian(q), 1e-13)
        assert close(c.call("mass_matrix", q, out=(n, n))[1], arm.mass_matrix(q), 1e-13)
        assert close(c.call("coriolis", q, qd, out=(n, n))[1], arm.coriolis(q, qd), 1e-13)
        assert close(c.call("gravity", q, out=(n,))[1], arm.gravity(q), 1e-13)
        assert close(c.call("energy", q, qd, out=(2,))[1], arm.energy(q, qd), 1e-13)
        wanted = arm.inverse_dynamics(q, qd, qdd)
        assert close(c.call("inverse_dynamics", q, qd, qdd, None, out=(n,))[1], wanted, 1e-13)
        wanted = arm.inverse_dynamics(q, qd, qdd, wrench=wrench)
        assert close(c.call("inverse_dynamics", q, qd, qdd, wrench, out=(n,))[1], wanted, 1e-13)
        status, accelerations = c.call("forward_dynamics", q, qd, tau, wrench, out=(n,))
        # A small inertia at the wrist divides what rounding left of large torques.
        assert status == 0
        assert close(accelerations, arm.forward_dynamics(q, qd, tau, wrench=wrench), 1e-10)


def test_runge_kutta_step_agrees(tmp_path):
    arm = robot("scara1")
    c = Library(equations("scara1"), tmp_path)
    q, qd, tau = (x[0] for x in states(arm.n, 1))
    wanted = arm.dynamics.kernels.rk4_step(q, qd, tau, [1e-3])
    entry = c.library.scara1_rk4_step
    pointer = ctypes.c_void_p
    x, v = q.copy(), qd.copy()
    entry.argtypes = [pointer] * 5 + [ctypes.c_double]
    status = entry(*(a.ctypes.data for a in (c.parameters, x, v, tau)), None, 1e-3)
    assert status == 0
    assert close(x, wanted[0], 1e-14) and close(v, wanted[1], 1e-12)


def test_parameters_can_be_changed_at_run_time(tmp_path):
    c = Library(equations("scara1"), tmp_path)
    longer = robot("scara1").with_parameters(L1=0.35, L5=0.2)
    c.parameters[c.fields.index("L1")] = 0.35
    c.parameters[c.fields.index("L5")] = 0.2
    q, qd, qdd = (x[0] for x in states(5, 1))
    wanted = longer.inverse_dynamics(q, qd, qdd)
    # The inertias of the boxes follow from their lengths, but only on request.
    before = c.call("inverse_dynamics", q, qd, qdd, None, out=(5,))[1]
    assert not close(before, wanted, 1e-6)
    c.call("update")
    assert close(c.call("inverse_dynamics", q, qd, qdd, None, out=(5,))[1], wanted, 1e-13)


def test_a_singular_mass_matrix_is_reported_with_its_joint(tmp_path):
    arm = load_text(POINT_MASSES, tmp_path)
    c = Library(derive(arm), tmp_path)
    status, _ = c.call("forward_dynamics", *[np.ones(5)] * 3, None, out=(5,))
    assert status == 5


def test_any_name_makes_an_identifier(tmp_path):
    path = tmp_path / "robot.yaml"
    path.write_text(
        "name: '2nd arm*/ \"π\"'\nparameters: {int: 0.3, lambda: 0.1, end: 2}\njoints:\n"
        "  - {name: '*/ \"a\\\\', a: int, mass: end, com: [lambda, 0, 0], inertia: [1, 1, 1]}\n",
        encoding="utf-8",
    )
    arm = brazo.load(path)
    eqs = derive(arm)
    c = Library(eqs, tmp_path)
    assert c.name == "r2nd_arm_"
    assert close(c.call("gravity", [0.3], out=(1,))[1], arm.gravity([0.3]), 1e-13)
    assert close(c.call("mass_matrix", [0.3], out=(1, 1))[1], arm.mass_matrix([0.3]), 1e-14)
