"""The Python export, run in a fresh interpreter that cannot import brazo."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from brazo.dynamics.symbolic import derive
from tests.dynamics.symbolic.equations import close, equations, robot, states
from tests.dynamics.symbolic.test_derivation import ODD, POINT_MASSES, load_text

CALLS = """
import json, sys
sys.modules["brazo"] = None
sys.path.insert(0, ".")
import exported as e
q, qd, qdd, tau, wrench = json.load(sys.stdin)
x, v = e.rk4_step(q, qd, tau, 1e-3, wrench)
result = {
    "fk": e.fk(q), "jacobian": e.jacobian(q), "M": e.mass_matrix(q), "C": e.coriolis(q, qd),
    "G": e.gravity(q), "energy": e.energy(q, qd), "tau": e.inverse_dynamics(q, qd, qdd),
    "loaded": e.inverse_dynamics(q, qd, qdd, wrench), "x": x, "v": v,
    "qdd": e.forward_dynamics(q, qd, tau, wrench),
}
print(json.dumps({key: value.tolist() for key, value in result.items()}))
"""


def run(eqs, folder, arguments) -> dict:
    (folder / "exported.py").write_text(eqs.python(), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-I", "-c", CALLS],
        input=json.dumps([np.asarray(a).tolist() for a in arguments]),
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("scara1", "symbolic"), ("puma560-drives", "numeric"), ("odd", "symbolic")],
)
def test_every_function_agrees(name, parameters, tmp_path):
    arm = load_text(ODD, tmp_path) if name == "odd" else robot(name)
    eqs = derive(arm) if name == "odd" else equations(name, parameters)
    q, qd, qdd = (x[0] for x in states(arm.n, 1))
    rng = np.random.default_rng(5)
    tau, wrench = rng.uniform(-5, 5, arm.n), rng.uniform(-5, 5, 6)
    got = run(eqs, tmp_path, (q, qd, qdd, tau, wrench))
    assert close(got["fk"], arm.fk(q), 1e-13)
    assert close(got["jacobian"], arm.jacobian(q), 1e-13)
    assert close(got["M"], arm.mass_matrix(q), 1e-13)
    assert close(got["C"], arm.coriolis(q, qd), 1e-13)
    assert close(got["G"], arm.gravity(q), 1e-13)
    assert close(got["energy"], arm.energy(q, qd), 1e-13)
    assert close(got["tau"], arm.inverse_dynamics(q, qd, qdd), 1e-13)
    assert close(got["loaded"], arm.inverse_dynamics(q, qd, qdd, wrench=wrench), 1e-13)
    assert close(got["qdd"], arm.forward_dynamics(q, qd, tau, wrench=wrench), 1e-11)
    # A step of 1 ms by hand, with the arm's own accelerations.
    f = arm.forward_dynamics
    k1 = f(q, qd, tau, wrench=wrench)
    k2 = f(q + 5e-4 * qd, qd + 5e-4 * k1, tau, wrench=wrench)
    k3 = f(q + 5e-4 * (qd + 5e-4 * k1), qd + 5e-4 * k2, tau, wrench=wrench)
    k4 = f(q + 1e-3 * (qd + 5e-4 * k2), qd + 1e-3 * k3, tau, wrench=wrench)
    assert close(got["v"], qd + 1e-3 / 6 * (k1 + 2 * k2 + 2 * k3 + k4), 1e-12)
    assert close(got["x"], q + 1e-3 * qd + 1e-6 / 6 * (k1 + k2 + k3), 1e-13)


def test_a_singular_mass_matrix_raises(tmp_path):
    arm = load_text(POINT_MASSES, tmp_path)
    (tmp_path / "exported.py").write_text(derive(arm).python(), encoding="utf-8")
    script = (
        "import sys; sys.path.insert(0, '.')\nimport exported as e\ne.forward_dynamics(*[[1]*5]*3)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1 and "Singular matrix" in done.stderr
