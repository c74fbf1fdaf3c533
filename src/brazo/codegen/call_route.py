"""Selection of the *route*: how this process executes kernels.

    builtin   machine code behind a generated builtin function (:mod:`entry`): the fastest
    ctypes    the same machine code called through ctypes; for interpreters whose object layout the
              builtin does not know (PyPy, free-threaded CPython)
    numpy     no machine code, the expression graph is interpreted; for systems without llvmlite or
              with a CPU that it does not support

The first that works is used; ``BRAZO_ROUTE`` selects one explicitly. Results agree to rounding on
all three, and are bit-identical on the first two.
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
    """The route of this process; determined on first use."""
    named = os.environ.get("BRAZO_ROUTE", "")
    if named == "numpy":
        return "numpy"
    if named and named not in ROUTES:
        raise BrazoError(f"BRAZO_ROUTE is {named!r}; it must be one of {', '.join(ROUTES)}")
    from brazo.codegen.jit import unusable

    if (reason := unusable()) is not None:
        if named:
            raise BrazoError(
                f"BRAZO_ROUTE is {named}, but machine code cannot be generated: {reason}"
            )
        warnings.warn(
            f"brazo cannot generate machine code here and interprets its kernels, which is far "
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
    """Whether machine code is generated."""
    return route() != "numpy"
