"""Exceptions.  Every error that brazo raises for invalid user input is a `BrazoError`.

A message states what is wrong, where (file, line, field), what is allowed and what to do.  All file
readers use `at` for the prefix `file:line: field:`, so command line and lab can print any message
unchanged.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


class BrazoError(Exception):
    """Base class of the errors for the user, such as invalid input or a missing library.

    The message is written for the user.
    """


class RunFailed(BrazoError):
    """A run failed after it started.

    The command-line program exits with status 1 for this error, and with 2 for any other
    `BrazoError`.
    """


def at(path: str | Path | None, line: int | None, field: str = "") -> str:
    """Return the prefix `file:line: field: ` of a message; unknown parts are left out.

    Without a path, the line is left out too.
    """
    head = ""
    if path is not None:
        head = f"{path}:{line}: " if line else f"{path}: "
    return f"{head}{field}: " if field else head


def user_place(error: BaseException) -> str:
    """Return `file:line` of the innermost user code in the traceback of an error.

    User code is outside brazo, the standard library and installed packages.  The result is empty
    if there is no such code.
    """
    import sysconfig

    libraries = {Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")}
    place, trace = "", error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        file = Path(name)
        if not (name.startswith("<") or any(map(file.is_relative_to, {_PACKAGE, *libraries}))):
            place = f"{name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
