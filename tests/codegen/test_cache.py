"""Compiled objects on disk: found again, never trusted when damaged, shared by processes."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from brazo.codegen import Graph, cache, compile_kernel, jit
from brazo.internals import cpython


@pytest.fixture
def directory(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAZO_CACHE_DIR", str(tmp_path / "objects"))
    return tmp_path / "objects"


@pytest.fixture
def compilations(monkeypatch):
    """How often the compiler really ran."""
    count = []
    real = jit.compile_object
    monkeypatch.setattr(jit, "compile_object", lambda *args: count.append(1) or real(*args))
    return count


def _kernel(factor=3.0):
    g = Graph()
    (x,) = g.inputs("x", 1)
    return compile_kernel("scale", g, {"y": [x * factor]})


def test_the_second_process_would_not_compile(directory, compilations):
    assert _kernel()([2.0])[0] == 6.0
    assert _kernel()([2.0])[0] == 6.0
    assert len(compilations) == 1
    assert _kernel(5.0)([2.0])[0] == 10.0
    assert len(compilations) == 2
    assert len(list(directory.glob("*.obj"))) == 2
    assert not list(directory.glob("*.tmp"))


@pytest.fixture
def fresh_generator():
    """The key of the generator is computed again, now and after the test."""
    jit._generator.cache_clear()
    yield
    jit._generator.cache_clear()


def test_an_interpreter_with_another_object_layout_compiles_again(
    directory, compilations, monkeypatch, fresh_generator
):
    _kernel()([2.0])
    monkeypatch.setattr(cpython, "ITEMS", cpython.ITEMS + 8)
    jit._generator.cache_clear()
    _kernel()([2.0])
    assert len(compilations) == 2


def test_a_change_of_the_object_layouts_in_the_source_compiles_again(
    directory, compilations, tmp_path, monkeypatch, fresh_generator
):
    _kernel()([2.0])
    changed = tmp_path / "cpython.py"
    changed.write_text(Path(cpython.__file__).read_text(encoding="utf-8") + "# changed\n")
    monkeypatch.setattr(cpython, "__file__", str(changed))
    jit._generator.cache_clear()
    _kernel()([2.0])
    assert len(compilations) == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: data[:-5] + bytes([data[-5] ^ 1]) + data[-4:],
        lambda data: b"something else entirely",
        lambda data: data.replace(b"001\n", b"000\n", 1),
    ],
    ids=["truncated", "empty", "one bit flipped", "foreign", "older format"],
)
def test_a_damaged_file_is_rebuilt(directory, compilations, damage):
    _kernel()([2.0])
    (file,) = directory.glob("*.obj")
    good = file.read_bytes()
    file.write_bytes(damage(good))
    assert _kernel()([2.0])[0] == 6.0
    assert len(compilations) == 2
    assert cache.load(file.stem) == good[-len(cache.load(file.stem) or b"") :]


def test_a_directory_that_cannot_be_written_means_no_cache(tmp_path, monkeypatch, compilations):
    blocker = tmp_path / "file"
    blocker.write_text("in the way")
    monkeypatch.setenv("BRAZO_CACHE_DIR", str(blocker / "below"))
    assert _kernel()([2.0])[0] == 6.0
    assert not cache.store("key", b"object")
    assert cache.load("key") is None


def test_directory_in_place_of_the_file_is_ignored(directory):
    (directory / "key.obj").mkdir(parents=True)
    assert cache.load("key") is None
    assert not cache.store("key", b"object")
    assert not list(directory.glob("*.tmp"))


def test_old_objects_are_removed(directory, monkeypatch):
    monkeypatch.setattr(cache, "MAX_OBJECTS", 3)
    for i in range(5):
        cache.store(f"k{i}", b"object")
        os.utime(directory / f"k{i}.obj", (i, i))
    assert {f.stem for f in directory.glob("*.obj")} == {"k2", "k3", "k4"}


def test_objects_above_the_size_limit_are_removed(directory, monkeypatch):
    monkeypatch.setattr(cache, "MAX_BYTES", 10_000)
    for i in range(32):  # as often as the sizes are added up
        assert cache.store(f"k{i}", bytes(1000))
    assert sum(f.stat().st_size for f in directory.glob("*.obj")) <= 10_000
    assert cache.load("k31") is not None


@pytest.mark.parametrize(
    ("platform", "environment", "end"),
    [
        ("linux", {"XDG_CACHE_HOME": "/somewhere"}, "/somewhere/brazo"),
        ("linux", {}, ".cache/brazo"),
        ("darwin", {}, "Library/Caches/brazo"),
        ("win32", {"LOCALAPPDATA": "/data"}, "/data/brazo/Cache"),
    ],
)
def test_directory_is_that_of_the_platform(monkeypatch, platform, environment, end):
    for key in ("BRAZO_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(key, raising=False)
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert cache.cache_dir().as_posix().endswith(end)


SCRIPT = """
import numpy as np
from brazo.codegen import Graph, compile_kernel, sincos
g = Graph()
x = g.inputs("x", 4)
terms = [v for a in x for v in sincos(a)]
for i in range(6):
    f = compile_kernel(f"part{i}", g, {"y": [t * (i + 1) for t in terms]})
    print(f(np.arange(4.0)).sum().hex())
"""


def test_processes_may_share_the_directory(directory):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", SCRIPT]
    runs = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    outputs = {run.communicate(timeout=60)[0] for run in runs}
    assert all(run.returncode == 0 for run in runs)
    assert len(outputs) == 1 and outputs.pop().count("\n") == 6
    files = list(Path(directory).iterdir())
    assert len(files) == 6 and all(f.suffix == ".obj" for f in files)
    assert all(cache.load(f.stem) for f in files)


def test_a_cached_object_computes_the_same(directory):
    first, second = _kernel(0.1), _kernel(0.1)
    X = np.random.default_rng(0).normal(size=(100, 1))
    assert np.array_equal(first(X), second(X))
