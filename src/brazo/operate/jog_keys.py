"""`JogKeys`: the jog keys and the gamepad of a pendant.  At most one key is down at a time.

A key moves one axis at full jog speed.  The sticks of a gamepad move axes at a fraction of the jog
speed while the gamepad's hold-to-run button is pressed; this button counts as a key.  A key that is
held must be renewed regularly (see `HoldToRun`).  If a key is pressed while the robot moves, the
robot brakes.  The jog then starts at the first renewal after the robot has come to rest.  If a
contact ends a jog, the key must be pressed again; the same contact does not end the new jog.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.errors import BrazoError
from brazo.operate.contacts import struck
from brazo.operate.hold_to_run import HoldToRun

if TYPE_CHECKING:
    from brazo.operate.held_motion import HeldMotion
    from brazo.operate.mover import Frame, Mover
    from brazo.simulation.robot import SimRobot


_STICK = "stick"


class JogKeys:
    """Jog keys of one pendant.

    `press`, `press_stick`, `renew`, `renew_stick`, `release`, `stop` and `shares` are thread-safe.
    Call all other methods on the thread that uses `mover`.
    """

    def __init__(self, mover: Mover, switch: HoldToRun | None = None) -> None:
        self.switch = HoldToRun() if switch is None else switch
        self._mover = mover
        self._down: tuple[Hashable, int] = ("", 0)  # last key and its press
        self._shares: tuple[float, ...] = ()  # of the jog speed, by axis
        self._jog: HeldMotion | None = None
        self._robot: SimRobot | None = None  # robot moved by the jog
        # The motion of the robot after the last jog; with another motion the values are out of
        # date.
        self._last: tuple[Any, str, set[str]] = (None, "", set())  # with its limit and contacts

    @property
    def jog(self) -> HeldMotion | None:
        """Current jog; None before a key has started one, and after `settle` has dropped it."""
        return self._jog

    # ---- keys, thread-safe ----------------------------------------------------------------------

    def press(self, axis: int, sign: int) -> int:
        """Press the jog key that moves an axis in the direction `sign` (-1 or 1).

        Returns the number of the press, which `begin` needs.
        """
        return self._press((axis, sign), (*[0.0] * axis, float(sign)))

    def renew(self, axis: int, sign: int) -> int | None:
        """Report that a jog key is still down.

        Returns the number of its press if the press is still held and no jog runs, otherwise None.
        In the first case, call `begin` with this number.
        """
        return self._renew((axis, sign))

    def press_stick(self, shares: Sequence[float]) -> int:
        """Press the hold-to-run button of a gamepad.

        Returns the number of the press, which `begin` needs.  `shares` are the deflections of the
        sticks by axis, from -1 to 1.  Axes without a value stay at rest.
        """
        return self._press(_STICK, tuple(shares))

    def renew_stick(self, shares: Sequence[float]) -> int | None:
        """Report that the hold-to-run button is still down.

        `shares` are the current deflections of the sticks by axis, from -1 to 1.  The result is
        that of `renew`.
        """
        if self._down[0] == _STICK:
            self._shares = tuple(shares)
        return self._renew(_STICK)

    def shares(self, n: int) -> np.ndarray:
        """Return the velocity of each axis (n,) as a fraction of the jog speed, from -1 to 1."""
        given = self._shares[:n]
        found = np.zeros(n)
        found[: len(given)] = np.clip(given, -1.0, 1.0)
        return found

    def release(self) -> None:
        """Release the pressed key."""
        self.switch.release()

    def stop(self) -> None:
        """Release the key because of STOP.  The key has no effect until it is pressed again."""
        self.switch.stop()

    def _press(self, key: Hashable, shares: tuple[float, ...]) -> int:
        press = self.switch.press()  # before the shares, which are not for the jog of another key
        self._down, self._shares = (key, press), shares
        return press

    def _renew(self, key: Hashable) -> int | None:
        if self._down[0] != key or not self.switch.renew():
            return None
        return self._down[1] if self._jog is None else None

    # ---- jogs, on the thread of the mover ------------------------------------------------------

    def begin(self, robot: SimRobot, frame: Frame, press: int) -> str:
        """Start the jog of press number `press` in `frame`, if this press is still held.

        If the robot moves, it brakes instead, and `begin` must be called again.  Returns the
        message of `settle` about the previous jog.
        """
        message = self.settle()
        if self._jog is None and press == self._down[1] and self.switch.holds(press):
            motion, _, contacts = self._last
            known = contacts if robot.motion is motion else set()
            try:
                self._jog = self._mover.jog(robot, frame, self.shares, self.switch, press, known)
            except BrazoError:
                self.switch.release(press)
                raise
            if self._jog is not None:
                self._robot = robot
                self._last = (None, "", set())
        return message

    def settle(self) -> str:
        """Drop the jog if its key is no longer held.

        Returns a message if a contact ended the jog, otherwise an empty string.
        """
        jog, robot = self._jog, self._robot
        if jog is None or robot is None or jog.held:
            return ""
        self._jog = None
        self._last = (robot.motion, jog.reason, jog.ran_into)
        if not jog.ran_into:
            return ""
        contacts = struck(self._mover.contacts(), robot.name, jog.ran_into)
        names = ", ".join(sorted(jog.ran_into))
        why = contacts or f"contact with {names}: move the robot back"
        return f"Stopped: {why}, or press again to continue"

    def forget(self) -> None:
        """Release the key and drop its jog; call this when the simulation was replaced or reset."""
        self.switch.release()
        self._jog, self._last = None, (None, "", set())

    def reason(self, robot: SimRobot) -> str:
        """Return why the robot did not move as the last jog requested; "" if it did.

        The result is also "" if another motion of the robot was started after the jog.
        """
        if self._jog is not None:
            return self._jog.reason
        motion, reason, _ = self._last
        return reason if robot.motion is motion else ""
