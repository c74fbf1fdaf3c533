"""`PageHandle`: a master handle moved by other code, such as a web page; thread-safe.

The handle approaches the commanded point with limited speed: a page reports a drag only a few times
per second, and the mouse may jump between two reports.

Every input that is held is a `HoldToRun` switch, so closing the page or losing its connection
releases it.  The follower is enabled in three ways:

    switch   a button or a key.  A new press requests engagement in any state
    stick    the hold-to-run button of a gamepad, as the switch; its sticks move the handle
    drag     the handle itself, while it is dragged.  Grasping it requests engagement, too, but
             does not leave HOLD: after a fault the switch is required
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from brazo.kinematics.orientation import matrix_from_rotvec, rotvec_from_matrix
from brazo.operate import HoldToRun
from brazo.teleop.devices.device import HandState
from brazo.teleop.follow.safety import SafetyState

SPEED = 0.4  # m/s
TURNING = 2.0  # rad/s
KEY_SPEED = 0.08  # m/s
STICK_SPEED = 0.15  # m/s at full deflection
STICK_TURNING = 0.8  # rad/s at full deflection
NEAR = 20.0  # 1/s, gain of the approach to a point
LONGEST_STEP = 0.05  # s, limits the motion after a pause of the loop


class PageHandle:
    """Handle moved by calls; inputs are released `deadman` seconds after their last renewal."""

    name = "browser"
    resume_hint = "release, then press and hold"

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, deadman: float | None = None
    ) -> None:
        def switch() -> HoldToRun:
            return HoldToRun(deadman, clock)

        self._lock = threading.Lock()
        self._moved, self._turned = np.zeros(3), np.zeros(3)
        self._goal: tuple[np.ndarray, np.ndarray] | None = None
        self._keys = {(axis, sign): switch() for axis in range(3) for sign in (-1, 1)}
        self._switch, self._grasp, self._stick = switch(), switch(), switch()
        self._deflection = np.zeros(6)  # of the sticks, -1 to 1, linear then angular
        self._dragging = False
        self._grasped = False  # the current drag has been renewed at least once
        self._taken = False  # the drag enables the follower
        self._engage = 0
        self._settings: list[tuple[str, Any]] = []
        self._t: float | None = None
        self.drag_runs = True  # whether dragging the handle counts as enabling
        self.clutch = False
        self.grip: float | None = None
        self.run = False  # enable state of the last read

    # ---- commands -------------------------------------------------------------------------------

    def point(self, moved: np.ndarray, turned: np.ndarray | None = None) -> None:
        """Set the target: position (m) and rotation vector (rad) from the start."""
        with self._lock:
            turn = self._turned if turned is None else np.array(turned, dtype=float)
            self._goal = (np.array(moved, dtype=float), turn)

    def push(self, axis: int, sign: int, fresh: bool = False) -> None:
        """Report a motion key of x, y or z as held; `fresh` if it was just pressed."""
        key = self._keys[axis, sign]
        if fresh:
            key.press()
        elif not key.renew():
            return
        with self._lock:
            self._goal = None

    def let_keys_go(self) -> None:
        """Release all motion keys."""
        for key in self._keys.values():
            key.release()

    def drag(self, on: bool) -> None:
        """Start or end a drag of the handle; `renew_grasp` keeps it held."""
        with self._lock:
            if on and not self._dragging:
                self._grasped = False
            self._dragging = on
            if not on:
                self._grasp.release()
                self._taken, self._goal = False, None

    def renew_grasp(self) -> None:
        """Renew the grasp during a drag."""
        with self._lock:
            if self._dragging and not self._grasped:
                self._grasped = True
                self._grasp.press()
            else:
                self._grasp.renew()

    def press(self, fresh: bool) -> None:
        """Report the enable switch as held; `fresh` if it was just pressed."""
        with self._lock:
            if fresh:
                self._switch.press()
                self._engage += 1
            else:
                self._switch.renew()

    def release(self) -> None:
        """Release the enable switch."""
        self._switch.release()

    def steer(self, deflection: Sequence[float], fresh: bool) -> None:
        """Report the hold-to-run button of a gamepad as held; `fresh` if it was just pressed.

        `deflection` (6,) of the sticks is from -1 to 1, linear then angular.
        """
        with self._lock:
            if fresh:
                self._stick.press()
                self._engage += 1
            elif not self._stick.renew():
                return
            self._deflection = np.clip(np.array(deflection, dtype=float), -1.0, 1.0)
            if self._deflection.any():
                self._goal = None

    def release_stick(self) -> None:
        """Release the hold-to-run button of the gamepad."""
        self._stick.release()

    def stop(self) -> bool:
        """Release all inputs until they are pressed again; return whether any was held."""
        with self._lock:
            held = self._taken or self._goal is not None
            for switch in (self._switch, self._stick, self._grasp, *self._keys.values()):
                held = switch.stop() or held
            self._grasped = True  # an active drag must be released first
            self._taken, self._goal = False, None
            return held

    def ask(self, name: str, value: Any) -> None:
        """Request a setting of the follower."""
        with self._lock:
            self._settings.append((name, value))

    # ---- device interface -----------------------------------------------------------------------

    def read(self, t: float, state: int) -> HandState:
        """Return the state of the hand at time t (s)."""
        with self._lock:
            dt = 0.0 if self._t is None else min(max(t - self._t, 0.0), LONGEST_STEP)
            self._t = t
            self._go(dt)
            switched = self._switch.held or self._stick.held
            dragged = self.drag_runs and self._grasp.held
            if dragged and not (self._taken or switched or state == SafetyState.HOLD):
                self._engage += 1
                self._taken = True
            self._taken = self._taken and dragged
            self.run = switched or self._taken
            asked, self._settings = tuple(self._settings), []
            return HandState(
                self._moved,
                self._turned,
                self.run,
                self._engage,
                self.clutch,
                self.grip,
                asked,
            )

    def stay(self, moved: np.ndarray, turned: np.ndarray) -> None:
        """Move the handle to the arm's position, because the arm could not follow."""
        with self._lock:
            self._moved, self._turned = np.array(moved), np.array(turned)

    def close(self) -> None:
        """Stop; pages have no further effect."""
        self.stop()

    def _go(self, dt: float) -> None:
        if self._goal is not None:
            moved, turned = self._goal
            self._moved = _towards(self._moved, moved, SPEED, dt)
            self._turned = _towards(self._turned, turned, TURNING, dt)
        velocity = np.zeros(3)
        for (axis, sign), key in self._keys.items():
            if key.held:
                velocity[axis] += sign * KEY_SPEED
        turning = np.zeros(3)
        if self._stick.held:
            velocity += STICK_SPEED * self._deflection[:3]
            turning = STICK_TURNING * self._deflection[3:]
        if velocity.any() or turning.any():
            self._moved = self._moved + dt * velocity
            R = matrix_from_rotvec(dt * turning) @ matrix_from_rotvec(self._turned)
            self._turned = rotvec_from_matrix(R)


def _towards(at: np.ndarray, goal: np.ndarray, speed: float, dt: float) -> np.ndarray:
    """Return the position after a step of dt seconds from `at` towards `goal`."""
    offset = goal - at
    length = float(np.linalg.norm(offset))
    if length == 0.0:
        return at
    share = min(speed * dt / length, NEAR * dt, 1.0)
    return at + share * offset
