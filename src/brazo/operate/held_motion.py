"""`HeldMotion`: a jog that runs only while one press of the enable switch is held.

The switch is read in every update, so braking starts with the first update after a release, a stop
or a timeout.  Braking also starts at the first unintended contact (with a fixture, another robot or
the robot itself) that did not exist at the start of the jog.  After braking has started, the jog
never runs again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from brazo.operate.hold_to_run import HoldToRun
from brazo.operate.resampled import Resampled
from brazo.operate.speed_cap import SpeedCapped
from brazo.operate.tool_jog import ToolJog
from brazo.trajectory import CartesianJog, Jog, Sample


class HeldMotion:
    """Jog that runs only while one press of the enable switch is held.

    `press` is the number of this press.  A later press does not continue the jog.  Three functions
    are called in every update while the press is held.  `touched()` returns the names of the
    current contacts; see `brazo.operate.contacts.touched`.  Contacts that exist at the start or are
    in `known` do not end the jog.  `steer()` sets the velocity of the jog.  `limit()` returns why
    the jog does not move as requested, or an empty string.
    """

    def __init__(
        self,
        jog: Jog | CartesianJog | ToolJog,
        switch: HoldToRun,
        press: int,
        touched: Callable[[], set[str]] = set,
        known: Collection[str] = (),
        limit: Callable[[], str] = str,
        steer: Callable[[], None] = lambda: None,
    ) -> None:
        self.jog = jog
        self.reason = ""  # why it does not move as requested; kept after the end
        self.ran_into: set[str] = set()  # contacts that ended it
        self._switch, self._press = switch, press
        self._limit = limit  # called in every update while it is held
        self._steer = steer  # called in every update while it is held; sets the velocity
        self._touched = touched  # called in every update while it is held
        self._known = touched().union(known)  # existing contacts do not end it

    @property
    def state(self) -> Sample:
        """Current joint reference."""
        return self.jog.state

    @property
    def held(self) -> bool:
        """Whether the press that started the jog is still held."""
        return self._switch.holds(self._press)

    @property
    def moving(self) -> bool:
        """Whether the jog moves, or may start to move because its press is still held."""
        return self.held or self.jog.moving

    def update(self, dt: float) -> Sample:
        """Advance by dt seconds and return the new joint reference."""
        ran_into = self._touched() - self._known if self.held else set()
        # If the switch was released in the meantime, the contact did not end the jog.
        if ran_into and self._switch.release(self._press):
            self.ran_into = ran_into
        held = self.held
        if held:
            self._steer()
        else:
            self.jog.stop()
        sample = self.jog.update(dt)
        if held:
            self.reason = self._limit() or self.reason
        return sample


def source_of(motion: Any) -> Any:
    """Return the object that generates a robot's motion step by step, such as a jog.

    If it is wrapped in `SpeedCapped` or `Resampled`, the inner object is returned.  The result is
    None for other motions, such as a trajectory.
    """
    source = getattr(motion, "source", None)
    while isinstance(source, SpeedCapped | Resampled):
        source = source.inner
    return source
