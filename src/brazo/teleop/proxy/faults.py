"""Network faults, and the script that schedules them.

    seed: 7
    steps:
      - {at: 0s, delay: 20ms, jitter: 5ms}
      - {at: 3s, for: 2s, loss: 0.01, stall: 200ms, way: up}
      - {at: 6s, for: 500ms, half_open: true}
      - {at: 8s, cut: true}
      - {at: 8s, for: 2s, refuse: true}

Time starts at the first connection.  A step is active from `at`, for the duration `for` or until
the end.  If two active steps set the same fault, the one that started later applies.  `way` is `up`
(master to follower), `down` or `both`.
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

Way = Literal["up", "down"]
WAYS: tuple[Way, Way] = ("up", "down")


@dataclass(frozen=True, slots=True)
class Faults:
    """Faults of one direction at one time; the defaults are no faults."""

    delay: float = 0.0  # s, of every frame
    jitter: float = 0.0  # s, added to it, uniform between 0 and this; frames keep their order
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
                raise BrazoError(f"{name} is {getattr(self, name)}; wanted a share, 0 to 1")
        for name in ("delay", "jitter", "stall", "overtaken"):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise BrazoError(f"{name} is {getattr(self, name)}; wanted seconds, at least 0")
        if not self.throttle > 0.0:
            raise BrazoError(f"throttle is {self.throttle}; wanted bytes a second, above 0")


NONE = Faults()
_NAMES = [f.name for f in fields(Faults)]
_TIMES = ("delay", "jitter", "stall", "overtaken")
_FLAGS = ("freeze", "half_open")
_EVENTS = ("cut", "refuse")


@dataclass(frozen=True, slots=True)
class FaultStep:
    """One step of a script."""

    at: float  # s
    until: float = math.inf
    ways: tuple[Way, ...] = WAYS
    faults: Mapping[str, Any] = field(default_factory=dict)  # fields of `Faults`
    cut: bool = False  # every connection is reset at `at`
    refuse: bool = False  # new connections are refused

    def acts(self, t: float) -> bool:
        return self.at <= t < self.until

    def __str__(self) -> str:
        said = [f"{name} {value:g}" for name, value in self.faults.items()]
        said += [name for name in _EVENTS if getattr(self, name)]
        way = "" if len(self.ways) == 2 else f" ({self.ways[0]})"
        span = "" if math.isinf(self.until) else f" for {self.until - self.at:g} s"
        return ", ".join(said) + way + span


@dataclass(frozen=True, slots=True)
class Script:
    """Steps, sorted by start time."""

    steps: tuple[FaultStep, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        ordered = tuple(sorted(self.steps, key=lambda step: step.at))
        object.__setattr__(self, "steps", ordered)

    def faults(self, way: Way, t: float) -> Faults:
        """Return the faults of a direction at time t (s)."""
        found: dict[str, Any] = {}
        for step in self.steps:
            if way in step.ways and step.acts(t):
                found.update(step.faults)
        return Faults(**found) if found else NONE

    def thaw(self, way: Way, t: float) -> float:
        """Return the time (s) at which a freeze active at time t ends."""
        while self.faults(way, t).freeze:
            ends = [s.until for s in self.steps if way in s.ways and s.acts(t)]
            begins = [s.at for s in self.steps if way in s.ways and s.at > t]
            t = min([*ends, *begins])
            if math.isinf(t):
                break
        return t

    def refuses(self, t: float) -> bool:
        """Return whether new connections are refused at time t (s)."""
        return any(step.refuse and step.acts(t) for step in self.steps)


def load_script(path: str | Path) -> Script:
    """Read a script from a YAML file."""
    return _script(read_document(Path(path)))


def parse_script(text: str) -> Script:
    """Read a script from YAML text."""
    return _script(parse_document(text))


def _script(root: Field) -> Script:
    given = root.mapping(("seed", "steps"))
    seed = 0
    if "seed" in given:
        number = given["seed"].number(at_least=0.0)
        if number != int(number):
            given["seed"].fail(f"{number:g} is not a whole number")
        seed = int(number)
    if "steps" not in given:
        root.fail("no steps; wanted steps: a list of {at: …, delay: …}")
    return Script(tuple(map(_step, given["steps"].items())), seed)


def _step(item: Field) -> FaultStep:
    given = item.mapping(("at", "for", "way", *_NAMES, *_EVENTS))
    if "at" not in given:
        item.fail("a step needs its start time: at")
    at = given["at"].number(units.TIME, at_least=0.0)
    until = math.inf
    if "for" in given:
        until = at + given["for"].number(units.TIME, above=0.0)
    ways = WAYS
    if "way" in given:
        way = given["way"].choice("up", "down", "both")
        ways = WAYS if way == "both" else (way,)
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
        item.fail(f"a step does something: {', '.join((*_NAMES, *_EVENTS))}")
    return FaultStep(at, until, ways, faults, **events)  # type: ignore[arg-type]
