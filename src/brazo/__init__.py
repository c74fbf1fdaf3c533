"""Brazo: describe a manipulator in one file; model, simulate, control and teleoperate it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from brazo.errors import BrazoError

if TYPE_CHECKING:
    from brazo import body as body
    from brazo import codegen as codegen
    from brazo import control as control
    from brazo import dynamics as dynamics
    from brazo import formats as formats
    from brazo import kinematics as kinematics
    from brazo import lab as lab
    from brazo import model as model
    from brazo import operate as operate
    from brazo import program as program
    from brazo import recording as recording
    from brazo import simulation as simulation
    from brazo import study as study
    from brazo import teleop as teleop
    from brazo import trajectory as trajectory
    from brazo import units as units
    from brazo import video as video
    from brazo import world as world
    from brazo.dynamics.identification import Identification, identify
    from brazo.dynamics.simulate import Run
    from brazo.formats.cad import CadImport, import_cad
    from brazo.kinematics.result import Branch, IKBatch, IKResult
    from brazo.program import Program, is_free, load_program, plan
    from brazo.recording import Comparison, Recording, compare
    from brazo.robot import Robot, load, loads
    from brazo.simulation import Simulation
    from brazo.study import Study, load_study
    from brazo.trajectory.tracker import Tracker
    from brazo.world import load_cell

    __version__: str

__all__ = [
    "Branch",
    "BrazoError",
    "CadImport",
    "Comparison",
    "IKBatch",
    "IKResult",
    "Identification",
    "Program",
    "Recording",
    "Robot",
    "Run",
    "Simulation",
    "Study",
    "Tracker",
    "compare",
    "control",
    "identify",
    "import_cad",
    "is_free",
    "lab",
    "load",
    "load_cell",
    "load_program",
    "load_study",
    "loads",
    "plan",
    "program",
    "video",
]

_MODULES = (
    "body",
    "codegen",
    "control",
    "dynamics",
    "formats",
    "kinematics",
    "lab",
    "model",
    "operate",
    "program",
    "recording",
    "simulation",
    "study",
    "teleop",
    "trajectory",
    "units",
    "video",
    "world",
)

# Imported on first use, so that `import brazo` is fast.
_LAZY = {
    "Branch": "brazo.kinematics.result",
    "CadImport": "brazo.formats.cad",
    "Comparison": "brazo.recording",
    "IKBatch": "brazo.kinematics.result",
    "IKResult": "brazo.kinematics.result",
    "Identification": "brazo.dynamics.identification",
    "Program": "brazo.program",
    "Recording": "brazo.recording",
    "Robot": "brazo.robot",
    "Run": "brazo.dynamics.simulate",
    "Simulation": "brazo.simulation",
    "Study": "brazo.study",
    "Tracker": "brazo.trajectory.tracker",
    "compare": "brazo.recording",
    "identify": "brazo.dynamics.identification",
    "import_cad": "brazo.formats.cad",
    "is_free": "brazo.program",
    "load": "brazo.robot",
    "load_cell": "brazo.world",
    "load_program": "brazo.program",
    "load_study": "brazo.study",
    "loads": "brazo.robot",
    "plan": "brazo.program",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        value = getattr(import_module(_LAZY[name]), name)
    elif name == "__version__":
        from importlib.metadata import version

        value = version("brazo")
    elif name in _MODULES:
        value = import_module(f"brazo.{name}")
    else:
        raise AttributeError(f"module 'brazo' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES, "__version__"})
