"""User folders that brazo writes to: compiled kernels, recordings and projects of the lab.

| content | variable | Linux | macOS | Windows |
|---|---|---|---|---|
| kernels | `BRAZO_CACHE_DIR` | `~/.cache/brazo` | `~/Library/Caches/brazo` | `…\\brazo\\Cache` |
| recordings | `BRAZO_RUNS` | `~/.local/share/brazo/runs` | `~/Library/Application Support/brazo/runs` | `…\\brazo\\runs` |
| projects | `BRAZO_PROJECTS` | `~/.local/share/brazo/projects` | `~/Library/Application Support/brazo/projects` | `…\\brazo\\projects` |

On Linux `XDG_CACHE_HOME` and `XDG_DATA_HOME` are respected; on Windows … is `%LOCALAPPDATA%`.  The
environment is read at every call.
"""  # noqa: E501

from __future__ import annotations

import os
import sys
from pathlib import Path

CACHE, RUNS, PROJECTS = "BRAZO_CACHE_DIR", "BRAZO_RUNS", "BRAZO_PROJECTS"


def cache_folder() -> Path:
    """Return the folder of compiled kernels."""
    if chosen := os.environ.get(CACHE):
        return Path(chosen)
    if sys.platform == "win32":
        return _local_data() / "brazo" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "brazo"
    return _xdg("XDG_CACHE_HOME", ".cache") / "brazo"


def runs_folder() -> Path:
    """Return the folder of the lab's recordings."""
    return _data_folder(RUNS, "runs")


def projects_folder() -> Path:
    """Return the folder of the lab's projects."""
    return _data_folder(PROJECTS, "projects")


def _data_folder(variable: str, name: str) -> Path:
    if chosen := os.environ.get(variable):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return _local_data() / "brazo" / name
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "brazo" / name
    return _xdg("XDG_DATA_HOME", ".local/share") / "brazo" / name


def _local_data() -> Path:
    base = os.environ.get("LOCALAPPDATA")
    return Path(base) if base else Path.home() / "AppData" / "Local"


def _xdg(variable: str, default: str) -> Path:
    base = os.environ.get(variable)
    return Path(base) if base else Path.home() / default
