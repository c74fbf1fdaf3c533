"""Whole stations, with a page or without: a simulated robot that follows, a device that drives it.

FollowerStation                        a robot of a simulation that follows a link
MasterStation                          a device whose handle drives a link
ReflectingFollower, ReflectingMaster   the same two with force feedback
session_report                         the recordings of both ends on one page
"""

from brazo.teleop.stations.follower import FollowerStation
from brazo.teleop.stations.master import MasterStation
from brazo.teleop.stations.reflecting import (
    CoupledMap,
    ReflectingFollower,
    ReflectingMaster,
    scheme_named,
)
from brazo.teleop.stations.session import session_report

__all__ = [
    "CoupledMap",
    "FollowerStation",
    "MasterStation",
    "ReflectingFollower",
    "ReflectingMaster",
    "scheme_named",
    "session_report",
]
