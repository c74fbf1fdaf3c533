"""`Pointed`: a hand that somebody else leads, such as a page in a browser; safe from any thread.

It goes where it is pointed to, no faster than a hand would: a page tells of a drag a few times a
second, and between two of these the mouse may have leapt.

The enabling switch is down while it is renewed, at least every `DEADMAN` seconds, so a page that
was closed, or whose line is dead, lets go by itself.  There are two ways to hold it:

    the switch   a button or a key.  Pressing it anew asks for motion to begin, whatever was before
    the drag     the handle itself, while it is dragged.  Taking hold of it asks for motion, too,
                 but not out of HOLD: after something went wrong that takes the switch
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from brazo.teleop.devices.device import Hand
from brazo.teleop.follow.safety import State

SPEED = 0.4  # m/s
TURNING = 2.0  # rad/s
KEY_SPEED = 0.08  # m/s
NEAR = 20.0  # 1/s: how quickly the last bit of a way is gone
LONGEST_STEP = 0.05  # s: after a pause of the loop the hand has not run away
DEADMAN = 0.25  # s without a renewal


class Pointed:
    """A hand led by calls; what is held and not renewed for `deadman` seconds is let go."""

    name = "browser"
    anew = "let go, then press and hold"

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, deadman: float = DEADMAN
    ) -> None:
        self._clock, self._deadman = clock, deadman
        self._lock = threading.Lock()
        self._moved, self._turned = np.zeros(3), np.zeros(3)
        self._goal: tuple[np.ndarray, np.ndarray] | None = None
        self._keys: dict[tuple[int, int], float] = {}  # axis and sign, renewed when
        self._dead: set[tuple[int, int]] = set()  # keys that STOP ended, until pressed anew
        self._switch = self._grasp = -np.inf  # renewed when
        self._dragging = self._stopped = False
        self._taken = False  # the drag holds the switch
        self._engage = 0
        self._settings: list[tuple[str, Any]] = []
        self._t: float | None = None
        self.drag_runs = True  # whether dragging the handle holds the switch
        self.clutch = False
        self.grip: float | None = None
        self.run = False  # as last read

    # ---- what leads it -------------------------------------------------------------------------

    def point(self, moved: np.ndarray, turned: np.ndarray | None = None) -> None:
        """Go there: metres, and a rotation vector, from where the hand began."""
        with self._lock:
            turn = self._turned if turned is None else np.array(turned, dtype=float)
            self._goal = (np.array(moved, dtype=float), turn)

    def push(self, axis: int, sign: int, anew: bool = False) -> None:
        """A key that moves along x, y or z is down; `anew` when it was just pressed."""
        with self._lock:
            if anew:
                self._dead.discard((axis, sign))
            if (axis, sign) not in self._dead:
                self._keys[axis, sign] = self._clock()
                self._goal = None

    def let_keys_go(self) -> None:
        """No such key is down any more."""
        with self._lock:
            self._keys.clear()

    def drag(self, on: bool) -> None:
        """The handle is taken hold of, or let go; renewals come by `renew_grasp`."""
        with self._lock:
            if on and not self._dragging:
                self._stopped = False
            self._dragging = on
            if not on:
                self._taken, self._goal = False, None

    def renew_grasp(self) -> None:
        """Whoever drags is still there."""
        self._grasp = self._clock()

    def press(self, anew: bool) -> None:
        """The switch is down; `anew` when it was just pressed."""
        with self._lock:
            if anew:
                self._stopped = False
                self._engage += 1
            if not self._stopped:
                self._switch = self._clock()

    def release(self) -> None:
        """The switch is up."""
        with self._lock:
            self._switch = -np.inf

    def stop(self) -> bool:
        """Let go of everything; what is held counts again only when it is taken anew.

        Whether anything was held.
        """
        with self._lock:
            now = self._clock()
            held = self._taken or self._goal is not None
            held = held or any(
                now - t < self._deadman for t in (self._switch, *self._keys.values())
            )
            self._stopped, self._taken, self._goal = True, False, None
            self._switch = -np.inf
            self._dead |= set(self._keys)
            self._keys.clear()
            return held

    def ask(self, name: str, value: Any) -> None:
        """Ask the follower for another setting."""
        with self._lock:
            self._settings.append((name, value))

    # ---- the device ----------------------------------------------------------------------------

    def read(self, t: float, state: int) -> Hand:
        with self._lock:
            now = self._clock()
            dt = 0.0 if self._t is None else min(max(t - self._t, 0.0), LONGEST_STEP)
            self._t = t
            self._go(dt, now)
            switched = now - self._switch < self._deadman
            dragged = (
                self._dragging
                and self.drag_runs
                and not self._stopped
                and now - self._grasp < self._deadman
            )
            if self._taken and not dragged:
                # Whoever dragged was gone: the handle has to be taken anew.
                self._taken, self._stopped = False, True
            elif not dragged:
                pass
            elif not (self._taken or switched or state == State.HOLD):
                self._taken = True
                self._engage += 1
            self.run = switched or self._taken
            asked, self._settings = tuple(self._settings), []
            return Hand(
                self._moved,
                self._turned,
                self.run,
                self._engage,
                self.clutch,
                self.grip,
                asked,
            )

    def stay(self, moved: np.ndarray, turned: np.ndarray) -> None:
        """The arm the hand holds could not follow: be where it is."""
        with self._lock:
            self._moved, self._turned = np.array(moved), np.array(turned)
            self._keys.clear()

    def close(self) -> None:
        self.stop()

    def _go(self, dt: float, now: float) -> None:
        if self._goal is not None:
            moved, turned = self._goal
            self._moved = _towards(self._moved, moved, SPEED, dt)
            self._turned = _towards(self._turned, turned, TURNING, dt)
        velocity = np.zeros(3)
        for (axis, sign), renewed in self._keys.items():
            if now - renewed < self._deadman:
                velocity[axis] += sign * KEY_SPEED
        if velocity.any():
            self._moved = self._moved + dt * velocity


def _towards(at: np.ndarray, goal: np.ndarray, speed: float, dt: float) -> np.ndarray:
    """A step of dt towards a goal."""
    way = goal - at
    length = float(np.linalg.norm(way))
    if length == 0.0:
        return at
    share = min(speed * dt / length, NEAR * dt, 1.0)
    return at + share * way
