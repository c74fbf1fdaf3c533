"""MuJoCo, imported on first use, with its warnings captured.

By default MuJoCo prints its warnings and writes them to a log file in the working folder.  Here one
handler is installed for the whole process; it passes a warning to the thread that caused it.
"""

from __future__ import annotations

import threading
import warnings
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

_installing = threading.Lock()
_installed = False


class _Heard(threading.local):
    """MuJoCo warnings of one thread: the active collectors, and the last uncollected warning."""

    def __init__(self) -> None:
        self.collectors: list[list[str]] = []
        self.recent: deque[str] = deque(maxlen=4)


_heard = _Heard()


def engine() -> Any:
    """Return the `mujoco` module, which has no type annotations."""
    mujoco = import_module("mujoco")
    if not _installed:
        _install(mujoco)
    return mujoco


@contextmanager
def caught_warnings() -> Iterator[list[str]]:
    """Collect the warnings of MuJoCo within the context."""
    engine()
    messages: list[str] = []
    _heard.collectors.append(messages)
    # The compiler raises Python warnings instead.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield messages
        finally:
            _heard.collectors.remove(messages)
            messages.extend(" ".join(str(warning.message).split()) for warning in caught)


def last_warning() -> str:
    """Return and clear the last MuJoCo warning of this thread outside `caught_warnings`."""
    text = _heard.recent[-1] if _heard.recent else ""
    _heard.recent.clear()
    return text


def _install(mujoco: Any) -> None:
    global _installed
    with _installing:
        if not _installed:
            mujoco.set_mju_user_warning(_hear)
            _installed = True


def _hear(text: str) -> None:
    line = " ".join(text.split())
    if _heard.collectors:
        _heard.collectors[-1].append(line)
    else:
        _heard.recent.append(line)
