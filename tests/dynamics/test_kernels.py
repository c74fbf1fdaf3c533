"""A robot's kernels in use: many processes, a damaged cache, threads, calls by kind."""

import os
import subprocess
import sys
import types

import numpy as np
import pytest

import brazo
from brazo.codegen import cache

NEW_ROBOT = """
import numpy as np
import brazo
arm = brazo.load("scara1").with_parameters(L1=0.31234)
q = np.linspace(-0.5, 0.5, arm.n)
print(*(x.hex() for x in [*arm.inverse_dynamics(q, q, q), *arm.forward_dynamics(q, q, q)]))
"""


def _numbers(arm) -> list[str]:
    q = np.linspace(-0.5, 0.5, arm.n)
    return [x.hex() for x in [*arm.inverse_dynamics(q, q, q), *arm.forward_dynamics(q, q, q)]]


def _new_robot():
    return brazo.load("scara1").with_parameters(L1=0.31234)


@pytest.fixture
def objects(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAZO_CACHE_DIR", str(tmp_path / "objects"))
    return tmp_path / "objects"


def test_twenty_processes_compile_the_same_robot_concurrently(objects):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", NEW_ROBOT]
    runs = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(20)
    ]
    outputs = [run.communicate(timeout=120)[0].split() for run in runs]
    assert all(run.returncode == 0 for run in runs)
    expected = _numbers(_new_robot())
    assert all(output == expected for output in outputs)
    files = list(objects.iterdir())
    assert files and all(f.suffix == ".obj" and cache.load(f.stem) for f in files)


def test_truncated_objects_are_recompiled(objects):
    expected = _numbers(_new_robot())
    for file in objects.glob("*.obj"):
        file.write_bytes(file.read_bytes()[:1000])
    assert _numbers(_new_robot()) == expected
    assert all(cache.load(f.stem) for f in objects.glob("*.obj"))


def test_read_only_cache_folder_is_used(objects, monkeypatch):
    expected = _numbers(_new_robot())

    def refuse(*args, **kwargs):
        raise PermissionError("read-only")

    monkeypatch.setattr(cache.tempfile, "mkstemp", refuse)
    monkeypatch.setattr(cache.os, "utime", refuse)
    before = sorted(objects.iterdir())
    assert _numbers(_new_robot()) == expected
    other = brazo.load("scara1").with_parameters(L1=0.29)
    q = np.full(other.n, 0.1)
    assert np.abs(other.forward_dynamics(q, q, other.inverse_dynamics(q, q, q)) - q).max() < 1e-12
    assert sorted(objects.iterdir()) == before


def test_hot_methods_are_builtins():
    arm = brazo.load("puma560")
    names = ("fk", "jacobian", "inverse_dynamics", "forward_dynamics", "mass_matrix", "gravity")
    for name in names:
        assert isinstance(getattr(arm, name), types.BuiltinFunctionType), name
    q = arm.poses["ready"]
    J = np.empty((6, 6))
    assert arm.jacobian(q, out=J) is J
    tool = arm.jacobian(q, "tool")
    R = arm.fk(q)[:3, :3]
    assert np.allclose(R @ tool[:3], J[:3], atol=1e-14)
    assert arm.jacobian(np.tile(q, (3, 1)), link="link 3").shape == (3, 6, 6)


def test_threads_may_be_named_in_any_call():
    arm = brazo.load("puma560")
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 60_000, 6))
    for f, inputs in (
        (arm.fk, (q,)),
        (arm.jacobian, (q,)),
        (arm.inverse_dynamics, (q, qd, qdd)),
        (arm.forward_dynamics, (q, qd, qdd)),
        (arm.gravity, (q,)),
    ):
        assert np.array_equal(f(*inputs, threads=1), f(*inputs, threads=2))


def test_a_batch_is_several_times_faster_than_pinocchio_at_least():
    """Far below what `brazo bench` shows, so that no busy machine fails it."""
    import time

    import pinocchio as pin  # pyright: ignore[reportMissingImports]

    from tests import oracles

    arm = brazo.load("puma560")
    engine = oracles.Pinocchio(arm.model)
    q, qd, qdd = np.random.default_rng(0).uniform(-2, 2, (3, 5000, 6))
    columns = [np.asfortranarray(x.T) for x in (q, qd, qdd)]
    out, theirs = np.empty((5000, 6)), np.empty((6, 5000), order="F")
    pool = pin.ModelPool(engine.robot, 1)
    best = {}
    for _ in range(15):
        for name, run in (
            ("ours", lambda: arm.inverse_dynamics(q, qd, qdd, out=out)),
            ("pin", lambda: pin.rneaInParallel(1, pool, *columns, theirs)),
        ):
            start = time.perf_counter()
            run()
            best[name] = min(best.get(name, np.inf), time.perf_counter() - start)
    assert np.abs(out - theirs.T).max() < 1e-10
    assert best["pin"] > 5.0 * best["ours"]
