"""The pages of teleoperation: a lab at either end of a link.

MasterLab, FollowerLab      a page of its own for a station
"""

from brazo.lab.stations.base import StationLab
from brazo.lab.stations.follower import FollowerLab
from brazo.lab.stations.master import MasterLab

__all__ = ["FollowerLab", "MasterLab", "StationLab"]
