"""The one exception root: every complaint brazo raises about a user's input is a `BrazoError`.

A message says what was wrong, where (file, line, field), what is allowed and what to do.  `at`
builds the `file:line: field:` head that all readers share, so the shell and the lab can print any
error as it stands.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


class BrazoError(Exception):
    """Something the user gave cannot be used; the message is meant for the user."""


class RunFailed(BrazoError):
    """A run broke down after it started.  The shell exits with 1, not with 2 as for bad input."""


def at(path: str | Path | None, line: int | None, field: str = "") -> str:
    """Return the head `file:line: field: ` of a message (parts that are unknown are left out)."""
    head = ""
    if path is not None:
        head = f"{path}:{line}: " if line else f"{path}: "
    return f"{head}{field}: " if field else head


def user_place(error: BaseException) -> str:
    """`file:line` of the user's own code that raised; empty where brazo or a library did alone."""
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
