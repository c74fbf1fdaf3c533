"""Selection of the *route*: the method by which this process executes kernels.

    builtin   machine code called like a function of a C extension (:mod:`entry`); the fastest
    ctypes    the same machine code called through ctypes; for interpreters whose object layout
              :mod:`entry` does not support (PyPy, free-threaded CPython)
    numpy     no machine code: the expression graph is interpreted; for systems without llvmlite,
              or with a CPU that llvmlite does not support

The first route that works is used, unless ``BRAZO_ROUTE`` names one. The results of all routes
agree up to rounding; those of ``builtin`` and ``ctypes`` are bit-identical.
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
    """Return the route of this process; it is determined at the first call."""
    named = os.environ.get("BRAZO_ROUTE", "")
    if named == "numpy":
        return "numpy"
    if named and named not in ROUTES:
        raise BrazoError(f"BRAZO_ROUTE is {named!r}; it must be one of {', '.join(ROUTES)}")
    from brazo.codegen.jit import unusable

    if (reason := unusable()) is not None:
        if named:
            raise BrazoError(
                f"BRAZO_ROUTE is '{named}', but machine code cannot be generated: {reason}"
            )
        warnings.warn(
            f"brazo cannot generate machine code on this system; its kernels are interpreted, "
            f"which is much slower: {reason}",
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
            f"BRAZO_ROUTE is 'builtin', which this interpreter does not support: {reason}; set "
            "BRAZO_ROUTE=ctypes"
        )
    return "ctypes"


def native() -> bool:
    """Whether this process runs kernels as machine code."""
    return route() != "numpy"
