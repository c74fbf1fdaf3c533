"""Load functions and classes from a user's Python file, e.g. `torque(t, q, qd)` in `forces.py`.

The file is executed with the user's rights.  Errors in it are reported in one sentence with file
and line, without a traceback through brazo.
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from brazo.errors import BrazoError
from brazo.files import require_file


def load_function(path: Path, name: str, signature: str) -> Callable[..., Any]:
    """Return the function `name` of a Python file.

    `signature` is the expected form of the function, for error messages.
    """
    found = getattr(load_module(path), name, None)
    if not callable(found):
        raise BrazoError(f"{path}: has no function {signature}; define it in this file")
    return found


def load_module(path: Path) -> ModuleType:
    """Execute a Python file and return it as a module."""
    require_file(path)
    spec = importlib.util.spec_from_file_location(f"user_file_{path.stem}", path)
    if spec is None or not isinstance(spec.loader, SourceFileLoader):
        raise BrazoError(f"{path}: not a Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look up their module by name
    try:
        # Without `exec_module`, which would write a `__pycache__` into the user's folder.
        exec(spec.loader.source_to_code(path.read_bytes(), path), module.__dict__)
    except SyntaxError as error:
        raise BrazoError(f"{path}:{error.lineno}: not valid Python: {error.msg}") from error
    except Exception as error:
        line = _line_in(path, error)
        raise BrazoError(f"{path}:{line}: raised {type(error).__name__}: {error}") from error
    return module


def _line_in(path: Path, error: Exception) -> int:
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).name == path.name and frame.lineno
    ]
    return lines[-1] if lines else 1
