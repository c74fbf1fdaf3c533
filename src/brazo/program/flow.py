"""YAML in flow style: one value on one line.

Numbers are written such that they read back as the same double.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

_PLAIN = re.compile(r"[A-Za-z_$][A-Za-z0-9_$./]*(?: [A-Za-z0-9_$./]+)*")
_WORDS = {"null", "true", "false", "yes", "no", "on", "off", "y", "n", "pi"}


def flow(value: Any) -> str:
    """Return a string, number, boolean, list or mapping as YAML text on one line."""
    if isinstance(value, str):
        return plain_text(value)
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{plain_text(k)}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(flow(one) for one in value) + "]"
    return repr(float(value)) if isinstance(value, float) else str(value)


def plain_text(text: str) -> str:
    """Return a string as YAML text, in quotes unless it consists of simple words.

    Words that could be read as a boolean, null or number are quoted, too.
    """
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return yaml.dump(text, default_style='"', width=float("inf")).rstrip("\n")
