"""Recorded arrays of a bilateral run, and the figures of merit computed from them.

tracking     |x_follower(t) − x_master(t − T)|; the delay T minimises the RMS of this error
fidelity     difference between the force on the operator and the contact force, as means over the
             last part of the run
passivity    min over time of the energy that both robots have put into the link; ≥ 0 if passive
rest         peak-to-peak motion of the master in the last part of the run
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from brazo.deprecation import renamed_fields
from brazo.errors import BrazoError
from brazo.teleop.bilateral.loops import LoopState

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class EndTrace:
    """Recorded values of one side (master or follower), in the master's task space.

    Row k of each array belongs to cycle k, and m is the number of cycles.  `LoopState` and
    `EndState` explain the values.
    """

    x: Array  # (m, 3) m
    v: Array
    force: Array  # (m, 3) N, applied to the tool by the scheme
    outside: Array  # (m, 3) N, of the operator at the master, of the contacts at the follower
    goal: Array  # (m, 3) m
    energy: Array  # (m,) J, put into the link by the robot
    received: Array  # (m,) J
    spent: Array
    sent: Array
    coupling: Array
    buffered: Array  # (m,) s
    one_way: Array  # (m,) s, of the newest packet
    round_trip: Array
    age: Array


@renamed_fields(
    least_energy="min_energy", least_master="min_energy_master", greatest_force="max_force"
)
@dataclass(frozen=True, slots=True)
class BilateralReport:
    """Figures of merit of a bilateral run, in SI units."""

    scheme: str
    delay: float  # s one way, as set
    jitter: float
    one_way: tuple[float, float, float]  # s, min, mean and max, measured at the follower
    round_trip: float  # s, mean, measured at the master
    lag: float  # s, delay of the follower's motion
    tracking_rms: float  # m, after removal of that lag
    tracking_max: float
    apart: float  # m, distance between the two at the end
    force_master: float  # N at the end, on the operator
    force_follower: float  # N at the end, contact
    force_error: float  # N, norm of the difference of the two means over the last part
    moving: float  # m, peak-to-peak motion of the master in the last part
    min_energy: float  # J, min of both sides together
    min_energy_master: float  # J, min at the master
    max_force: float  # N, max contact force

    def text(self) -> str:
        """Return the figures of merit as a text of several lines."""
        low, mean, high = (1e3 * x for x in self.one_way)
        return "\n".join(
            (
                f"{self.scheme}, delay {1e3 * self.delay:.0f} ± {1e3 * self.jitter:.0f} ms one way",
                f"  measured one way      {mean:.1f} ms ({low:.1f} to {high:.1f})",
                f"  measured round trip   {1e3 * self.round_trip:.1f} ms",
                f"  lag of the follower   {1e3 * self.lag:.0f} ms",
                f"  tracking error        {1e3 * self.tracking_rms:.2f} mm rms, "
                f"{1e3 * self.tracking_max:.2f} mm max, without the lag",
                f"  distance at the end   {1e3 * self.apart:.2f} mm",
                f"  force at the end      hand {self.force_master:.3f} N, "
                f"contact {self.force_follower:.3f} N",
                f"  motion at the end     {1e3 * self.moving:.3f} mm",
                f"  min energy            {1e3 * self.min_energy:.3f} mJ",
            )
        )


@dataclass(frozen=True, eq=False)
class Trace:
    """A recorded bilateral run; row k of each array belongs to the cycle at t[k]."""

    scheme: str
    line: Mapping[str, float]
    t: Array  # (m,) s
    master: EndTrace
    follower: EndTrace

    @property
    def energy(self) -> Array:
        """Total energy (J) that both robots have put into the link, one value per cycle."""
        return self.master.energy + self.follower.energy

    @property
    def free(self) -> Array:
        """Boolean array, one value per cycle: True before the first contact of the follower."""
        return ~np.logical_or.accumulate(self.follower.outside.any(axis=1))

    def lag(self, most: float = 1.0) -> float:
        """Return the lag (s) of the follower that minimises the tracking error.

        Lags from 0 to `most` (s), but below the length of the run, are tried in steps of five
        cycles.  The result is nan if the follower has contact from the start.
        """
        if not self.free.any():
            return float("nan")
        dt = self.t[1] - self.t[0]
        steps = np.arange(0, min(max(int(most / dt), 1), len(self.t)), 5)
        sums = [float(np.mean(self.tracking(n * dt) ** 2)) for n in steps]
        return float(steps[int(np.argmin(sums))] * dt)

    def tracking(self, lag: float) -> Array:
        """Return the tracking error `|x_follower(t) − x_master(t − lag)|` (k,), in m.

        Only the k cycles before the first contact of the follower are used.  Before the start of
        the run the master is assumed to be at its initial position, also if `lag` (s) is longer
        than the run.
        """
        x = self.master.x
        n = min(round(lag / (self.t[1] - self.t[0])), len(x))
        before = np.concatenate([np.repeat(x[:1], n, axis=0), x[: len(x) - n]])
        return np.linalg.norm(self.follower.x - before, axis=1)[self.free]

    def report(self, last: float = 0.5) -> BilateralReport:
        """Return the figures of merit of the run.

        The forces and the remaining motion at the end are evaluated over the last `last` seconds.
        """
        if len(self.t) < 2 or self.t[-1] - self.t[0] <= last:
            length = self.t[-1] - self.t[0] if len(self.t) else 0.0
            raise BrazoError(
                f"the run lasts {length:g} s; a report needs a run longer than {last:g} s"
            )
        end = self.t > self.t[-1] - last
        lag = self.lag()
        error = self.tracking(lag) if np.isfinite(lag) else np.array([np.nan])
        m, f = self.master, self.follower
        felt, met = m.force[end], f.outside[end]
        came, trips = _known(f.one_way), _known(m.round_trip)
        return BilateralReport(
            scheme=self.scheme,
            delay=self.line.get("delay", 0.0),
            jitter=self.line.get("jitter", 0.0),
            one_way=(float(came.min()), float(came.mean()), float(came.max())),
            round_trip=float(trips.mean()),
            lag=lag,
            tracking_rms=float(np.sqrt(np.mean(error**2))),
            tracking_max=float(error.max()),
            apart=float(np.linalg.norm(m.x[-1] - f.x[-1])),
            force_master=float(np.linalg.norm(felt.mean(axis=0))),
            force_follower=float(np.linalg.norm(met.mean(axis=0))),
            force_error=float(np.linalg.norm(felt.mean(axis=0) - met.mean(axis=0))),
            moving=float(np.linalg.norm(np.ptp(m.x[end], axis=0))),
            min_energy=float(self.energy.min()),
            min_energy_master=float(m.energy.min()),
            max_force=float(np.linalg.norm(f.outside, axis=1).max()),
        )


class Tracer:
    """Recorder of the `LoopState` of both sides in each cycle of a run."""

    def __init__(self) -> None:
        self._t: list[float] = []
        self._master: list[LoopState] = []
        self._follower: list[LoopState] = []

    def add(self, master: LoopState, follower: LoopState) -> None:
        self._t.append(master.t)
        self._master.append(master)
        self._follower.append(follower)

    def trace(self, scheme: str, line: Mapping[str, float]) -> Trace:
        return Trace(scheme, line, np.array(self._t), _end(self._master), _end(self._follower))


def _known(values: Array) -> Array:
    known = values[np.isfinite(values)]
    return known if len(known) else np.array([np.nan])


def _end(moments: list[LoopState]) -> EndTrace:
    def rows(name: str) -> Array:
        return np.array([getattr(one, name) for one in moments]).reshape(len(moments), 3)

    def account(name: str) -> Array:
        return np.array([getattr(one.state, name) for one in moments])

    def delay(name: str) -> Array:
        return np.array([getattr(one.state.delay, name) for one in moments])

    return EndTrace(
        *(rows(name) for name in ("x", "v", "force", "outside", "goal")),
        *(account(n) for n in ("energy", "received", "spent", "sent", "coupling", "buffered")),
        *(delay(n) for n in ("one_way", "round_trip", "age")),
    )
