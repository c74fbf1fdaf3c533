"""Proxy between master and follower that simulates network faults according to a script.

FaultScript, load_script    schedule of network faults
FaultProxy                  accepts the master, connects to the follower, applies the faults
"""

from brazo.deprecation import renamed_names
from brazo.teleop.proxy.faults import Faults, FaultScript, FaultStep, load_script, parse_script
from brazo.teleop.proxy.proxy import FaultProxy

__all__ = ["FaultProxy", "FaultScript", "FaultStep", "Faults", "load_script", "parse_script"]

__getattr__ = renamed_names(__name__, {"Script": "FaultScript", "Step": "FaultStep"})
