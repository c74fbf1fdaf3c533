"""Controllers that make a robot follow a reference; one per file, all with the `Controller`
interface.

    arm = brazo.load("puma560")
    result = track(arm, ComputedTorque(), trajectory, t_end=2.0)
    result.max_error, result.saturation, result.run
"""

from brazo.control.actuators import Drives
from brazo.control.adaptive import Adaptive
from brazo.control.base import Controller, Reference, controllers
from brazo.control.closed_loop import ClosedLoopRuns, LoopConditions
from brazo.control.compiled import CompiledControlLaw, CompiledController, ControlSignals
from brazo.control.computed_torque import ComputedTorque
from brazo.control.gains import Gain, Gains, Parameter
from brazo.control.impedance import CartesianImpedance
from brazo.control.loop import controller_loop
from brazo.control.lqr import LQR
from brazo.control.pd_gravity import PDGravity
from brazo.control.pid import PID
from brazo.control.sliding_mode import SlidingMode
from brazo.control.torque_functions import TorqueFunctions
from brazo.control.tracking import Tracking, track
from brazo.deprecation import renamed_names

__all__ = [
    "LQR",
    "PID",
    "Adaptive",
    "CartesianImpedance",
    "ClosedLoopRuns",
    "CompiledControlLaw",
    "CompiledController",
    "ComputedTorque",
    "ControlSignals",
    "Controller",
    "Drives",
    "Gain",
    "Gains",
    "LoopConditions",
    "PDGravity",
    "Parameter",
    "Reference",
    "SlidingMode",
    "TorqueFunctions",
    "Tracking",
    "controller_loop",
    "controllers",
    "track",
]

__getattr__ = renamed_names(
    __name__,
    {
        "laws": "controllers",
        "law_loop": "controller_loop",
        "CompiledLaw": "CompiledControlLaw",
        "Signals": "ControlSignals",
    },
)
