"""Safety state machine of the follower; it performs no I/O, and the time is an argument.

    IDLE ──engage──► ENGAGED ◄──► DEGRADED
       ▲   ◄─release──┘    │            │         ENGAGED   follows
       │                   └─► HOLD ◄───┘         DEGRADED  follows, slower with older data
       └ no motion             │  ▲               HOLD      brakes and stays at rest until an
                               └──┘ engage                  explicit new engagement

Motion starts only if all of these conditions are met:

* a command without the run flag (enable switch released) was received since the last stop, which is
  the last change to IDLE or HOLD;
* a new command has the run flag and is not older than `degrade`;
* its engagement number is higher than all numbers received before the last stop;
* there is no obstacle, for example a follower that is still braking.

A stuck switch, or a master that reconnects with the switch held, therefore causes no motion.

When the operator releases the switch, the state changes to IDLE.  After a fault it changes to HOLD.
Faults are: the newest valid command is older than `stale`, at least `gap` sequence numbers are
missing, a clock jumped, the link is lost, the master position jumped or cannot be followed, the
control loop was late, or STOP.  After the last valid command was sent, HOLD is guaranteed within
`stale` plus the longest interval between two ticks.  With the defaults and a loop of at least 33 Hz
this is 150 ms.

STOP changes to HOLD from every state, while another fault does so only if the follower follows
commands.  After STOP, all commands sent before it are ignored, including a pending engagement.

Every change of state is a `Transition` with its cause, stored in `log` and passed to
`on_transition`.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntEnum

from brazo.checks import positive
from brazo.errors import BrazoError


class SafetyState(IntEnum):
    """State of the safety state machine; see the module docstring."""

    IDLE = 0
    ENGAGED = 1
    DEGRADED = 2
    HOLD = 3


class Cause(Enum):
    """Cause of a state change; the value is the text shown to the operator."""

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


# Causes that `Safety.fault` accepts.
FAULTS = frozenset(
    {Cause.GAP, Cause.CLOCK, Cause.LINK, Cause.JUMP, Cause.LOST, Cause.LATE, Cause.STOP}
)


@dataclass(frozen=True, slots=True)
class Rules:
    """Limits of the safety state machine.

    `degrade`, `recover` and `stale` are limits of the age (s): the time since the newest valid
    command was sent.
    """

    degrade: float = 0.05  # older: reduce speed
    recover: float = 0.03  # younger: full speed again
    stale: float = 0.12  # older: HOLD
    late: float = 0.1  # between two ticks: HOLD
    slowest: float = 0.1  # fraction of full speed just before data is stale
    gap: int = 25  # missing sequence numbers in a row: HOLD

    @classmethod
    def over(cls, delay: float) -> Rules:
        """Return rules for a link with a one-way delay of up to `delay` seconds.

        The delay is added to all age limits, so the guaranteed time until HOLD increases by
        `delay`.
        """
        positive(delay, "delay (s)", zero=True)
        plain = cls()
        return cls(
            plain.degrade + delay, plain.recover + delay, plain.stale + delay, plain.late,
            plain.slowest, plain.gap,
        )  # fmt: skip

    def __post_init__(self) -> None:
        for name in ("degrade", "recover", "stale", "late", "slowest"):
            value = getattr(self, name)
            positive(value, name)
        if not self.recover <= self.degrade < self.stale:
            raise BrazoError(
                f"recover {self.recover:g}, degrade {self.degrade:g} and stale {self.stale:g} s "
                "must be in ascending order: recover ≤ degrade < stale"
            )
        if self.slowest > 1.0:
            raise BrazoError(
                f"slowest is {self.slowest:g}; it must be a fraction of full speed, at most 1"
            )
        if self.gap < 1:
            raise BrazoError(f"gap is {self.gap}; it must be at least 1")


@dataclass(frozen=True, slots=True)
class Transition:
    """Change of the safety state, with its time and cause."""

    t: float  # s
    before: SafetyState
    after: SafetyState
    cause: Cause
    detail: str = ""

    def __str__(self) -> str:
        more = f": {self.detail}" if self.detail else ""
        return f"{self.before.name} → {self.after.name}, {self.cause.value}{more}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Safety state of the current cycle and the allowed fraction of full speed."""

    state: SafetyState
    share: float  # fraction of full speed; 0 means brake and stay at rest

    @property
    def follow(self) -> bool:
        return self.share > 0.0


class Safety:
    """Safety state machine of one follower; `now` (s) is the start time on a monotonic clock."""

    def __init__(
        self,
        rules: Rules | None = None,
        now: float = 0.0,
        on_transition: Callable[[Transition], None] | None = None,
    ) -> None:
        self.rules = rules or Rules()
        self.state = SafetyState.IDLE
        self.cause = Cause.RELEASED
        self.detail = ""
        self.log: deque[Transition] = deque(maxlen=1000)
        self.on_transition = on_transition
        self.refusal = ""  # reason why the last requested engagement did not start
        self.engagement = 0  # last number used
        self._now = now
        self._sent = -math.inf  # send time of the newest valid command
        self._run = False
        self._asked: int | None = None  # newest engagement number
        self._released = False  # a release was received since the last stop
        self._stopped = -math.inf  # time of the last STOP

    @property
    def moving(self) -> bool:
        """Whether the follower follows commands (ENGAGED or DEGRADED)."""
        return self.state in (SafetyState.ENGAGED, SafetyState.DEGRADED)

    def age(self, now: float) -> float:
        """Return the age (s) of the newest valid command; infinite if there is none."""
        return now - self._sent

    def command(self, now: float, sent: float, run: bool, engagement: int) -> None:
        """Process a valid command.

        `sent` is its sending time (s) on the follower's clock, and `run` is True while the enable
        switch is held.  An `engagement` number higher than before requests a new engagement; the
        first number of a connection requests none.
        """
        if not self._goes_forward(now):
            return
        self._sent = max(self._sent, min(sent, now))
        if self._asked is None:
            # The first number of a master requests nothing, because it may be an old one.
            self.engagement = engagement
        self._run = run
        self._asked = engagement
        if sent < self._stopped:
            self.engagement = max(self.engagement, engagement)
        if not run:
            if self.moving:
                self._stop(now, SafetyState.IDLE, Cause.RELEASED)
            self._released = self._released or sent >= self._stopped

    def fault(self, now: float, cause: Cause, detail: str = "") -> None:
        """Process a fault: change to HOLD if the follower follows commands.

        The cause STOP changes to HOLD from every state.
        """
        if cause not in FAULTS:
            raise ValueError(f"{cause} is not a fault")
        self._now = max(self._now, now)
        if cause is Cause.STOP:
            self._stopped = self._now
        if self.moving or cause is Cause.STOP:
            self._stop(self._now, SafetyState.HOLD, cause, detail)

    def restart(self) -> None:
        """Discard the commands of the last connection; called when the connection changes."""
        self._sent = -math.inf
        self._run = self._released = False
        self._asked = None

    def tick(self, now: float, obstacle: str = "") -> Verdict:
        """Update the state for time `now` (s) and return it with the allowed speed.

        A non-empty `obstacle` is the reason why the follower must not engage.
        """
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
            self._stop(now, SafetyState.HOLD, Cause.STALE, f"the newest is {1e3 * age:.0f} ms old")
        elif self.state is SafetyState.ENGAGED and age > rules.degrade:
            self._go(now, SafetyState.DEGRADED, Cause.OLD, f"{1e3 * age:.0f} ms")
        elif self.state is SafetyState.DEGRADED and age < rules.recover:
            self._go(now, SafetyState.ENGAGED, Cause.FRESH)

    def _engage(self, now: float, age: float, obstacle: str) -> None:
        asked = self._asked or 0
        if asked <= self.engagement:
            self.refusal = "release, then press and hold to resume"
        elif not self._released:
            self.refusal = "release first, then press and hold"
        elif age > self.rules.degrade:
            self.refusal = (
                f"commands are {1e3 * age:.0f} ms old; at most {1e3 * self.rules.degrade:.0f} ms "
                "are allowed"
            )
        elif obstacle:
            self.refusal = obstacle
        else:
            self.refusal = ""
            self._released = False
            self.engagement = asked
            self._go(now, SafetyState.ENGAGED, Cause.ENGAGED)

    def _share(self, age: float) -> float:
        if self.state is SafetyState.ENGAGED:
            return 1.0
        if self.state is not SafetyState.DEGRADED:
            return 0.0
        rules = self.rules
        part = (age - rules.degrade) / (rules.stale - rules.degrade)
        return 1.0 + (rules.slowest - 1.0) * min(max(part, 0.0), 1.0)

    def _goes_forward(self, now: float) -> bool:
        """Update the time; return False if the clock went back, which is a fault."""
        if now >= self._now:
            self._now = now
            return True
        if self.moving:
            detail = f"the follower's clock went back by {1e3 * (self._now - now):.0f} ms"
            self._stop(self._now, SafetyState.HOLD, Cause.CLOCK, detail)
        return False

    def _stop(self, now: float, state: SafetyState, cause: Cause, detail: str = "") -> None:
        self._released, self.refusal = False, ""
        self.engagement = max(self.engagement, self._asked or 0)
        self._go(now, state, cause, detail)

    def _go(self, now: float, state: SafetyState, cause: Cause, detail: str = "") -> None:
        transition = Transition(now, self.state, state, cause, detail)
        self.state, self.cause, self.detail = state, cause, detail
        if transition.before is state:  # STOP in HOLD: new cause, same state
            return
        self.log.append(transition)
        if self.on_transition is not None:
            self.on_transition(transition)
