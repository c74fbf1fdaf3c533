"""Functions a user hands over in a Python file: `forces.py: torque(t, q, qd)` and the like.

The file is the user's own and is run as such; what goes wrong in it is told in one sentence with
its line, not as a traceback through brazo.
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from brazo.errors import BrazoError
from brazo.files import require_file


def load_function(path: Path, name: str, signature: str) -> Callable[..., Any]:
    """The function `name` of a Python file."""
    found = getattr(load_module(path), name, None)
    if not callable(found):
        raise BrazoError(f"{path}: has no function {signature}")
    return found


def load_module(path: Path) -> ModuleType:
    """A Python file, run once."""
    require_file(path)
    spec = importlib.util.spec_from_file_location(f"user_file_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise BrazoError(f"{path}: not a Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and the like look their module up
    try:
        spec.loader.exec_module(module)
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
