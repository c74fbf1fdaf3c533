"""`Keyboard`: a master handle moved by the keys of a terminal.

    w s   away, towards      a d   left, right      r f   up, down      (x, y, z of the handle)
    space   enable switch (hold)         e   engage      c   clutch on or off
    o p   gripper open, closed      + -   smaller, larger follower motion      x   exit

A terminal reports key presses, but no releases.  A key therefore counts as held while the keyboard
repeats it (`HoldToRun`).  The first repeat follows after about half a second, later repeats follow
quickly.  A key counts as released 0.15 s after its last repeat, or 0.6 s after a single press.

If several keys are held, only the last one repeats.  The enable switch therefore stays held while
any of the keys above is held: hold space, then press and hold the motion keys.  The switch is
released when no key is held, and only space closes the switch again.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.operate import HoldToRun
from brazo.teleop.devices.device import HandState, RateIntegrator

SPEED = 0.1  # m/s
FIRST, REPEAT = 0.6, 0.15  # s
_SPECIAL = re.compile(rb"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O.|.)?", re.DOTALL)  # arrows, F keys, Alt
MOVES = {
    "w": (0, 1.0),
    "s": (0, -1.0),
    "a": (1, 1.0),
    "d": (1, -1.0),
    "r": (2, 1.0),
    "f": (2, -1.0),
}
KEYS = (" ", *MOVES, *"ecop+-")
LEAVE = "x\x03"


class Keyboard:
    """Master handle moved by keys at `speed` (m/s).

    `keys()` returns the keys pressed since its last call; by default they are read from the
    terminal.
    """

    name = "keyboard"
    resume_hint = "release all keys, press e, then hold space"

    def __init__(self, keys: Callable[[], str] | None = None, speed: float = SPEED) -> None:
        self._terminal = None if keys is not None else _Terminal()
        self._keys = keys or (self._terminal.read if self._terminal else lambda: "")
        self.speed = speed
        self._rates = RateIntegrator()
        self._t = 0.0
        self._held = {key: HoldToRun(REPEAT, lambda: self._t, FIRST) for key in (*KEYS, *LEAVE)}
        self._run = False
        self._engage, self._clutch = 0, False
        self._grip: float | None = None
        self._scale = 1.0
        self._done = False

    def read(self, t: float, state: int) -> HandState:
        """Return the operator's input at time t (s)."""
        self._t = t
        settings: list[tuple[str, Any]] = []
        for key in self._keys().lower():
            if key not in self._held:
                continue
            # A press of a key that is already held is an automatic repeat.
            repeated = self._held[key].renew()
            if not repeated:
                self._held[key].press()
            elif key not in "+-":
                continue
            if key == "e":
                self._engage += 1
            elif key == "c":
                self._clutch = not self._clutch
            elif key in "op":
                self._grip = float(key == "p")
            elif key in "+-":
                self._scale *= 1.25 if key == "+" else 0.8
                settings.append(("scale", self._scale))
            elif key in LEAVE:
                self._done = True
        velocity = np.zeros(3)
        for key, (axis, sign) in MOVES.items():
            if self._held[key].held:
                velocity[axis] += sign * self.speed
        self._rates.go(t, velocity, np.zeros(3))
        held = {key for key in KEYS if self._held[key].held}
        self._run = " " in held or (self._run and bool(held))
        return HandState(
            self._rates.moved,
            self._rates.turned,
            self._run,
            self._engage,
            self._clutch,
            self._grip,
            tuple(settings),
            self._done,
        )

    def close(self) -> None:
        """Restore the settings of the terminal."""
        if self._terminal is not None:
            self._terminal.close()


class _Terminal:
    """Reader of single key presses from the terminal, without echo and line buffering."""

    def __init__(self) -> None:
        if not sys.stdin.isatty():
            raise BrazoError("the keyboard needs a terminal; standard input is not a terminal")
        self._restore: Any = None
        with contextlib.suppress(ImportError):
            import termios
            import tty

            self._restore = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)

    def read(self) -> str:
        if self._restore is None:
            return self._read_windows()
        import select

        # Read the file descriptor, because select() does not see data in Python's buffer.
        file, found = sys.stdin.fileno(), b""
        while select.select([file], [], [], 0.0)[0]:
            try:
                data = os.read(file, 64)
            except OSError:
                data = b""
            if not data:
                raise BrazoError("the terminal is closed: no keyboard input")
            found += data
        # Arrow keys arrive as ESC sequences whose letters must not count as keys.
        return _SPECIAL.sub(b"", found).decode("ascii", "ignore")

    @staticmethod
    def _read_windows() -> str:
        import importlib

        console: Any = importlib.import_module("msvcrt")
        found = ""
        while console.kbhit():
            found += console.getwch()
        return found

    def close(self) -> None:
        if self._restore is not None:
            import termios

            with contextlib.suppress(termios.error):  # a closed terminal needs no restoring
                termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._restore)
            self._restore = None
