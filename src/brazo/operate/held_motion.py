"""`HeldMotion`: a jog that runs only while its press of the enabling switch is held.

The switch is read in every update, so nothing else has to work for the robot to stop: braking
begins with the first update after a release, a stop or a timeout.  It also begins at the first
contact with something that was not touched when the jog began.  Once it brakes it never runs again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from brazo.operate.hold_to_run import HoldToRun
from brazo.operate.resampled import Resampled
from brazo.operate.speed_cap import SpeedCapped
from brazo.trajectory import CartesianJog, Jog, Sample


class HeldMotion:
    """A jog bound to one press of a switch."""

    def __init__(
        self,
        jog: Jog | CartesianJog,
        switch: HoldToRun,
        press: int,
        touched: Callable[[], set[str]] = set,
        known: Collection[str] = (),
        limit: Callable[[], str] = str,
    ) -> None:
        self.jog = jog
        self.reason = ""  # why it does not move as asked; kept after it has ended
        self.ran_into: set[str] = set()  # the contacts that ended it
        self._switch, self._press = switch, press
        self._limit = limit  # asked in every update
        self._touched = touched  # asked in every update
        self._known = touched().union(known)  # it may be on its way back from there

    @property
    def state(self) -> Sample:
        """Where the joints are now."""
        return self.jog.state

    @property
    def held(self) -> bool:
        """Whether it still runs."""
        return self._switch.holds(self._press)

    @property
    def moving(self) -> bool:
        """Whether it moves, or is held and may begin to."""
        return self.held or self.jog.moving

    def update(self, dt: float) -> Sample:
        """Advance by dt seconds; the state then."""
        ran_into = self._touched() - self._known if self.held else set()
        # A release that came meanwhile counts: then no contact ended it.
        if ran_into and self._switch.release(self._press):
            self.ran_into = ran_into
        held = self.held
        if not held:
            self.jog.stop()
        sample = self.jog.update(dt)
        if held:
            self.reason = self._limit() or self.reason
        return sample


def source_of(motion: Any) -> Any:
    """The source inside a robot's motion, without its wrappers; None where it is no live one."""
    source = getattr(motion, "source", None)
    while isinstance(source, SpeedCapped | Resampled):
        source = source.inner
    return source
