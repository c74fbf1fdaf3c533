"""`PageHandle`: a master handle moved by function calls, such as those of a web page; thread-safe.

The handle approaches the commanded point with limited speed, because a page reports a drag only a
few times per second and the mouse may jump between two reports.

Every input that is held is a `HoldToRun` switch, which is released when the page is closed or its
connection is lost.  Three inputs enable the follower:

    switch   a button or a key; a new press requests engagement in any state
    stick    the hold-to-run button of a gamepad, which acts like the switch; the sticks of the
             gamepad move the handle
    drag     dragging the handle; the start of a drag requests engagement, except in HOLD: after a
             fault the switch is required
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
    """Master handle moved by function calls.

    A held input is released if it is not renewed for `deadman` seconds, measured with `clock`.
    """

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
        """Set the target position (m) and rotation vector (rad), relative to the start pose.

        If `turned` is None, the orientation is not changed.
        """
        with self._lock:
            turn = self._turned if turned is None else np.array(turned, dtype=float)
            self._goal = (np.array(moved, dtype=float), turn)

    def push(self, axis: int, sign: int, fresh: bool = False) -> None:
        """Report that a motion key is held.

        `axis` is 0, 1 or 2 for x, y or z, and `sign` is 1 or -1.  `fresh` is True for a
        new press, False while the key stays pressed.
        """
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
        """Start a drag of the handle if `on` is True, otherwise end it.

        During the drag, `renew_grasp` must be called repeatedly.
        """
        with self._lock:
            if on and not self._dragging:
                self._grasped = False
            self._dragging = on
            if not on:
                self._grasp.release()
                self._taken, self._goal = False, None

    def renew_grasp(self) -> None:
        """Report that the handle is still being dragged."""
        with self._lock:
            if self._dragging and not self._grasped:
                self._grasped = True
                self._grasp.press()
            else:
                self._grasp.renew()

    def press(self, fresh: bool) -> None:
        """Report that the enable switch is held.

        `fresh` is True for a new press, False while the switch stays pressed.
        """
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
        """Report that the hold-to-run button of a gamepad is held.

        `deflection` (6,) contains the deflections of the sticks from -1 to 1: x, y, z, then
        rotation about x, y, z.  `fresh` is True for a new press, False while the button stays
        pressed.
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
        """Treat all inputs as released, and return whether any was held.

        An input that the operator still holds has no effect until the operator releases it and
        presses it again.
        """
        with self._lock:
            held = self._taken or self._goal is not None
            for switch in (self._switch, self._stick, self._grasp, *self._keys.values()):
                held = switch.stop() or held
            self._grasped = True  # an active drag must be released first
            self._taken, self._goal = False, None
            return held

    def ask(self, name: str, value: Any) -> None:
        """Request that the follower's setting `name` be changed to `value`."""
        with self._lock:
            self._settings.append((name, value))

    # ---- device interface -----------------------------------------------------------------------

    def read(self, t: float, state: int) -> HandState:
        """Return the operator's input at time t (s)."""
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
        """Set the handle to the pose of the master arm, which could not follow the handle.

        The position (m) and rotation vector (rad) are relative to the start pose.
        """
        with self._lock:
            self._moved, self._turned = np.array(moved), np.array(turned)

    def close(self) -> None:
        """Release all inputs."""
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
    """Return the position (3,) after moving from `at` towards `goal` for dt seconds.

    `speed` is the max speed; close to the goal the motion is slower.
    """
    offset = goal - at
    length = float(np.linalg.norm(offset))
    if length == 0.0:
        return at
    share = min(speed * dt / length, NEAR * dt, 1.0)
    return at + share * offset
