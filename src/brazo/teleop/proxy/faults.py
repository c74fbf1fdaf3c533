"""Network faults, and the script that schedules them.

    seed: 7
    steps:
      - {at: 0s, delay: 20ms, jitter: 5ms}
      - {at: 3s, for: 2s, loss: 0.01, stall: 200ms, direction: up}
      - {at: 6s, for: 500ms, half_open: true}
      - {at: 8s, cut: true}
      - {at: 8s, for: 2s, refuse: true}

Time starts at the first connection.  A step is active from the time `at` for the duration `for`, or
until the end if there is no `for`.  If two active steps set the same fault, the step that started
later applies.  `direction` is `up` (master to follower), `down` (follower to master) or `both`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from brazo import units
from brazo.errors import BrazoError
from brazo.formats.document import Field, parse_document, read_document

Direction = Literal["up", "down"]
DIRECTIONS: tuple[Direction, Direction] = ("up", "down")


@dataclass(frozen=True, slots=True)
class Faults:
    """Network faults of one direction at one time; the default values mean no faults."""

    delay: float = 0.0  # s, of every frame
    jitter: float = 0.0  # s, max additional delay, random and uniform; frames keep their order
    loss: float = 0.0  # fraction of frames lost; on TCP they and all later frames wait
    stall: float = 0.2  # s, until the retransmission
    duplicate: float = 0.0  # fraction of frames that are duplicated
    reorder: float = 0.0  # fraction of frames that are delayed so that later ones overtake,
    overtaken: float = 0.01  # s, by this time
    throttle: float = math.inf  # max bytes per second
    freeze: bool = False  # no data passes; all of it is delivered when this ends
    half_open: bool = False  # all data is dropped while the connection stays open

    def __post_init__(self) -> None:
        for name in ("loss", "duplicate", "reorder"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise BrazoError(f"{name} is {getattr(self, name)}; expected a fraction, 0 to 1")
        for name in ("delay", "jitter", "stall", "overtaken"):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise BrazoError(
                    f"{name} is {getattr(self, name)} s; it must be finite and at least 0 s"
                )
        if not self.throttle > 0.0:
            raise BrazoError(
                f"throttle is {self.throttle} bytes per second; it must be greater than 0"
            )


NONE = Faults()
_NAMES = [f.name for f in fields(Faults)]
_TIMES = ("delay", "jitter", "stall", "overtaken")
_FLAGS = ("freeze", "half_open")
_EVENTS = ("cut", "refuse")


@dataclass(frozen=True, slots=True)
class FaultStep:
    """One step of a fault script, active from `at` to `until` (s)."""

    at: float  # s
    until: float = math.inf
    directions: tuple[Direction, ...] = DIRECTIONS
    faults: Mapping[str, Any] = field(default_factory=dict)  # fields of `Faults`
    cut: bool = False  # every connection is reset at `at`
    refuse: bool = False  # new connections are refused

    def acts(self, t: float) -> bool:
        """Return whether the step is active at time t (s)."""
        return self.at <= t < self.until

    def __str__(self) -> str:
        parts = [f"{name} {value:g}" for name, value in self.faults.items()]
        parts += [name for name in _EVENTS if getattr(self, name)]
        direction = "" if len(self.directions) == 2 else f" ({self.directions[0]})"
        span = "" if math.isinf(self.until) else f" for {self.until - self.at:g} s"
        return ", ".join(parts) + direction + span


@dataclass(frozen=True, slots=True)
class FaultScript:
    """Schedule of network faults: steps sorted by start time, and the seed for random faults."""

    steps: tuple[FaultStep, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        ordered = tuple(sorted(self.steps, key=lambda step: step.at))
        object.__setattr__(self, "steps", ordered)

    def faults(self, direction: Direction, t: float) -> Faults:
        """Return the faults of a direction at time t (s)."""
        found: dict[str, Any] = {}
        for step in self.steps:
            if direction in step.directions and step.acts(t):
                found.update(step.faults)
        return Faults(**found) if found else NONE

    def thaw(self, direction: Direction, t: float) -> float:
        """Return the time (s) at which the fault `freeze` that is active at time t (s) ends.

        The result is t if `freeze` is not active, and infinite if it never ends.
        """
        while self.faults(direction, t).freeze:
            ends = [s.until for s in self.steps if direction in s.directions and s.acts(t)]
            begins = [s.at for s in self.steps if direction in s.directions and s.at > t]
            t = min([*ends, *begins])
            if math.isinf(t):
                break
        return t

    def refuses(self, t: float) -> bool:
        """Return whether new connections are refused at time t (s)."""
        return any(step.refuse and step.acts(t) for step in self.steps)


def load_script(path: str | Path) -> FaultScript:
    """Read a fault script from a YAML file."""
    return _script(read_document(Path(path)))


def parse_script(text: str) -> FaultScript:
    """Read a fault script from YAML text."""
    return _script(parse_document(text))


def _script(root: Field) -> FaultScript:
    given = root.mapping(("seed", "steps"))
    seed = 0
    if "seed" in given:
        number = given["seed"].number(at_least=0.0)
        if number != int(number):
            given["seed"].fail(f"{number:g} is not a whole number")
        seed = int(number)
    if "steps" not in given:
        root.fail("'steps' is missing; expected a list such as steps: [{at: 0s, delay: 20ms}]")
    return FaultScript(tuple(map(_step, given["steps"].items())), seed)


def _step(item: Field) -> FaultStep:
    allowed = ("at", "for", "direction", *_NAMES, *_EVENTS)
    given = item.mapping(allowed, renamed={"way": "direction"})
    if "at" not in given:
        item.fail("a step needs a start time, as in at: 2s")
    at = given["at"].number(units.TIME, at_least=0.0)
    until = math.inf
    if "for" in given:
        until = at + given["for"].number(units.TIME, above=0.0)
    directions = DIRECTIONS
    if "direction" in given:
        direction = given["direction"].choice("up", "down", "both")
        directions = DIRECTIONS if direction == "both" else (direction,)
    faults: dict[str, Any] = {}
    for name in _NAMES:
        if name not in given:
            continue
        if name in _FLAGS:
            faults[name] = given[name].choice("true", "false") == "true"
        else:
            faults[name] = given[name].number(*((units.TIME,) if name in _TIMES else ()))
            try:
                Faults(**{name: faults[name]})
            except BrazoError as error:
                given[name].fail(str(error))
    events = {
        name: name in given and given[name].choice("true", "false") == "true" for name in _EVENTS
    }
    if not faults and not any(events.values()):
        item.fail(f"a step must set at least one of: {', '.join((*_NAMES, *_EVENTS))}")
    return FaultStep(at, until, directions, faults, **events)  # type: ignore[arg-type]
