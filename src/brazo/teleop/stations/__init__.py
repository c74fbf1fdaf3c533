"""Complete stations, with or without a page: a simulated follower, a device that drives it.

FollowerStation                        a simulated robot that follows a link
MasterStation                          a device whose handle position is sent over a link
ReflectingFollower, ReflectingMaster   the same two with force feedback
session_report                         the recordings of both sides on one page
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
