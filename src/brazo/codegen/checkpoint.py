"""Points at which long operations may be interrupted: before each kernel is compiled.

    with checkpoints(job.check):    # raises when the user cancelled the job
        brazo.load("arm.urdf").frames(q)

The compiler itself cannot be interrupted, but opening a robot compiles several kernels, one after
another.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

__all__ = ["checkpoint", "checkpoints"]

_check: ContextVar[Callable[[], None] | None] = ContextVar("brazo checkpoint", default=None)


@contextlib.contextmanager
def checkpoints(check: Callable[[], None]) -> Iterator[None]:
    """Call ``check`` at every checkpoint of this thread; it may raise to end the operation."""
    before = _check.set(check)
    try:
        yield
    finally:
        _check.reset(before)


def checkpoint() -> None:
    """Raise if the operation of this thread should end."""
    check = _check.get()
    if check is not None:
        check()
