"""Three call routes with the same results: selection, and messages."""

import os
import subprocess
import sys

import numpy as np
import pytest

from brazo.codegen import compile_solver, jit
from brazo.codegen.call_route import ROUTES, native, route
from brazo.errors import BrazoError
from brazo.internals import cpython
from tests.codegen.arms import PUMA, ik_graph, pose


@pytest.fixture
def choose(monkeypatch):
    def choose(name: str) -> None:
        monkeypatch.setenv("BRAZO_ROUTE", name)
        route.cache_clear()

    yield choose
    route.cache_clear()


def test_fastest_route_is_selected_by_default(choose):
    choose("")
    assert route() == "builtin" and native()


@pytest.mark.parametrize("name", ROUTES)
def test_route_can_be_selected(choose, name):
    choose(name)
    assert route() == name and native() == (name != "numpy")


def test_unknown_route_is_rejected(choose):
    choose("gpu")
    with pytest.raises(BrazoError, match="'gpu'; it must be one of builtin, ctypes, numpy"):
        route()


def test_other_object_layouts_use_ctypes(choose, monkeypatch):
    monkeypatch.setattr(cpython, "unusable", lambda: "an unexpected layout")
    choose("")
    assert route() == "ctypes"
    choose("builtin")
    with pytest.raises(BrazoError, match="set BRAZO_ROUTE=ctypes"):
        route()


def test_kernels_are_interpreted_with_a_warning_without_machine_code(choose, monkeypatch):
    monkeypatch.setattr(jit, "unusable", lambda: "no such CPU")
    choose("")
    with pytest.warns(RuntimeWarning, match="kernels are interpreted.*no such CPU"):
        assert route() == "numpy"
    choose("ctypes")
    with pytest.raises(BrazoError, match="machine code cannot be generated: no such CPU"):
        route()


def test_solver_results_agree_on_every_route(choose):
    q = np.random.default_rng(1).uniform(*PUMA.limits.T, (3, 6))
    goals = np.array([pose(PUMA, row) for row in q])
    graph, e, J, cost = ik_graph(PUMA)
    found = []
    for name in ROUTES:
        choose(name)
        solver = compile_solver(
            "reach", graph, e, J, *PUMA.limits.T, split=3, periodic=True, cost=cost
        )
        found.append(solver(goals, attempts=20))
    for other in found[1:]:
        assert other.success.all() and np.array_equal(other.attempts, found[0].attempts)
        assert np.abs(other.x - found[0].x).max() < 1e-9
    assert np.array_equal(found[0].x, found[1].x)


WITHOUT_LLVM = """
import sys, warnings
sys.modules["llvmlite"] = None
import numpy as np
import brazo
from brazo.control import PID, track
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    arm = brazo.load("scara1")
    q = np.full(arm.n, 0.1)
    tau = arm.inverse_dynamics(q, q, q)
assert len(said) == 1 and "llvmlite cannot be imported" in str(said[0].message), said
goal = lambda t: (q + 0.1, 0 * q, 0 * q)
run = track(arm, PID(kp=1.0, ki=0.0, kd=0.0), goal, 5e-3, q0=q, native=True).run
assert arm.ik(arm.fk(q)).success
print(*tau, *arm.forward_dynamics(q, q, tau), *run.q[-1])
"""


def test_robot_works_without_llvmlite():
    import brazo
    from brazo.control import PID, track

    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LLVM], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    arm = brazo.load("scara1")
    q = np.full(arm.n, 0.1)
    tau = arm.inverse_dynamics(q, q, q)
    still = 0.0 * q
    pid = PID(kp=1.0, ki=0.0, kd=0.0)
    end = track(arm, pid, lambda t: (q + 0.1, still, still), 5e-3, q0=q, native=True).run.q[-1]
    expected = [*tau, *q, *end]
    assert np.allclose([float(x) for x in done.stdout.split()], expected, rtol=1e-12, atol=1e-13)
