"""List of the shipped cells, robots and programs, with a short description of each."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from brazo.formats.document import read_document
from brazo.formats.library import robot_directory
from brazo.lab.app.opening import CELL, ROBOT, choices
from brazo.program.program_file import program_directory, program_names
from brazo.world.cell_file import cell_directory


@lru_cache(maxsize=1)
def shipped() -> dict[str, list[dict[str, Any]]]:
    """List the shipped cells, robots and programs.

    Returns a list of entries under each of the keys `cells`, `robots` and `programs`.  An entry has
    the keys `id`, `name` and `about`.
    """
    named = choices()
    return {
        "cells": _listed(CELL, named["cells"], cell_directory()),
        "robots": _listed(ROBOT, named["robots"], robot_directory()),
        "programs": _listed("", program_names(), program_directory()),
    }


def _listed(prefix: str, names: list[str], folder: Path) -> list[dict[str, Any]]:
    found = []
    for name in names:
        fields = read_document(folder / f"{name}.yaml").mapping()
        about = " ".join(fields["about"].text().split()) if "about" in fields else ""
        found.append({"id": f"{prefix}{name}", "name": name, "about": _sentence(about)})
    return found


# Not behind an initial, as in "V. Scheinman".
_END = re.compile(r"(?<![ .][A-Z])[.:;] ")


def _sentence(text: str) -> str:
    """First sentence of a text, up to the first full stop, colon or semicolon."""
    return _END.split(text, maxsplit=1)[0].rstrip(".")
