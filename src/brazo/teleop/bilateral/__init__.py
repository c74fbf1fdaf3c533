"""Bilateral control: force reflection from follower to master over a link with delay.

Schemes:    PositionForce (plain), WaveVariables (passive for every delay)
One side:   ToolPort (a robot of a world), MasterLoop, FollowerLoop, TaskMap, Hand
Both sides: Pair with a seeded DelayLine per direction; Trace, Report and figure of runs
"""

from brazo.teleop.bilateral.delay import DelayLine
from brazo.teleop.bilateral.figure import figure, plot
from brazo.teleop.bilateral.hand import Hand, strokes
from brazo.teleop.bilateral.loops import FollowerLoop, MasterLoop, Moment
from brazo.teleop.bilateral.packet import Delay, Inflow, Packet
from brazo.teleop.bilateral.pair import Pair
from brazo.teleop.bilateral.position_force import PositionForce
from brazo.teleop.bilateral.scheme import Command, EndState, Scheme
from brazo.teleop.bilateral.task_map import TaskMap
from brazo.teleop.bilateral.tool_port import ToolPort
from brazo.teleop.bilateral.trace import EndTrace, Report, Trace
from brazo.teleop.bilateral.waves import WaveVariables

__all__ = [
    "Command",
    "Delay",
    "DelayLine",
    "EndState",
    "EndTrace",
    "FollowerLoop",
    "Hand",
    "Inflow",
    "MasterLoop",
    "Moment",
    "Packet",
    "Pair",
    "PositionForce",
    "Report",
    "Scheme",
    "TaskMap",
    "ToolPort",
    "Trace",
    "WaveVariables",
    "figure",
    "plot",
    "strokes",
]
