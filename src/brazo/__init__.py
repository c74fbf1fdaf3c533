"""Brazo: describe a manipulator in one file, then see it, jog it and derive everything from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brazo.errors import BrazoError

if TYPE_CHECKING:
    from brazo.kinematics.result import IKResult
    from brazo.robot import Robot, load

__all__ = ["BrazoError", "IKResult", "Robot", "load"]

# Imported on first use: `import brazo` stays light.
_LAZY = {
    "IKResult": "brazo.kinematics.result",
    "Robot": "brazo.robot",
    "load": "brazo.robot",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        value = getattr(import_module(_LAZY[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'brazo' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
