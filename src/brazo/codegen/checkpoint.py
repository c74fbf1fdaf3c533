"""Cancellation of long operations at checkpoints.

    with checkpoints(job.check):    # job.check raises when the user cancels the job
        brazo.load("arm.urdf").frames(q)

There are checkpoints before each kernel is compiled and between the candidates of a placement
search. A single compilation cannot be interrupted. Loading a robot compiles several kernels, so it
can be cancelled between two of them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

__all__ = ["checkpoint", "checkpoints"]

_check: ContextVar[Callable[[], None] | None] = ContextVar("brazo checkpoint", default=None)


@contextlib.contextmanager
def checkpoints(check: Callable[[], None]) -> Iterator[None]:
    """Call ``check`` at every checkpoint inside this context; ``check`` may raise to cancel."""
    before = _check.set(check)
    try:
        yield
    finally:
        _check.reset(before)


def checkpoint() -> None:
    """Call the active ``check`` function, which raises if the operation is cancelled."""
    check = _check.get()
    if check is not None:
        check()
