"""Input devices of a master; each is read once per cycle.

Script        a file of timed motions, for tests and repeatable sessions
Keyboard      keys of a terminal
Joystick      a gamepad or joystick connected to this computer
PageHandle    a handle dragged on a web page
"""

from brazo.deprecation import renamed_names
from brazo.teleop.devices.device import Device, HandState
from brazo.teleop.devices.joystick import Joystick
from brazo.teleop.devices.keyboard import Keyboard
from brazo.teleop.devices.page_handle import PageHandle
from brazo.teleop.devices.script import Script, load_script, parse_script

__all__ = [
    "Device",
    "HandState",
    "Joystick",
    "Keyboard",
    "PageHandle",
    "Script",
    "load_script",
    "parse_script",
]

__getattr__ = renamed_names(__name__, {"Hand": "HandState", "Pointed": "PageHandle"})
