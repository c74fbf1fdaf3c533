"""MuJoCo, imported on first use, with its warnings captured.

By default MuJoCo prints its warnings and writes them to a log file in the working folder.  Here one
handler is installed for the whole process.  The handler stores each warning for the thread in which
the warning occurred.
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


class _ThreadWarnings(threading.local):
    """MuJoCo warnings of one thread.

    `collectors` are the lists of the active `caught_warnings` blocks.  `recent` are the last
    warnings that occurred outside such a block.
    """

    def __init__(self) -> None:
        self.collectors: list[list[str]] = []
        self.recent: deque[str] = deque(maxlen=4)


_thread_warnings = _ThreadWarnings()


def engine() -> Any:
    """Return the `mujoco` module.

    The return type is `Any`, because the module has no type annotations.
    """
    mujoco = import_module("mujoco")
    if not _installed:
        _install(mujoco)
    return mujoco


@contextmanager
def caught_warnings() -> Iterator[list[str]]:
    """Collect the MuJoCo warnings of this thread in a list (context manager).

    Python warnings, which the MuJoCo compiler uses, are added to the list at the end of the block.
    """
    engine()
    messages: list[str] = []
    _thread_warnings.collectors.append(messages)
    # The compiler raises Python warnings instead.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield messages
        finally:
            _thread_warnings.collectors.remove(messages)
            messages.extend(" ".join(str(warning.message).split()) for warning in caught)


def last_warning() -> str:
    """Return and clear this thread's last MuJoCo warning outside a `caught_warnings` block.

    The result is empty if there was no warning.
    """
    text = _thread_warnings.recent[-1] if _thread_warnings.recent else ""
    _thread_warnings.recent.clear()
    return text


def _install(mujoco: Any) -> None:
    global _installed
    with _installing:
        if not _installed:
            mujoco.set_mju_user_warning(_handle_warning)
            _installed = True


def _handle_warning(text: str) -> None:
    line = " ".join(text.split())
    if _thread_warnings.collectors:
        _thread_warnings.collectors[-1].append(line)
    else:
        _thread_warnings.recent.append(line)
