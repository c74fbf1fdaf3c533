"""Status of the link and of the follower, as known at one end of the link.

Unknown values are never shown as if they were known.  The state of a link is one of

    waiting   no peer has connected yet
    up        last message at most three heartbeats old
    late      last message more than three heartbeats old, but within the timeout of the link
    dead      last message older than the timeout, connection lost, or the control loop of this end
              has stopped

At the follower, the state of the follower is always shown.  At the master, the state of the
follower is shown only while the link is up or late.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from brazo.teleop.link.wire_format import STATES
from brazo.teleop.stations import FollowerStation, MasterStation

LinkState = Literal["waiting", "up", "late", "dead"]
HEARTBEATS = 3  # the link is late after this many heartbeat periods without a message
SHOWN = 50  # max number of events in a status
DROPPED = (
    "expired", "replayed", "malformed", "wrong session", "from the future", "before the clock",
    "too fast", "wrong joints", "status not sent", "held back",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class StationStatus:
    """Status of the link and of the follower, as known at one end of the link.

    Times are in s, NaN if unknown.
    """

    link: LinkState
    about: str  # message that describes the link
    peer: str
    state: str  # of the follower; "" if unknown
    cause: str  # of that state
    share: float = 0.0  # speed of the follower, as a fraction of full speed
    round_trip: float = math.nan
    heard: float = math.nan  # time since the last message
    age: float = math.nan  # of the newest valid command at the follower
    lost: int = 0  # missing sequence numbers
    dropped: int = 0  # rejected frames
    received: int = 0  # commands; at the master, commands sent
    warnings: tuple[str, ...] = ()
    wrench: np.ndarray | None = None  # (6,) N and N m, on the follower's tool, in its base frame
    history: Sequence[tuple[float, str]] = ()  # events: time and text
    stopped: bool = False  # this end itself has stopped; the link is then reported as dead


class Watch:
    """State of the link over time: whether a peer ever connected, and when the link was lost."""

    def __init__(self) -> None:
        self._ever = False
        self._dead_since: float | None = None

    def judge(self, heard: float | None, heartbeat: float, silence: float) -> LinkState:
        """Update and return the state of the link.

        `heard` is the age of the last message (s); None if there is no connection.  `heartbeat` is
        the heartbeat period (s).  `silence` is the age of the last message (s) above which the link
        is dead.
        """
        if heard is not None and heard <= silence:
            self._ever, self._dead_since = True, None
            return "up" if heard <= HEARTBEATS * heartbeat else "late"
        if not self._ever:
            return "waiting"
        if self._dead_since is None:
            self._dead_since = time.monotonic()
        return "dead"

    @property
    def gone(self) -> float:
        """Time (s) since the link was lost; 0 if the link is not lost."""
        return 0.0 if self._dead_since is None else time.monotonic() - self._dead_since


def follower_status(station: FollowerStation, watch: Watch) -> StationStatus:
    """Update `watch` and return the status of link and follower, as known at the follower.

    The simulation's lock must be held.
    """
    link, safety = station.link, station.follower.safety
    heard = link.heard
    state = watch.judge(heard, link.rules.heartbeat, link.rules.silence)
    step, counts = station.step, link.counts
    error = station.sim.player.error
    about = {
        "waiting": f"no master has connected yet; listening at {link.url}",
        "up": f"'{link.master}' is connected",
        "late": f"'{link.master}': last message {1e3 * (heard or 0.0):.0f} ms ago",
        "dead": f"connection to the master lost {watch.gone:.1f} s ago",
    }[state]
    if error is not None:
        state, about = "dead", f"the simulation stopped: {error}"
    return StationStatus(
        state,
        about,
        link.master,
        safety.state.name if error is None else "",
        "" if step is None or error is not None else step.cause,
        0.0 if step is None else step.share,
        _or_nan(link.round_trip),
        _or_nan(heard),
        math.nan if step is None else step.age,
        counts["missing"],
        sum(counts[why] for why in DROPPED),
        counts["accepted"],
        () if step is None else step.warnings,
        station.wrench,
        station.log.last(SHOWN),
        error is not None,
    )


def master_status(station: MasterStation, watch: Watch) -> StationStatus:
    """Update `watch` and return the status of link and follower, as known at the master."""
    link = station.link
    heard = link.heard if link.connected else None
    state = watch.judge(heard, link.rules.heartbeat, link.rules.silence)
    counts = link.counts
    received = link.status() if state in ("up", "late") else None
    status = None if received is None else received.status
    about = {
        "waiting": link.trouble or f"connecting to {link.url}",
        "up": f"connected to '{link.follower}'",
        "late": f"'{link.follower}': last message {1e3 * (heard or 0.0):.0f} ms ago",
        "dead": (
            f"'{link.follower}' has not answered for {watch.gone:.1f} s; "
            "its robot stops automatically"
        ),
    }[state]
    if state == "dead" and link.turned_away:
        about = f"'{link.follower}' rejects this master: {link.trouble}"
    error = station.failure
    if error is not None:
        state, about, status = "dead", f"the station stopped: {error}", None
    wrench = None if status is None or status.wrench is None else np.array(status.wrench)
    return StationStatus(
        state,
        about,
        link.follower,
        "" if status is None else STATES[status.state],
        "" if status is None else status.cause,
        0.0 if status is None else status.share,
        _or_nan(link.round_trip),
        _or_nan(heard),
        math.nan if status is None else 1e-6 * status.age,
        counts["missing"],
        sum(counts[why] for why in DROPPED),
        counts["commands"],
        () if status is None else status.warnings,
        wrench,
        station.log.last(SHOWN),
        error is not None,
    )


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
