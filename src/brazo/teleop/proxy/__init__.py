"""A bad network on purpose: a proxy between master and follower that disturbs by a script.

Script, load_script    what is disturbed when
FaultProxy             listens, connects on, disturbs
"""

from brazo.teleop.proxy.faults import Faults, Script, Step, load_script, parse_script
from brazo.teleop.proxy.proxy import FaultProxy

__all__ = ["FaultProxy", "Faults", "Script", "Step", "load_script", "parse_script"]
