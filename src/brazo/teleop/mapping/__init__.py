"""Mappings from the motion of the master to the motion of the follower.

IncrementMap             direction and scale of a position increment             (base)
JointMap                 joint to joint, for equal mechanisms                (joint_map)
PoseMap                  tool pose to tool pose, for different mechanisms    (pose_map)
BoxWall, CylinderWall    soft workspace walls                                (walls)
"""

from brazo.deprecation import renamed_names
from brazo.teleop.mapping.base import DIRECTIONS, IncrementMap, JointTarget, Mapping, Plausible

__all__ = ["DIRECTIONS", "IncrementMap", "JointTarget", "Mapping", "Plausible"]

__getattr__ = renamed_names(__name__, {"Target": "JointTarget"})
