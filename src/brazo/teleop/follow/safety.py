"""The follower's safety state machine: pure, it knows neither network nor robot, and time is given.

    IDLE ──engage──► ENGAGED ◄──► DEGRADED
     ▲   ◄─release──┘    │            │         ENGAGED   follows
     │                   └─► HOLD ◄───┘         DEGRADED  follows slower the older the data is
     └ nothing moves          │  ▲              HOLD      brakes and stands; only an explicit
                              └──┘ engage                 re-engagement leads out

Motion begins only with a fresh command that has the run flag (hold to run) and a higher engagement
number than any shown until the last stop, after a command without the run flag has been seen since:
a switch that is stuck, or a master that reconnects with the switch held, moves nothing.

It ends in IDLE when the operator lets go, and in HOLD when something is wrong: the newest good
command is older than `stale`, numbers are missing, a clock jumped, the link is lost, the master's
position jumped or cannot be followed, or the loop that asks was late.  `stale` plus the longest
pause between two ticks is the time in which HOLD is certain: with the defaults and a loop of at
least 33 Hz, 150 ms.

STOP is more than a fault: it leads to HOLD from every state, and whatever a master had sent until
then, an engagement that still waits included, counts for nothing.

Every change of state is a `Transition` with its cause, kept in `log` and handed to `on_transition`.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntEnum

from brazo.errors import BrazoError


class State(IntEnum):
    IDLE = 0
    ENGAGED = 1
    DEGRADED = 2
    HOLD = 3


class Cause(Enum):
    """Why a state changed; the text is what the operator reads."""

    ENGAGED = "engaged"
    RELEASED = "released by the operator"
    OLD = "commands are late"
    FRESH = "commands are on time again"
    STALE = "no valid command in time"
    GAP = "commands are missing"
    CLOCK = "clock jump"
    LINK = "link lost"
    JUMP = "the master position jumped"
    LOST = "the master motion cannot be followed"
    LATE = "the follower loop was late"
    STOP = "stopped at the follower"


# What sends a moving follower to HOLD.
FAULTS = frozenset(
    {Cause.GAP, Cause.CLOCK, Cause.LINK, Cause.JUMP, Cause.LOST, Cause.LATE, Cause.STOP}
)


@dataclass(frozen=True, slots=True)
class Rules:
    """When data is old; seconds since the newest good command was sent."""

    degrade: float = 0.05  # older: slow down
    recover: float = 0.03  # younger: full speed again
    stale: float = 0.12  # older: HOLD
    late: float = 0.1  # between two ticks: HOLD
    slowest: float = 0.1  # share of full speed just before data is stale
    gap: int = 25  # numbers missing in a row: HOLD

    @classmethod
    def over(cls, delay: float) -> Rules:
        """The rules for a link that takes up to `delay` seconds one way: ages count from there.

        HOLD is then certain so much later, too.
        """
        if not (math.isfinite(delay) and delay >= 0.0):
            raise BrazoError(f"a delay of {delay} s; wanted a finite number from 0")
        plain = cls()
        return cls(
            plain.degrade + delay, plain.recover + delay, plain.stale + delay, plain.late,
            plain.slowest, plain.gap,
        )  # fmt: skip

    def __post_init__(self) -> None:
        for name in ("degrade", "recover", "stale", "late", "slowest"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise BrazoError(f"{name} is {value}; it must be finite and greater than 0")
        if not self.recover <= self.degrade < self.stale:
            raise BrazoError(
                f"recover {self.recover:g}, degrade {self.degrade:g} and stale {self.stale:g} s "
                "must stand in this order: recover ≤ degrade < stale"
            )
        if self.slowest > 1.0:
            raise BrazoError(f"slowest is {self.slowest:g}; a share of full speed is at most 1")
        if self.gap < 1:
            raise BrazoError(f"gap is {self.gap}; at least 1 number")


@dataclass(frozen=True, slots=True)
class Transition:
    """One change of state."""

    t: float  # s
    before: State
    after: State
    cause: Cause
    detail: str = ""

    def __str__(self) -> str:
        more = f": {self.detail}" if self.detail else ""
        return f"{self.before.name} → {self.after.name}, {self.cause.value}{more}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the follower may do now."""

    state: State
    share: float  # of full speed; 0 means brake and stand

    @property
    def follow(self) -> bool:
        return self.share > 0.0


class Safety:
    """One follower; `now` is any clock that goes forward, in seconds."""

    def __init__(
        self,
        rules: Rules | None = None,
        now: float = 0.0,
        on_transition: Callable[[Transition], None] | None = None,
    ) -> None:
        self.rules = rules or Rules()
        self.state = State.IDLE
        self.cause = Cause.RELEASED
        self.detail = ""
        self.log: deque[Transition] = deque(maxlen=1000)
        self.on_transition = on_transition
        self.refusal = ""  # why the last engagement that was asked for did not begin
        self.engagement = 0  # the last one used up
        self._now = now
        self._sent = -math.inf  # when the newest good command was sent
        self._run = False
        self._asked: int | None = None  # the newest engagement number
        self._released = False  # seen since the last stop
        self._stopped = -math.inf  # when STOP was pressed last

    @property
    def moving(self) -> bool:
        """Whether commands are followed."""
        return self.state in (State.ENGAGED, State.DEGRADED)

    def age(self, now: float) -> float:
        """Seconds since the newest good command was sent, infinite when there is none."""
        return now - self._sent

    def command(self, now: float, sent: float, run: bool, engagement: int) -> None:
        """A good command has come: by the own clock it was sent at `sent`."""
        if not self._goes_forward(now):
            return
        self._sent = max(self._sent, min(sent, now))
        if self._asked is None:
            # The first number a master shows asks for nothing: it may be an old one.
            self.engagement = engagement
        self._run = run
        self._asked = engagement
        if sent < self._stopped:
            self.engagement = max(self.engagement, engagement)
        if not run:
            if self.moving:
                self._stop(now, State.IDLE, Cause.RELEASED)
            self._released = self._released or sent >= self._stopped

    def fault(self, now: float, cause: Cause, detail: str = "") -> None:
        """Something is wrong; while following this means HOLD at once, and STOP always does."""
        if cause not in FAULTS:
            raise ValueError(f"{cause} is no fault")
        self._now = max(self._now, now)
        if cause is Cause.STOP:
            self._stopped = self._now
        if self.moving or cause is Cause.STOP:
            self._stop(self._now, State.HOLD, cause, detail)

    def restart(self) -> None:
        """Another master, or the same after its link was lost: it begins from nothing."""
        self._sent = -math.inf
        self._run = self._released = False
        self._asked = None

    def tick(self, now: float, obstacle: str = "") -> Verdict:
        """What may be done at `now`; an obstacle is a reason not to begin."""
        before = self._now
        if not self._goes_forward(now):
            return Verdict(self.state, 0.0)
        if now - before > self.rules.late:
            self.fault(now, Cause.LATE, f"{1e3 * (now - before):.0f} ms between two ticks")
        age = self.age(now)
        if self.moving:
            self._watch(now, age)
        elif self._run:
            self._engage(now, age, obstacle)
        return Verdict(self.state, self._share(age))

    def _watch(self, now: float, age: float) -> None:
        rules = self.rules
        if age > rules.stale:
            self._stop(now, State.HOLD, Cause.STALE, f"the newest is {1e3 * age:.0f} ms old")
        elif self.state is State.ENGAGED and age > rules.degrade:
            self._go(now, State.DEGRADED, Cause.OLD, f"{1e3 * age:.0f} ms")
        elif self.state is State.DEGRADED and age < rules.recover:
            self._go(now, State.ENGAGED, Cause.FRESH)

    def _engage(self, now: float, age: float, obstacle: str) -> None:
        asked = self._asked or 0
        if asked <= self.engagement:
            self.refusal = "release, then press and hold to resume"
        elif not self._released:
            self.refusal = "release first, then press and hold"
        elif age > self.rules.degrade:
            self.refusal = (
                f"commands are {1e3 * age:.0f} ms old; at most {1e3 * self.rules.degrade:.0f} ms"
            )
        elif obstacle:
            self.refusal = obstacle
        else:
            self.refusal = ""
            self._released = False
            self.engagement = asked
            self._go(now, State.ENGAGED, Cause.ENGAGED)

    def _share(self, age: float) -> float:
        if self.state is State.ENGAGED:
            return 1.0
        if self.state is not State.DEGRADED:
            return 0.0
        rules = self.rules
        part = (age - rules.degrade) / (rules.stale - rules.degrade)
        return 1.0 + (rules.slowest - 1.0) * min(max(part, 0.0), 1.0)

    def _goes_forward(self, now: float) -> bool:
        """Take the time; a clock that went back is a fault like any other."""
        if now >= self._now:
            self._now = now
            return True
        if self.moving:
            detail = f"the follower's own went back by {1e3 * (self._now - now):.0f} ms"
            self._stop(self._now, State.HOLD, Cause.CLOCK, detail)
        return False

    def _stop(self, now: float, state: State, cause: Cause, detail: str = "") -> None:
        self._released, self.refusal = False, ""
        self.engagement = max(self.engagement, self._asked or 0)
        self._go(now, state, cause, detail)

    def _go(self, now: float, state: State, cause: Cause, detail: str = "") -> None:
        transition = Transition(now, self.state, state, cause, detail)
        self.state, self.cause, self.detail = state, cause, detail
        if transition.before is state:  # STOP in HOLD: another cause, but no other state
            return
        self.log.append(transition)
        if self.on_transition is not None:
            self.on_transition(transition)
