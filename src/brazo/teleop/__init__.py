"""Teleoperation of a robot over a network.

Link:            FollowerLink, MasterLink, LinkRules, Report, View, server_tls, client_tls
Follower:        Follower, Safety, Rules, State, Cause, Tracker
Mapping:         JointMap, PoseMap, IncrementMap, Box, Cylinder, Soft, Plausible
Network faults:  brazo.teleop.proxy
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brazo.teleop.follow.follower import Follower
    from brazo.teleop.follow.safety import Cause, Rules, Safety, State
    from brazo.teleop.follow.tracking import Tracker
    from brazo.teleop.link.access import client_tls, server_tls
    from brazo.teleop.link.channel import LinkRules
    from brazo.teleop.link.follower_link import FollowerLink
    from brazo.teleop.link.master_link import MasterLink
    from brazo.teleop.link.views import Report, View
    from brazo.teleop.mapping.base import IncrementMap, Plausible
    from brazo.teleop.mapping.joint_map import JointMap
    from brazo.teleop.mapping.pose_map import PoseMap
    from brazo.teleop.mapping.walls import Box, Cylinder, Soft

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

# Imported on first use: a master needs no kinematics, and a mapping needs no network code.
_MODULES = {
    "link.access": ("client_tls", "server_tls"),
    "link.channel": ("LinkRules",),
    "follow.follower": ("Follower",),
    "link.follower_link": ("FollowerLink",),
    "mapping.joint_map": ("JointMap",),
    "mapping.base": ("IncrementMap", "Plausible"),
    "link.master_link": ("MasterLink",),
    "mapping.pose_map": ("PoseMap",),
    "follow.safety": ("Cause", "Rules", "Safety", "State"),
    "follow.tracking": ("Tracker",),
    "link.views": ("Report", "View"),
    "mapping.walls": ("Box", "Cylinder", "Soft"),
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
