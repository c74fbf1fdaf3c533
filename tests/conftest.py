"""Fixtures of all tests: the reference numbers, a Chromium, and repeatable examples."""

from __future__ import annotations

import gc
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

DATA = Path(__file__).parent / "data"

# "dev" looks at new examples on every run; "ci" (what `make test` uses) at the same ones always.
settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

# A shell lets its background jobs ignore Ctrl+C, and the commands that tests start would inherit
# that: a test that interrupts one would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

COLLECTED = 10  # calls of `gc.unfreeze`, by labs that close or are idle

# Files that take half a minute or more, the longest first.
LONG = (
    "tests/test_types.py", "program/test_hand_over.py", "server/test_page.py",
    "panels/test_station_pages.py",
    "dynamics/test_dynamics.py", "symbolic/test_derivation.py", "bench/test_bench.py",
    "server/test_floods.py", "recording/test_export_process.py",
    "closed_form/test_spherical_wrist.py",
    "tests/test_examples.py", "cli/test_run.py",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files among short ones, from the start: seldom two browsers at once, none at the end."""
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    long: list[tuple[int, list[pytest.Item]]] = []
    short = []
    for path, tests in files.items():
        rank = next((i for i, end in enumerate(LONG) if path.as_posix().endswith(end)), len(LONG))
        if rank < len(LONG) or any(test.get_closest_marker("browser") for test in tests):
            long.append((rank, tests))
        else:
            short.append(tests)
    long.sort(key=lambda entry: entry[0])
    between = len(short) // (len(long) + 1)
    order = []
    for _, tests in long:
        order += [tests, *short[:between]]
        del short[:between]
    items[:] = [item for tests in [*order, *short] for item in tests]


def pytest_collection_finish() -> None:
    """Exclude what the collection has left from garbage collections: it stays to the end.

    Collections are rarer than by default: graphs of kernels are large and have no garbage.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 10)


class Unfreezing:
    """`gc.unfreeze`, with a count of its calls.

    `gc.get_freeze_count` would visit every frozen object, which takes 50 ms after each test.
    """

    def __init__(self) -> None:
        self._unfreeze = gc.unfreeze
        self.calls = 0  # since the last collection
        self.frozen = True  # since the last call of `freeze`

    def __call__(self) -> None:
        self._unfreeze()
        self.calls += 1
        self.frozen = False


unfreezing = gc.unfreeze = Unfreezing()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Iterator[None]:
    """Freeze again what a closed lab has unfrozen: a full collection takes half a second."""
    yield
    if not unfreezing.frozen:
        if unfreezing.calls >= COLLECTED:
            gc.collect()  # frees closed labs
            unfreezing.calls = 0
        gc.freeze()
        unfreezing.frozen = True


def pytest_sessionfinish() -> None:
    """Let the interpreter delete all objects when it ends."""
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def runs_of_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders for recordings and projects of labs: tests must not write to the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("runs")
        folder.chmod(0o700)
        patch.setenv("BRAZO_RUNS", str(folder))
        patch.setenv("BRAZO_PROJECTS", str(tmp_path_factory.mktemp("projects")))
        # A process with a full disk would leave damaged modules for all others.
        patch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        yield folder


@pytest.fixture(scope="session")
def golden() -> dict[str, Any]:
    """Reference numbers found by several independent routes; see `meta` in the file itself."""
    return json.loads((DATA / "golden.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The Chromium the browser tests drive; a machine without one fails them, it skips nothing."""
    import browsing  # imports Playwright

    return browsing.chromium_path() or pytest.fail(browsing.NOT_FOUND)
