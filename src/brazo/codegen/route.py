"""Which of three ways serves a kernel's calls.

    builtin   machine code behind a generated builtin function (:mod:`entry`): the fastest
    ctypes    the same machine code called through ctypes, where the builtin's view of Python's
              objects does not hold (PyPy, free-threaded CPython)
    numpy     no machine code: the expression graph is interpreted, where llvmlite is missing or
              cannot make code for this CPU

The first that works is taken; ``BRAZO_ROUTE`` names one instead. Numbers agree to rounding on all
three, and in every bit between the first two.
"""

from __future__ import annotations

import os
import warnings
from functools import lru_cache
from typing import Literal

from brazo.errors import BrazoError
from brazo.internals import cpython

__all__ = ["ROUTES", "Route", "native", "route"]

Route = Literal["builtin", "ctypes", "numpy"]
ROUTES: tuple[Route, ...] = ("builtin", "ctypes", "numpy")


@lru_cache(maxsize=1)
def route() -> Route:
    """The way this process takes; decided at the first question."""
    named = os.environ.get("BRAZO_ROUTE", "")
    if named == "numpy":
        return "numpy"
    if named and named not in ROUTES:
        raise BrazoError(f"BRAZO_ROUTE is {named!r}; it must be one of {', '.join(ROUTES)}")
    from brazo.codegen.jit import unusable

    if (reason := unusable()) is not None:
        if named:
            raise BrazoError(f"BRAZO_ROUTE is {named}, but machine code cannot be made: {reason}")
        warnings.warn(
            f"brazo makes no machine code here and interprets its kernels instead, which is far "
            f"slower: {reason}",
            RuntimeWarning,
            stacklevel=2,
        )
        return "numpy"
    if named == "ctypes":
        return "ctypes"
    if (reason := cpython.unusable()) is None:
        return "builtin"
    if named == "builtin":
        raise BrazoError(
            f"BRAZO_ROUTE is builtin, which does not work here: {reason}; ctypes works here"
        )
    return "ctypes"


def native() -> bool:
    """Whether machine code is made."""
    return route() != "numpy"
