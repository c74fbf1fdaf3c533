"""Large binary files are refused outside the documentation and data."""

import subprocess
from pathlib import Path

import large_files
import pytest

ROOT = Path(__file__).parents[2]
BINARY = b"\0" * (large_files.LIMIT + 1)


@pytest.fixture
def repository(tmp_path):
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    return tmp_path


def put(root, name, data):
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_bytes(data)


def test_a_large_binary_is_found_before_it_is_committed(repository):
    put(repository, "profiler.whl", BINARY)
    put(repository, "src/tool.so", BINARY)
    assert large_files.large_binaries(repository) == {
        "profiler.whl": len(BINARY),
        "src/tool.so": len(BINARY),
    }


def test_small_ones_text_and_data_are_not(repository):
    put(repository, "small.bin", BINARY[:-1])
    put(repository, "long.txt", b"x" * len(BINARY))
    put(repository, "docs/_static/film.webm", BINARY)
    put(repository, "src/brazo/library/robots/arm.stl", BINARY)
    put(repository, "build/wheel.whl", BINARY)
    put(repository, ".gitignore", b"/build/\n")
    assert large_files.large_binaries(repository) == {}


def test_this_repository_has_none():
    assert large_files.large_binaries(ROOT) == {}
