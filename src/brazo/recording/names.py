"""How signals are named and chosen.

A name is words joined by dots, from the thing to the detail: `scara1.q.shoulder`.  Signals are
chosen by name, by pattern (`scara1.q.*`, where `*` stands for anything and `?` for one character),
or by the start of the name up to a dot (`scara1.q`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence

from brazo.errors import BrazoError
from brazo.text import is_one_line, one_line

SIMULATED = "simulated"  # the simulation's time, where the time axis is the wall's


def safe_columns(columns: Mapping[str, str]) -> dict[str, str]:
    """Names and units to record under: control characters, as a robot's file may have, escaped."""
    found = {one_line(name): one_line(unit) for name, unit in columns.items()}
    if len(found) < len(columns):
        raise BrazoError("two signals have the same name once their control characters are escaped")
    return found


def check_names(names: Iterable[str], where: str = "") -> None:
    """Refuse a name that is empty or not one line of text."""
    for name in names:
        if not name or not is_one_line(name):
            raise BrazoError(
                f"{where}a signal cannot be named {one_line(name)!r}; a name is one line of text "
                "without control characters"
            )


def choose(names: Sequence[str], patterns: str | Sequence[str]) -> list[str]:
    """The names that match any of the patterns, in their own order; each pattern must find some."""
    patterns = [patterns] if isinstance(patterns, str) else list(patterns)
    chosen: set[str] = set()
    for pattern in patterns:
        found = [name for name in names if matches(name, pattern)]
        if not found:
            raise BrazoError(f"no signal matches '{pattern}'; {hint(names, pattern)}")
        chosen.update(found)
    return [name for name in names if name in chosen]


def matches(name: str, pattern: str) -> bool:
    """Whether a pattern stands for this name."""
    if name == pattern or name.startswith(pattern + "."):
        return True
    # Only * and ? are special: names may hold brackets.
    rule = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(rule, name, re.DOTALL) is not None


def hint(names: Sequence[str], wanted: str) -> str:
    """What to write instead of a name that is not there."""
    if "," in wanted:
        parts = [part.strip() for part in wanted.split(",")]
        if all(any(matches(name, part) for name in names) for part in parts):
            shown = " ".join(f"-s {part}" for part in parts)
            return f"give them one by one: {shown}, in Python {parts}"
    groups = dict.fromkeys(group(name) for name in names)
    # A prefix is compared with prefixes: beside `scara3.q` a whole name is too long to be close.
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
    """All of a name but its last word: `scara1.q` of `scara1.q.shoulder`."""
    return name.rpartition(".")[0] or name


def last(name: str) -> str:
    """The last word of a name."""
    return name.rpartition(".")[2]


def common_prefix(names: Iterable[str]) -> str:
    """Leading words that all names share, without their last one; '' if there are none."""
    shared: list[str] = []
    for words in zip(*(name.split(".")[:-1] for name in names), strict=False):
        if len(set(words)) > 1:
            break
        shared.append(words[0])
    return ".".join(shared)
