"""Operation of a robot by a person or over a link, independent of any web page.

All clocks are passed as arguments.

    HoldToRun            an enable (deadman) switch: pressed, renewed, released, stopped, timed out
    HeldMotion           a jog that runs until the enable switch is released
    JogKeys              the jog keys of a pendant
    Mover                joint and linear moves, step jog and hold-to-run jog of simulated robots
    SpeedCapped          a motion with limited tool speed
    Points, PointRun     taught points, and a run through them in sequence
    Playing              a run of a trajectory on a robot, once or in a loop
    TcpFit               calibration of the tool centre point (`tcp_from_touches`)
    StopAll              STOP for every robot of a simulation
    StopLatch            keeps a switch off after STOP until it is released and pressed again
"""

from brazo.operate.held_motion import HeldMotion
from brazo.operate.hold_to_run import HoldToRun, StopLatch
from brazo.operate.jog_keys import JogKeys
from brazo.operate.mover import Mover
from brazo.operate.playing import Playing
from brazo.operate.points import Point, PointRun, Points
from brazo.operate.speed_cap import SpeedCapped
from brazo.operate.stop import StopAll
from brazo.operate.tcp_calibration import TcpFit, tcp_from_touches

__all__ = [
    "HeldMotion",
    "HoldToRun",
    "JogKeys",
    "Mover",
    "Playing",
    "Point",
    "PointRun",
    "Points",
    "SpeedCapped",
    "StopAll",
    "StopLatch",
    "TcpFit",
    "tcp_from_touches",
]
