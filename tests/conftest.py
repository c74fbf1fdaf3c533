"""What every test may ask for: the reference numbers, a real Chromium, and repeatable examples."""

from __future__ import annotations

import json
import os
import shutil
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

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CHROMIUM_PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
)

# A shell lets its background jobs ignore Ctrl+C, and the commands that tests start would inherit
# that: a test that interrupts one would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

LONG = ("test_examples.py", "test_export.py", "test_run.py", "test_bench.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files among short ones: seldom two browsers at once, and none alone at the end."""
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    long, short = [], []
    for path, tests in files.items():
        browses = any(test.get_closest_marker("browser") for test in tests)
        (long if browses or path.name in LONG else short).append(tests)
    some = len(short) // (len(long) + 1) + 1
    order = []
    while long or short:
        order += long[:1] + short[:some]
        del long[:1], short[:some]
    items[:] = [item for tests in order for item in tests]


@pytest.fixture(scope="session", autouse=True)
def runs_of_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for recordings of labs: tests must not write to the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("runs")
        folder.chmod(0o700)
        patch.setenv("BRAZO_RUNS", str(folder))
        yield folder


@pytest.fixture(scope="session")
def golden() -> dict[str, Any]:
    """Reference numbers found by several independent routes; see `meta` in the file itself."""
    return json.loads((DATA / "golden.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The Chromium the browser tests drive; a machine without one fails them, it skips nothing."""
    named = os.environ.get("BRAZO_CHROMIUM")
    candidates = [named] if named else [*CHROMIUM_NAMES, *CHROMIUM_PLACES]
    for candidate in candidates:
        if found := shutil.which(candidate):
            return found
    pytest.fail(
        f"no Chromium found (looked for {', '.join(candidates)}): run `make setup`, "
        "install Chromium or Google Chrome, or set BRAZO_CHROMIUM to its executable"
    )
