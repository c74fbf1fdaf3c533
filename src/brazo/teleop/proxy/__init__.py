"""A bad network on purpose: a proxy between master and follower that disturbs by a script.

Script, load_script    what is disturbed when
FaultProxy             listens, connects on, disturbs
"""

from brazo.deprecation import renamed_names
from brazo.teleop.proxy.faults import Faults, FaultStep, Script, load_script, parse_script
from brazo.teleop.proxy.proxy import FaultProxy

__all__ = ["FaultProxy", "FaultStep", "Faults", "Script", "load_script", "parse_script"]

__getattr__ = renamed_names(__name__, {"Step": "FaultStep"})
