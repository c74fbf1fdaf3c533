"""Web pages of teleoperation: one lab for each end of a link.

MasterLab       page of a `MasterStation`
FollowerLab     page of a `FollowerStation`
StationLab      common base class
"""

from brazo.lab.stations.base import StationLab
from brazo.lab.stations.follower import FollowerLab
from brazo.lab.stations.master import MasterLab

__all__ = ["FollowerLab", "MasterLab", "StationLab"]
