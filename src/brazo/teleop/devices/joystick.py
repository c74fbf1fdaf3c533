"""`Joystick`: a gamepad, read from a Linux joystick device file.

    left stick    x and y of the handle        right stick, up and down    z
    button 0      enable switch (hold)         button 1    engage    button 2    clutch (hold)
    button 4, 5   gripper open, closed

The deflection of a stick commands a velocity.  After a dead zone the deflection is cubed, for fine
control at small deflections.  The device delivers events of eight bytes: time (ms, 32 bits), value
(16 bits, signed), type (1 button, 2 axis, 0x80 initial state), number.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

import numpy as np

from brazo.errors import BrazoError
from brazo.operate import HoldToRun
from brazo.teleop.devices.device import HandState, RateIntegrator

SPEED = 0.15  # m/s at full deflection
DEAD = 0.08
_EVENT = struct.Struct("IhBB")
_BUTTON, _AXIS = 1, 2


class Joystick:
    """Gamepad with the device file `path`; `speed` is the velocity (m/s) at full deflection."""

    name = "joystick"
    resume_hint = "release button 0, press button 1, then hold button 0"

    def __init__(self, path: str | Path = "/dev/input/js0", speed: float = SPEED) -> None:
        try:
            self._file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except (OSError, AttributeError) as error:
            why = getattr(error, "strerror", None) or "not on this system"
            raise BrazoError(
                f"{path}: no joystick ({why}); connect one, or specify its device file"
            ) from None
        self.path, self.speed = Path(path), speed
        self._rates = RateIntegrator()
        self._axes: dict[int, float] = {}
        self._buttons: dict[int, bool] = {}
        self._t = 0.0
        self._enable = HoldToRun(clock=lambda: self._t)  # renewed by every read
        self._engage = 0
        self._grip: float | None = None
        self._held = b""

    def read(self, t: float, state: int) -> HandState:
        """Return the operator's input at time t (s)."""
        self._t = t
        self._take_events()
        x, y, z = (_shaped(self._axes.get(axis, 0.0)) for axis in (1, 0, 4))
        self._rates.go(t, self.speed * np.array([-x, -y, -z]), np.zeros(3))
        return HandState(
            self._rates.moved,
            self._rates.turned,
            self._enable.renew(),
            self._engage,
            self._buttons.get(2, False),
            self._grip,
        )

    def close(self) -> None:
        """Close the device file."""
        os.close(self._file)

    def _take_events(self) -> None:
        while True:
            try:
                data = os.read(self._file, 64 * _EVENT.size)
            except BlockingIOError:
                return
            except OSError as error:
                # Unplugged: the enable switch counts as released.
                self._enable.release()
                self._buttons.clear()
                self._axes.clear()
                raise BrazoError(
                    f"{self.path}: the joystick was disconnected ({error.strerror})"
                ) from None
            if not data:
                return
            self._held += data
            while len(self._held) >= _EVENT.size:
                _, value, kind, number = _EVENT.unpack_from(self._held)
                self._held = self._held[_EVENT.size :]
                self._event(kind & 0x7F, number, value)

    def _event(self, kind: int, number: int, value: int) -> None:
        if kind == _AXIS:
            self._axes[number] = value / 32767.0
        elif kind == _BUTTON:
            pressed = bool(value)
            if pressed and not self._buttons.get(number, False):
                if number == 0:
                    self._enable.press()
                elif number == 1:
                    self._engage += 1
                elif number in (4, 5):
                    self._grip = float(number == 5)
            self._buttons[number] = pressed
            if number == 0 and not pressed:
                self._enable.release()


def _shaped(value: float) -> float:
    """Apply the dead zone and the cubic curve to a stick deflection (-1 to 1)."""
    size = (abs(value) - DEAD) / (1.0 - DEAD)
    return 0.0 if size <= 0.0 else float(np.copysign(min(size, 1.0) ** 3, value))
