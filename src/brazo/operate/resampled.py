"""`Resampled`: updates a costly motion only every few milliseconds and interpolates in between.

The interpolation uses quintic polynomials that match the position, velocity and acceleration of the
motion at both ends of an interval.
"""

from __future__ import annotations

import numpy as np

from brazo.operate.speed_cap import LiveMotion
from brazo.trajectory import Sample

INTERVAL = 0.016  # s


class Resampled:
    """Motion that interpolates another motion.

    The inner motion is updated every `interval` seconds, one interval ahead.
    """

    def __init__(self, inner: LiveMotion, interval: float = INTERVAL) -> None:
        self.inner = inner
        self._h = interval
        self._t = interval  # time in the current piece, which has ended
        self._end = inner.state
        self._at_rest = False
        self._pieces = np.zeros((6, len(self._end.q)))

    @property
    def moving(self) -> bool:
        """True until the motion has come to rest."""
        return self.inner.moving or not self._at_rest

    def update(self, dt: float) -> Sample:
        """Advance by dt seconds and return the new joint reference."""
        self._t += dt
        while self._t >= self._h - 1e-9:
            self._t = max(self._t - self._h, 0.0)
            start, self._end = self._end, self.inner.update(self._h)
            self._pieces = _quintic(start, self._end, self._h)
            self._at_rest = not (self._pieces[1:].any() or self.inner.moving)
        t, c = self._t, self._pieces
        powers = t ** np.arange(6)
        k = np.arange(6)
        qd = (k[1:] * powers[:5]) @ c[1:]
        qdd = (k[2:] * k[1:5] * powers[:4]) @ c[2:]
        return Sample(powers @ c, qd, qdd)


def _quintic(a: Sample, b: Sample, h: float) -> np.ndarray:
    """Return the coefficients (6, n) of the quintic from state a to state b in h seconds."""
    c = np.zeros((6, len(a.q)))
    c[0], c[1], c[2] = a.q, a.qd, 0.5 * a.qdd
    d = b.q - a.q - h * a.qd - 0.5 * h * h * a.qdd
    v = b.qd - a.qd - h * a.qdd
    w = b.qdd - a.qdd
    c[3] = (10.0 * d - 4.0 * h * v + 0.5 * h * h * w) / h**3
    c[4] = (-15.0 * d + 7.0 * h * v - h * h * w) / h**4
    c[5] = (6.0 * d - 3.0 * h * v + 0.5 * h * h * w) / h**5
    return c
