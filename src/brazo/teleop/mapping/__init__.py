"""Mappings from the master's motion to the follower's.

IncrementMap    direction and scale of an increment
JointMap        joint to joint, for equal mechanisms                (joint_map)
PoseMap         tool pose to tool pose, for different mechanisms    (pose_map)
Box, Cylinder   soft workspace walls                                (walls)
"""

from brazo.teleop.mapping.base import DIRECTIONS, IncrementMap, Mapping, Plausible, Target

__all__ = ["DIRECTIONS", "IncrementMap", "Mapping", "Plausible", "Target"]
