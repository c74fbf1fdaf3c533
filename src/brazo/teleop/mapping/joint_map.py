"""`JointMap`: joint to joint, for a master and a follower with the same mechanism.

    incremental    Δq_follower = g Δq_master    between two commands, with one gain g per joint
    absolute       q_follower = q_master

An incremental mapping can start at any positions of the two robots.  A gain of −1 reverses a joint.
An absolute mapping requires equal positions at engagement.  Near the limits of a joint, the steps
of an incremental mapping are shortened (see `brazo.teleop.mapping.walls`); an absolute mapping
stops at the limit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from brazo.checks import positive
from brazo.errors import BrazoError
from brazo.teleop.mapping.base import JointTarget, MasterPoint, Plausible
from brazo.teleop.mapping.walls import JOINT_WALL, Soft
from brazo.trajectory.limits import Limits
from brazo.trajectory.reading import vector

Array = np.ndarray
SETTINGS = ("gain", "absolute")
GREATEST = 1e3  # max magnitude of a gain


class JointMap:
    """Mapping from the joints of a master to those of a follower with the same mechanism.

    `limits` are the position and speed limits of the follower.  `align` is the max difference (rad
    or m) between master and follower at engagement of an absolute mapping.
    """

    def __init__(
        self,
        limits: Limits,
        gain: Any = 1.0,
        *,
        absolute: bool = False,
        align: float = 0.05,  # rad, m: max difference at engagement if absolute
        plausible: Plausible | None = None,
    ) -> None:
        self.limits = limits
        self.align = positive(align, "align")
        self.plausible = plausible or Plausible()
        self._walls = [_wall(low, high) for low, high in limits.position.tolist()]
        self._last: Array | None = None
        self._q = np.zeros(limits.n)
        self.absolute = False
        self.set("gain", gain)
        self.set("absolute", absolute)

    def set(self, name: str, value: Any) -> None:
        """Change a setting: `gain` (one number, or one per joint) or `absolute` (True or False).

        A change of `absolute` takes effect at the next engagement.
        """
        n = self.limits.n
        if name == "gain":
            gain = vector(np.broadcast_to(value, n) if np.ndim(value) == 0 else value, n, "gain")
            if np.abs(gain).max() > GREATEST:
                raise BrazoError(
                    f"gain is {gain[np.argmax(np.abs(gain))]:g}; expected -{GREATEST:g} "
                    f"to {GREATEST:g}"
                )
            self.gain = gain
        elif name == "absolute":
            if not isinstance(value, bool):
                raise BrazoError(f"absolute is {value!r}; expected true or false")
            # An absolute mapping needs equal positions at engagement, so a change applies at the
            # next one.
            self._absolute_next = value
        else:
            raise BrazoError(f"no setting {name!r}; settings: {', '.join(SETTINGS)}")

    def settings(self) -> dict[str, Any]:
        """Return `gain`, and `absolute` as it will be at the next engagement."""
        return {"gain": self.gain.tolist(), "absolute": self._absolute_next}

    def obstacle(self, master: MasterPoint, q: Array) -> str:
        """Return why following cannot start with the follower at q (n,), or "" if it can."""
        n = self.limits.n
        if master.q is None or len(master.q) != n:
            sent = "no" if master.q is None else str(len(master.q))
            return f"the master sends {sent} joint values; the follower needs {n}"
        if self._absolute_next:
            apart = np.abs(master.q - q)
            i = int(np.argmax(apart))
            if apart[i] > self.align:
                return (
                    f"joint {i + 1}: master and follower differ by {apart[i]:.3g} rad or m; "
                    f"at most {self.align:g} is allowed"
                )
        return ""

    def anchor(self, master: MasterPoint, q: Array) -> None:
        """Set the master position and the follower's q (n,) from which the next step starts."""
        assert master.q is not None
        self.absolute = self._absolute_next
        self._last, self._q = master.q.copy(), q.copy()

    def step(self, master: MasterPoint, dt: float) -> JointTarget:
        """Return the joint target for the master position, dt seconds after the last step."""
        if master.q is None or self._last is None or len(master.q) != len(self._last):
            return JointTarget(self._q, jump="the joint values are missing")
        moved = master.q - self._last
        most = self.plausible.angular_slack + self.plausible.angular_speed * dt
        if np.abs(moved).max() > most:
            i = int(np.argmax(np.abs(moved)))
            return JointTarget(
                self._q, jump=f"joint {i + 1} by {moved[i]:.3g} rad or m in {1e3 * dt:.0f} ms"
            )
        self._last = master.q.copy()
        wanted = master.q - self._q if self.absolute else self.gain * moved
        allowed = self.limits.speed * dt
        warnings = []
        if (np.abs(wanted) > allowed).any():
            i = int(np.argmax(np.abs(wanted) / allowed))
            warnings.append(
                f"joint {i + 1} lags: the master moves faster than the joint's speed limit"
            )
            wanted = np.clip(wanted, -allowed, allowed)
        for i, (wall, (low, high)) in enumerate(
            zip(self._walls, self.limits.position.tolist(), strict=True)
        ):
            hard = Soft(0.0, wall.warn) if self.absolute else wall
            self._q[i] = hard.step(float(self._q[i]), float(wanted[i]), low, high)
            room = wall.warning(float(self._q[i]), low, high)
            if room is not None:
                warnings.append(f"joint {i + 1} is {room:.3g} rad or m from its limit")
        return JointTarget(self._q.copy(), tuple(warnings))


def _wall(low: float, high: float) -> Soft:
    """Return the soft wall of a joint with the limits `low` and `high` (rad or m).

    Its width is at most 5 % of the range, so that a short range stays usable.
    """
    share = 0.05 * (high - low)
    if not math.isfinite(share):
        return JOINT_WALL
    return Soft(min(JOINT_WALL.width, share), min(JOINT_WALL.warn, 2.0 * share))
