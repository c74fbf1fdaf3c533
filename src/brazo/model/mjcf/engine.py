"""MuJoCo, imported when first needed, and its warnings caught.

Left alone MuJoCo prints its warnings and writes them to a log file in the working folder.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


def engine() -> Any:
    """The `mujoco` module; it has no types of its own."""
    return import_module("mujoco")


@contextmanager
def caught_warnings() -> Iterator[list[str]]:
    """Collect what MuJoCo warns of meanwhile."""
    mujoco = engine()
    messages: list[str] = []
    previous = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: messages.append(" ".join(text.split())))
    # The compiler hands its warnings to Python instead.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield messages
        finally:
            mujoco.set_mju_user_warning(previous)
            messages.extend(" ".join(str(warning.message).split()) for warning in caught)
