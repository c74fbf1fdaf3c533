"""The Octave export, run by GNU Octave."""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pytest

from tests.dynamics.symbolic.equations import close, equations, robot, states


def vector(values) -> str:
    return "[" + " ".join(repr(float(x)) for x in values) + "]'"


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("scara1", "symbolic"), ("puma560-drives", "symbolic"), ("scara2", "numeric")],
)
def test_octave_computes_the_same(name, parameters, tmp_path):
    octave = shutil.which("octave-cli")
    assert octave, "octave-cli is not on PATH: make setup installs it on Debian"
    arm = robot(name)
    n = arm.n
    for file, text in equations(name, parameters).octave().items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    q, qd, qdd = (x[0] for x in states(n, 1))
    tau, wrench = np.linspace(-3, 3, n), np.linspace(1, 2, 6)
    f = name.replace("-", "_")
    script = (
        f"q = {vector(q)}; qd = {vector(qd)}; qdd = {vector(qdd)}; tau = {vector(tau)};"
        f"w = {vector(wrench)}; show = @(x) printf('%.17g ', x');"
        f"show({f}_fk(q)); show({f}_jacobian(q)); show({f}_mass_matrix(q));"
        f"show({f}_coriolis(q, qd)); show({f}_gravity(q)); show({f}_energy(q, qd));"
        f"show({f}_inverse_dynamics(q, qd, qdd)); show({f}_inverse_dynamics(q, qd, qdd, w));"
        f"show({f}_forward_dynamics(q, qd, tau));"
        f"[x, v] = {f}_rk4_step(q, qd, tau, 1e-3); show(x); show(v);"
    )
    done = subprocess.run(
        [octave, "--no-init-file", "--no-history", "--eval", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    numbers = np.array(done.stdout.split(), dtype=float)
    steps = arm.dynamics.kernels.rk4_step(q, qd, tau, [1e-3])
    for wanted, relative in (
        (arm.fk(q), 1e-13),
        (arm.jacobian(q), 1e-13),
        (arm.mass_matrix(q), 1e-13),
        (arm.coriolis(q, qd), 1e-13),
        (arm.gravity(q), 1e-13),
        (arm.energy(q, qd), 1e-13),
        (arm.inverse_dynamics(q, qd, qdd), 1e-13),
        (arm.inverse_dynamics(q, qd, qdd, wrench=wrench), 1e-13),
        (arm.forward_dynamics(q, qd, tau), 1e-11),
        (steps[0], 1e-13),
        (steps[1], 1e-12),
    ):
        part, numbers = numbers[: wanted.size], numbers[wanted.size :]
        assert close(part.reshape(wanted.shape), wanted, relative), done.stderr
    assert numbers.size == 0


def test_files_use_syntax_of_both_octave_and_matlab():
    files = equations("puma560-drives").octave()
    for name, text in files.items():
        code = re.sub(r"%.*", "", text)
        assert re.match(rf"function .*{name.removesuffix('.m')}\(", code)
        assert not re.search(r'"|!=|\+=|-=|\bendfunction\b|#|\*\*', code)
        opened = len(re.findall(r"^\s*(?:function|if)\b", code, re.MULTILINE))
        assert len(re.findall(r"\bend\b", code)) == opened
