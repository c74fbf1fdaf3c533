"""Whole stations, for a page or without: a simulated robot that follows, masters' devices.

FollowerStation      a robot of a simulation that follows a link
MasterStation        a device whose handle drives a link
Script, Keyboard, Joystick, Pointed      devices
ReflectingFollower, ReflectingMaster      the same two with forces that come back
session_report       what both ends wrote down, on one page
"""

from brazo.teleop.stations.device import Device, Hand
from brazo.teleop.stations.follower import FollowerStation
from brazo.teleop.stations.joystick import Joystick
from brazo.teleop.stations.keyboard import Keyboard
from brazo.teleop.stations.master import MasterStation
from brazo.teleop.stations.pointed import Pointed
from brazo.teleop.stations.reflecting import (
    CoupledMap,
    ReflectingFollower,
    ReflectingMaster,
    scheme_named,
)
from brazo.teleop.stations.script import Script, load_script, parse_script
from brazo.teleop.stations.session import session_report

__all__ = [
    "CoupledMap",
    "Device",
    "FollowerStation",
    "Hand",
    "Joystick",
    "Keyboard",
    "MasterStation",
    "Pointed",
    "ReflectingFollower",
    "ReflectingMaster",
    "Script",
    "load_script",
    "parse_script",
    "scheme_named",
    "session_report",
]
