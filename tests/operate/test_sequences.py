"""Random sequences of events: press, renew, release, stop, loss of the link, reconnection.

Three properties hold.  Braking begins at once on release and stop and at most 0.25 s after the last
renewal, and it is as short as the limits allow.  Every limit is kept.  And nothing moves again
without a fresh press.
"""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from brazo.operate import HeldMotion, HoldToRun
from brazo.trajectory import Jog, Limits

LIMITS = Limits(
    [1.0, 2.0, 0.5], [4.0, 5.0, 2.0], [30.0, 40.0, 20.0], [[-1, 1], [-4, -2.5], [0.3, 0.9]]
)
DT = 0.004
MOST = 0.25  # s from the last renewal to braking


class Operating(RuleBasedStateMachine):
    """A page with jog keys, a link that may be lost, and a robot with its own loop."""

    @initialize(place=st.lists(st.floats(0, 1), min_size=3, max_size=3))
    def begin(self, place: list[float]) -> None:
        low, high = LIMITS.position.T
        self.now = 50.0
        self.switch = HoldToRun(clock=lambda: self.now)
        self.q = np.clip(low + np.array(place) * (high - low), low, high)
        self.motion: HeldMotion | None = None
        self.connected = True
        self.key_down = False  # the operator's finger
        # The model: when the switch was last renewed, and whether a press still counts.
        self.renewed = -np.inf
        self.counts = False
        self.braking: list[Brake] = []  # of each joint

    # ---- what may happen -----------------------------------------------------------------------

    @rule(axis=st.integers(0, 2), sign=st.sampled_from([-1.0, 1.0]), share=st.floats(0.05, 1.0))
    def press(self, axis: int, sign: float, share: float) -> None:
        self.key_down = True
        if not self.connected:
            return
        press = self.switch.press()
        self.renewed, self.counts = self.now, True
        if self.motion is not None and self.motion.jog.moving:
            self.counts = False  # it brakes first; this press is not bound to any motion
            return
        jog = Jog(LIMITS, self.q)
        jog.run(sign * share * LIMITS.speed * np.eye(3)[axis])
        self.motion, self.braking = HeldMotion(jog, self.switch, press), []

    @precondition(lambda self: self.key_down and self.connected)
    @rule()
    def renew(self) -> None:
        self._tick_model()
        self.switch.renew()
        if self.counts:
            self.renewed = self.now

    @rule()
    def release(self) -> None:
        self.key_down = False
        if self.connected:  # otherwise the page cannot report it
            self.switch.release()
            self.counts = False

    @rule()
    def stop(self) -> None:
        self.switch.stop()
        self.counts = False

    @rule()
    def lose_link(self) -> None:
        self.connected = False

    @rule()
    def reconnect(self) -> None:
        self.connected = True

    @rule(steps=st.integers(1, 80), renewing=st.booleans())
    def run(self, steps: int, renewing: bool) -> None:
        for k in range(steps):
            if renewing and self.key_down and self.connected and k % 8 == 0:
                self.renew()
            self.now += DT
            self._tick_model()
            self._step()

    # ---- what has to hold ----------------------------------------------------------------------

    def _tick_model(self) -> None:
        self.counts = self.counts and self.now - self.renewed <= MOST

    def _step(self) -> None:
        motion = self.motion
        if motion is None:
            return
        before, moved = motion.state, motion.moving
        after = motion.update(DT)
        low, high = LIMITS.position.T
        assert (after.q >= low).all() and (after.q <= high).all()
        assert (np.abs(after.qd) <= LIMITS.speed * (1 + 1e-9)).all()
        assert (np.abs(after.qdd) <= LIMITS.acceleration * (1 + 1e-9)).all()
        assert (np.abs(after.qdd - before.qdd) <= LIMITS.jerk * DT * (1 + 1e-6) + 1e-9).all()
        self.q = after.q
        if self.counts:
            return
        if not self.braking:
            parts = zip(before.qd, before.qdd, LIMITS.acceleration, LIMITS.jerk, strict=True)
            self.braking = [Brake(self.now - DT, *part) for part in parts]
        for qd, brake in zip(after.qd.tolist(), self.braking, strict=True):
            assert -1e-9 <= brake.sign * qd <= brake.speed(self.now) + 1e-9
        if not moved:  # at rest, and nothing but a fresh press leads out of it
            assert np.array_equal(after.q, before.q)


class Brake:
    """The shortest stop from speed v and acceleration a, begun at a time.

    A stop from rest of acceleration at speed V is a trapezoid (or triangle) of acceleration.  With
    an acceleration that is still there it begins a/j later, at the speed reached by then; with one
    that already brakes it has begun a/j earlier.
    """

    def __init__(self, begin: float, v: float, a: float, most: float, jerk: float) -> None:
        faded = v + 0.5 * a * abs(a) / jerk
        # In the last phase of a stop it fades to 0, to rounding: then the speed has the sign.
        self.sign = 1.0 if (faded if abs(faded) > 1e-9 else v) >= 0.0 else -1.0
        v, a = self.sign * v, self.sign * a
        self.peak = v + 0.5 * a * a / jerk
        self.begin, self.jerk = begin + a / jerk, jerk
        self.rise = min(most / jerk, np.sqrt(self.peak / jerk))  # s to full braking
        self.flat = max(self.peak / (jerk * self.rise) - self.rise, 0.0) if self.peak else 0.0

    def speed(self, now: float) -> float:
        """The speed at a time, along `sign`."""
        t, most = max(now - self.begin, 0.0), self.jerk * self.rise
        if t <= self.rise:
            return self.peak - 0.5 * self.jerk * t * t
        if t <= self.rise + self.flat:
            return self.peak - most * (t - 0.5 * self.rise)
        left = max(2.0 * self.rise + self.flat - t, 0.0)
        return 0.5 * self.jerk * left * left


TestOperating = Operating.TestCase
TestOperating.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
