"""Brazo: describe a manipulator in one file, then see it, jog it and derive everything from it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from brazo.errors import BrazoError

if TYPE_CHECKING:
    from brazo import control, lab, program
    from brazo.dynamics.simulate import Run
    from brazo.kinematics.result import Branch, IKResult
    from brazo.program import Program, load_program
    from brazo.recording import Recording
    from brazo.robot import Robot, load
    from brazo.simulation import Simulation
    from brazo.world import load_cell

__all__ = [
    "Branch",
    "BrazoError",
    "IKResult",
    "Program",
    "Recording",
    "Robot",
    "Run",
    "Simulation",
    "control",
    "lab",
    "load",
    "load_cell",
    "load_program",
    "program",
]

# Imported on first use: `import brazo` stays light.
_LAZY = {
    "Branch": "brazo.kinematics.result",
    "IKResult": "brazo.kinematics.result",
    "Program": "brazo.program",
    "Recording": "brazo.recording",
    "Robot": "brazo.robot",
    "Run": "brazo.dynamics.simulate",
    "Simulation": "brazo.simulation",
    "load": "brazo.robot",
    "load_cell": "brazo.world",
    "load_program": "brazo.program",
}


def __getattr__(name: str) -> Any:
    if name in ("control", "lab", "program"):
        return import_module(f"brazo.{name}")
    if name in _LAZY:
        value = getattr(import_module(_LAZY[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'brazo' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
