"""Input devices of a master; each is read once per cycle.

Script      a file of timed motions, for tests and repeatable sessions
Keyboard    keys of a terminal
Joystick    a gamepad or joystick of the operating system
Pointed     a handle dragged on a web page
"""

from brazo.teleop.devices.device import Device, Hand
from brazo.teleop.devices.joystick import Joystick
from brazo.teleop.devices.keyboard import Keyboard
from brazo.teleop.devices.pointed import Pointed
from brazo.teleop.devices.script import Script, load_script, parse_script

__all__ = [
    "Device",
    "Hand",
    "Joystick",
    "Keyboard",
    "Pointed",
    "Script",
    "load_script",
    "parse_script",
]
