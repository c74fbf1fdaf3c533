"""Bilateral control: force reflection from follower to master over a link with delay.

Schemes:    PositionForce (no delay compensation), WaveVariables (passive for any delay)
One side:   ToolPort (force input of a robot), MasterLoop, FollowerLoop, TaskMap, Hand (operator)
Both sides: Pair (two robots in one process), DelayLine (simulated network delay)
Results:    Trace, BilateralReport and a figure of runs
"""

from brazo.deprecation import renamed_names
from brazo.teleop.bilateral.delay import DelayLine
from brazo.teleop.bilateral.figure import figure, plot
from brazo.teleop.bilateral.hand import Hand, strokes
from brazo.teleop.bilateral.loops import FollowerLoop, LoopState, MasterLoop
from brazo.teleop.bilateral.packet import Delay, Inflow, Packet
from brazo.teleop.bilateral.pair import Pair
from brazo.teleop.bilateral.position_force import PositionForce
from brazo.teleop.bilateral.scheme import EndState, ForceCommand, Scheme
from brazo.teleop.bilateral.task_map import TaskMap
from brazo.teleop.bilateral.tool_port import ToolPort
from brazo.teleop.bilateral.trace import BilateralReport, EndTrace, Trace
from brazo.teleop.bilateral.waves import WaveVariables

__all__ = [
    "BilateralReport",
    "Delay",
    "DelayLine",
    "EndState",
    "EndTrace",
    "FollowerLoop",
    "ForceCommand",
    "Hand",
    "Inflow",
    "LoopState",
    "MasterLoop",
    "Packet",
    "Pair",
    "PositionForce",
    "Scheme",
    "TaskMap",
    "ToolPort",
    "Trace",
    "WaveVariables",
    "figure",
    "plot",
    "strokes",
]

__getattr__ = renamed_names(
    __name__, {"Command": "ForceCommand", "Moment": "LoopState", "Report": "BilateralReport"}
)
