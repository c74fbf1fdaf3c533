"""Motion while a button is held, by the clock on the wall, and the cap on the tool's speed.

`Held` ends a motion when its renewals stop coming: the button was let go, the page was closed, the
line is dead.  It looks at the wall's clock in every step of the simulation, so nothing else has to
work for it.  It also ends at the first touch of something that was not touched when it began.

`Slowed` plays a motion more slowly wherever its tool would be faster than a cap: with the inner
motion at q, q̇ and the Jacobian of the tool's point J_v, time passes by the share

    s = min(1, v_max / |J_v(q) q̇|),        q̇_out = s q̇

`Coarse` asks a costly motion only every few milliseconds and goes from state to state on quintics,
which share position, speed and acceleration at both ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from brazo.trajectory import CartesianJog, Jog, Sample

if TYPE_CHECKING:
    from brazo.robot import Robot

DEADMAN = 0.25  # s without a renewal
INTERVAL = 0.016  # s
FOR_EVER = 1e9  # s, of simulated time: the wall's clock decides


class Inner(Protocol):
    """A live motion, as `brazo.trajectory` has them."""

    @property
    def state(self) -> Sample: ...
    @property
    def moving(self) -> bool: ...
    def update(self, dt: float) -> Sample: ...


class Held:
    """A jog that goes on only while it is renewed."""

    def __init__(
        self,
        jog: Jog | CartesianJog,
        touched: Callable[[], set[str]] = set,
        known: Collection[str] = (),
        limit: Callable[[], str] = str,
    ) -> None:
        self.jog = jog
        self.reason = ""  # why it does not move as asked; kept after it has ended
        self._limit = limit  # asked in every step
        self.ran_into: set[str] = set()  # what ended it
        self._touched = touched  # asked in every step, or as often as `Coarse` asks
        self._known = touched().union(known)  # it may be on its way back from there
        self.released = False  # the button was let go
        self._held = True
        self._renewed = time.monotonic()

    @property
    def state(self) -> Sample:
        """Where the joints are now."""
        return self.jog.state

    @property
    def held(self) -> bool:
        """Whether the button is still down, as far as is known."""
        return self._held

    @property
    def moving(self) -> bool:
        """Whether it moves, or is held and may begin to."""
        return self._held or self.jog.moving

    def renew(self) -> None:
        """The button is still down; from any thread."""
        self._renewed = time.monotonic()

    def release(self) -> None:
        """The button was let go; from any thread."""
        self.released, self._held = True, False

    def update(self, dt: float) -> Sample:
        """Let dt seconds pass."""
        if time.monotonic() - self._renewed > DEADMAN:
            self._held = False
        if self._held and (ran_into := self._touched() - self._known):
            self.ran_into, self._held = ran_into, False  # never True again: a release may come now
        if not self._held:
            self.jog.stop()
        sample = self.jog.update(dt)
        if self._held:
            self.reason = self._limit() or self.reason
        return sample


class Slowed:
    """A motion whose tool keeps below a speed (m/s)."""

    def __init__(self, inner: Inner, arm: Robot, cap: float) -> None:
        self.inner = inner
        self._arm = arm
        self._cap = 0.98 * cap  # within a step the inner motion may grow a little
        self._qd = inner.state.qd.copy()

    @property
    def moving(self) -> bool:
        """Whether it moves."""
        return self.inner.moving

    @property
    def remaining(self) -> float:
        """Seconds until it rests, were it not slowed."""
        return float(getattr(self.inner, "remaining", float("nan")))

    def update(self, dt: float) -> Sample:
        """Let dt seconds pass."""
        state = self.inner.state
        speed = float(np.linalg.norm(self._arm.jacobian(state.q)[:3] @ state.qd))
        share = min(1.0, self._cap / speed) if speed > 0.0 else 1.0
        sample = self.inner.update(share * dt)
        qd = share * sample.qd
        qdd = (qd - self._qd) / dt if share < 1.0 else sample.qdd
        self._qd = qd
        return Sample(sample.q, qd, qdd)


class Coarse:
    """A motion that is asked every `interval` seconds, one interval ahead."""

    def __init__(self, inner: Inner, interval: float = INTERVAL) -> None:
        self.inner = inner
        self._h = interval
        self._t = interval  # into the present piece, which is over
        self._end = inner.state
        self._still = False
        self._pieces = np.zeros((6, len(self._end.q)))

    @property
    def moving(self) -> bool:
        """Whether it moves."""
        return self.inner.moving or not self._still

    def update(self, dt: float) -> Sample:
        """Let dt seconds pass."""
        self._t += dt
        while self._t >= self._h - 1e-9:
            self._t = max(self._t - self._h, 0.0)
            start, self._end = self._end, self.inner.update(self._h)
            self._pieces = _quintic(start, self._end, self._h)
            self._still = not (self._pieces[1:].any() or self.inner.moving)
        t, c = self._t, self._pieces
        powers = t ** np.arange(6)
        k = np.arange(6)
        qd = (k[1:] * powers[:5]) @ c[1:]
        qdd = (k[2:] * k[1:5] * powers[:4]) @ c[2:]
        return Sample(powers @ c, qd, qdd)


def _quintic(a: Sample, b: Sample, h: float) -> np.ndarray:
    """Coefficients (6, n) of the polynomial from state a to state b in h seconds."""
    c = np.zeros((6, len(a.q)))
    c[0], c[1], c[2] = a.q, a.qd, 0.5 * a.qdd
    d = b.q - a.q - h * a.qd - 0.5 * h * h * a.qdd
    v = b.qd - a.qd - h * a.qdd
    w = b.qdd - a.qdd
    c[3] = (10.0 * d - 4.0 * h * v + 0.5 * h * h * w) / h**3
    c[4] = (-15.0 * d + 7.0 * h * v - h * h * w) / h**4
    c[5] = (6.0 * d - 3.0 * h * v + 0.5 * h * h * w) / h**5
    return c


def source_of(motion: Any) -> Any:
    """The source under the wrappings of a robot's motion; None when it is no live one."""
    source = getattr(motion, "source", None)
    while isinstance(source, Slowed | Coarse):
        source = source.inner
    return source
