"""Teleoperation of a robot over a network.

Network link:    FollowerLink, MasterLink, LinkRules, LinkReport, LinkView, server_tls, client_tls
Follower:        Follower, Safety, Rules, SafetyState, Cause, JointTracker
Mapping:         JointMap, PoseMap, IncrementMap, BoxWall, CylinderWall, Soft, Plausible
Network faults:  brazo.teleop.proxy
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from brazo.deprecation import renamed_names

if TYPE_CHECKING:
    from brazo.teleop.follow.follower import Follower
    from brazo.teleop.follow.safety import Cause, Rules, Safety, SafetyState
    from brazo.teleop.follow.tracking import JointTracker
    from brazo.teleop.link.access import client_tls, server_tls
    from brazo.teleop.link.channel import LinkRules
    from brazo.teleop.link.follower_link import FollowerLink
    from brazo.teleop.link.master_link import MasterLink
    from brazo.teleop.link.views import LinkReport, LinkView
    from brazo.teleop.mapping.base import IncrementMap, Plausible
    from brazo.teleop.mapping.joint_map import JointMap
    from brazo.teleop.mapping.pose_map import PoseMap
    from brazo.teleop.mapping.walls import BoxWall, CylinderWall, Soft

__all__ = [
    "BoxWall",
    "Cause",
    "CylinderWall",
    "Follower",
    "FollowerLink",
    "IncrementMap",
    "JointMap",
    "JointTracker",
    "LinkReport",
    "LinkRules",
    "LinkView",
    "MasterLink",
    "Plausible",
    "PoseMap",
    "Rules",
    "Safety",
    "SafetyState",
    "Soft",
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
    "follow.safety": ("Cause", "Rules", "Safety", "SafetyState"),
    "follow.tracking": ("JointTracker",),
    "link.views": ("LinkReport", "LinkView"),
    "mapping.walls": ("BoxWall", "CylinderWall", "Soft"),
}
_renamed = renamed_names(
    __name__,
    {
        "Box": "BoxWall",
        "Cylinder": "CylinderWall",
        "Report": "LinkReport",
        "State": "SafetyState",
        "Tracker": "JointTracker",
        "View": "LinkView",
    },
    stacklevel=3,
)
_LAZY = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        value = getattr(import_module(f"brazo.teleop.{_LAZY[name]}"), name)
        globals()[name] = value
        return value
    return _renamed(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
