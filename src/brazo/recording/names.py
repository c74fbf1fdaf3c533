"""Names and selection of signals.

A name consists of parts joined by dots, from general to specific: `scara1.q.shoulder`.  Signals
are selected by name, by pattern (`scara1.q.*`, where `*` matches any text and `?` one character),
or by prefix up to a dot (`scara1.q`).
"""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence

from brazo.errors import BrazoError
from brazo.text import is_one_line, one_line

_RENAMED = {"clamp": "gripper", "gripper": "clamp"}  # until the next release
SIMULATED = "simulated"  # simulated time, if the time axis is wall-clock time


def safe_columns(columns: Mapping[str, str]) -> dict[str, str]:
    """Return names and units with control characters escaped.

    Raises BrazoError if two names become equal.
    """
    found = {one_line(name): one_line(unit) for name, unit in columns.items()}
    if len(found) < len(columns):
        raise BrazoError("two signals have the same name once their control characters are escaped")
    return found


def check_names(names: Iterable[str], where: str = "") -> None:
    """Raise BrazoError for a name that is empty or not one line of text."""
    for name in names:
        if not name or not is_one_line(name):
            raise BrazoError(
                f"{where}a signal cannot be named {one_line(name)!r}; a name must be one line, not "
                "empty and without control characters"
            )


def choose(names: Sequence[str], patterns: str | Sequence[str]) -> list[str]:
    """Return the names that match any of the patterns, in the order of `names`.

    Raises BrazoError if a pattern matches no name.
    """
    patterns = [patterns] if isinstance(patterns, str) else list(patterns)
    chosen: set[str] = set()
    for pattern in patterns:
        found = [name for name in names if matches(name, pattern)]
        if not found and (found := [name for name in names if matches(name, renamed(pattern))]):
            warn_renamed_signal(pattern, renamed(pattern))
        if not found:
            raise BrazoError(f"no signal matches '{pattern}'; {hint(names, pattern)}")
        chosen.update(found)
    return [name for name in names if name in chosen]


def renamed(name: str) -> str:
    """Convert the old name of a renamed signal to its new name, and a new name to the old name.

    Other names are returned unchanged.
    """
    return ".".join(_RENAMED.get(part, part) for part in name.split("."))


def warn_renamed_signal(wanted: str, found: str) -> None:
    """Warn that a signal was found under its old or new name instead of the given name."""
    text = f"no signal '{wanted}', but '{found}': `clamp` in names of signals is now `gripper`"
    warnings.warn(text, DeprecationWarning, stacklevel=3)


def matches(name: str, pattern: str) -> bool:
    """Return whether a signal name matches a given name, prefix or pattern."""
    if name == pattern or name.startswith(pattern + "."):
        return True
    # Only * and ? are special, because names may contain brackets.
    rule = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(rule, name, re.DOTALL) is not None


def hint(names: Sequence[str], wanted: str) -> str:
    """Return a text that suggests existing names instead of `wanted`."""
    if "," in wanted:
        parts = [part.strip() for part in wanted.split(",")]
        if all(any(matches(name, part) for name in names) for part in parts):
            shown = " ".join(f"-s {part}" for part in parts)
            return f"give the signals separately: {shown} (in Python: {parts})"
    groups = dict.fromkeys(group(name) for name in names)
    # Compare with prefixes first: full names are too long to be close to `scara3.q`.
    close = difflib.get_close_matches(wanted, groups, n=3, cutoff=0.8)
    close = close or difflib.get_close_matches(wanted, names, n=3)
    if close:
        return f"did you mean {', '.join(close)}?"
    if not names:
        return "there are no signals"
    heads = list(groups)
    some = ", ".join(heads[:8]) + (", …" if len(heads) > 8 else "")
    return f"there are {some}"


def group(name: str) -> str:
    """Return a name without its last part: `scara1.q` for `scara1.q.shoulder`.

    A name with one part is returned unchanged.
    """
    return name.rpartition(".")[0] or name


def last(name: str) -> str:
    """Return the last part of a name."""
    return name.rpartition(".")[2]


def common_prefix(names: Iterable[str]) -> str:
    """Return the leading parts that all names share; '' if none.

    The last part of a name is never included.
    """
    shared: list[str] = []
    for parts in zip(*(name.split(".")[:-1] for name in names), strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return ".".join(shared)
