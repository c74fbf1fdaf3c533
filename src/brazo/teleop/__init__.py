"""Driving a robot from afar.

The link:      FollowerLink, MasterLink, LinkRules, Report, View, server_tls, client_tls
The follower:  Follower, Safety, Rules, State, Cause, Tracker
Mapping:       JointMap, PoseMap, IncrementMap, Box, Cylinder, Soft, Plausible
Bad networks:  brazo.teleop.proxy
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brazo.teleop.access import client_tls, server_tls
    from brazo.teleop.channel import LinkRules
    from brazo.teleop.follower import Follower
    from brazo.teleop.follower_link import FollowerLink
    from brazo.teleop.joint_map import JointMap
    from brazo.teleop.mapping import IncrementMap, Plausible
    from brazo.teleop.master_link import MasterLink
    from brazo.teleop.pose_map import PoseMap
    from brazo.teleop.safety import Cause, Rules, Safety, State
    from brazo.teleop.tracking import Tracker
    from brazo.teleop.views import Report, View
    from brazo.teleop.walls import Box, Cylinder, Soft

__all__ = [
    "Box",
    "Cause",
    "Cylinder",
    "Follower",
    "FollowerLink",
    "IncrementMap",
    "JointMap",
    "LinkRules",
    "MasterLink",
    "Plausible",
    "PoseMap",
    "Report",
    "Rules",
    "Safety",
    "Soft",
    "State",
    "Tracker",
    "View",
    "client_tls",
    "server_tls",
]

# Imported on first use: a master has no need of kinematics, a mapping none of a network.
_MODULES = {
    "access": ("client_tls", "server_tls"),
    "channel": ("LinkRules",),
    "follower": ("Follower",),
    "follower_link": ("FollowerLink",),
    "joint_map": ("JointMap",),
    "mapping": ("IncrementMap", "Plausible"),
    "master_link": ("MasterLink",),
    "pose_map": ("PoseMap",),
    "safety": ("Cause", "Rules", "Safety", "State"),
    "tracking": ("Tracker",),
    "views": ("Report", "View"),
    "walls": ("Box", "Cylinder", "Soft"),
}
_LAZY = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        value = getattr(import_module(f"brazo.teleop.{_LAZY[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'brazo.teleop' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
