"""Complete teleoperation stations: a simulated follower, and a master with an input device.

FollowerStation                        a simulated robot that follows commands of a link
MasterStation                          sends the handle position of an input device over a link
ReflectingFollower, ReflectingMaster   follower and master with force feedback
session_report                         report page from the recordings of both sides
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
