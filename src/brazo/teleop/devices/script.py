"""`Script`: a master handle moved by a script file, for tests, demonstrations and long runs.

    again: true                                  # engage again after a HOLD, but not after STOP
    steps:
      - {at: 500ms, engage: true}                # press the enable switch and request engagement
      - {at: 1s, for: 2s, move: [0, 50mm, 0]}    # from rest to rest
      - {at: 3s, for: 4s, circle: 30mm, turns: 2, plane: xy}
      - {at: 7s, for: 1s, turn: [0, 0, 20deg]}
      - {at: 8s, for: 1s, clutch: true}
      - {at: 9s, set: {scale: 2}}
      - {at: 9s, grip: 1}
      - {at: 10s, release: true}

A move takes the time `for`.  At the fraction p of this time, the fraction s = 10 p³ − 15 p⁴ + 6 p⁵
of the move is completed, so it starts and ends at rest.  Moves that overlap in time are added.  The
script ends shortly after its last step.  After STOP the handle stays at its position with the
enable switch released until the script ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from brazo import units
from brazo.formats.document import Field, parse_document, read_document
from brazo.teleop.devices.device import HandState
from brazo.teleop.follow.safety import SafetyState

PLANES = {"xy": (0, 1), "yz": (1, 2), "zx": (2, 0)}
ACTIONS = ("engage", "release", "move", "circle", "turn", "clutch", "grip", "set")
_AGAIN = (0.3, 0.3)  # s, time released and then time held before the next attempt
_AFTER = 0.5  # s after the last step


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """One step of a script, active from `at` to `until` (s)."""

    at: float
    until: float
    action: str
    value: Any = None
    turns: float = 1.0
    plane: tuple[int, int] = (0, 1)

    def part(self, t: float) -> float:
        """Return the completed fraction of the motion at time t (s), from 0 to 1."""
        if t <= self.at:
            return 0.0
        p = min((t - self.at) / (self.until - self.at), 1.0) if self.until > self.at else 1.0
        return p * p * p * (10.0 + p * (6.0 * p - 15.0))


class Script:
    """Input device that executes a list of steps.

    If `again` is True, the script engages again after a HOLD of the follower.
    """

    def __init__(
        self, steps: tuple[ScriptStep, ...], again: bool = False, name: str = "script"
    ) -> None:
        self.name = name
        self.steps = tuple(sorted(steps, key=lambda step: step.at))
        self.again = again
        self.seconds = max((step.until for step in steps), default=0.0) + _AFTER
        self._settings_done = 0  # number of steps whose settings were requested
        self._extra = 0  # engagements requested after a HOLD
        self._tried = -math.inf
        self._stop = False
        self._stopped: HandState | None = None  # last input before STOP

    @property
    def resume_hint(self) -> str:
        """Text for the operator that explains how motion resumes after HOLD or STOP."""
        if self._stop:
            return "start the script again"
        return (
            "the script releases and engages again"
            if self.again
            else "wait for the next engage step of the script"
        )

    def stop(self) -> bool:
        """Release the enable switch permanently; return True on the first call."""
        before, self._stop = self._stop, True
        return not before

    def read(self, t: float, state: int) -> HandState:
        """Return the scripted input at time t (s)."""
        if self._stopped is None:
            hand = self._read(t, state)
            if not self._stop:
                return hand
            self._stopped = replace(hand, run=False, settings=())
        return replace(self._stopped, done=t > self.seconds)

    def _read(self, t: float, state: int) -> HandState:
        moved, turned = np.zeros(3), np.zeros(3)
        run, engage, clutch, grip = False, 0, False, None
        settings = []
        for k, step in enumerate(self.steps):
            if t < step.at:
                break
            if step.action == "engage":
                run, engage = True, engage + 1
            elif step.action == "release":
                run = False
            elif step.action == "move":
                moved += step.part(t) * step.value
            elif step.action == "turn":
                turned += step.part(t) * step.value
            elif step.action == "circle":
                i, j = step.plane
                angle = 2.0 * math.pi * step.turns * step.part(t)
                moved[i] += step.value * math.sin(angle)
                moved[j] += step.value * (1.0 - math.cos(angle))
            elif step.action == "clutch":
                clutch = clutch or t < step.until
            elif step.action == "grip":
                grip = step.value
            elif step.action == "set" and k >= self._settings_done:
                settings += list(step.value.items())
                self._settings_done = k + 1
        if run and self.again:
            run = self._after_hold(t, state)
        return HandState(
            moved,
            turned,
            run,
            engage + self._extra,
            clutch,
            grip,
            tuple(settings),
            t > self.seconds,
        )

    def close(self) -> None:
        """Do nothing, because a script uses no hardware."""
        pass

    def _after_hold(self, t: float, state: int) -> bool:
        """Return whether the script holds the enable switch at time t (s).

        If `state` is HOLD, the script releases the switch briefly and requests engagement again.
        """
        free, held = _AGAIN
        if t - self._tried < free:
            return False
        if state == SafetyState.HOLD and t - self._tried > free + held:
            self._tried = t
            self._extra += 1
            return False
        return True


def load_script(path: str | Path) -> Script:
    """Read a script from a YAML file."""
    return _script(read_document(Path(path)), Path(path).stem)


def parse_script(text: str) -> Script:
    """Read a script from YAML text."""
    return _script(parse_document(text), "script")


def _script(root: Field, name: str) -> Script:
    given = root.mapping(("again", "steps"))
    again = "again" in given and given["again"].choice("true", "false") == "true"
    if "steps" not in given:
        root.fail("'steps' is missing; expected a list such as steps: [{at: 1s, for: 2s, move: …}]")
    return Script(tuple(map(_step, given["steps"].items())), again, name)


def _step(item: Field) -> ScriptStep:
    given = item.mapping(("at", "for", "turns", "plane", *ACTIONS))
    if "at" not in given:
        item.fail("a step needs a start time, as in at: 2s")
    chosen = [name for name in ACTIONS if name in given]
    if len(chosen) != 1:
        item.fail(f"a step must have exactly one action of: {', '.join(ACTIONS)}")
    action, what = chosen[0], given[chosen[0]]
    at = given["at"].number(units.TIME, at_least=0.0)
    until = at + (given["for"].number(units.TIME, above=0.0) if "for" in given else 0.0)
    if action in ("move", "circle", "turn", "clutch") and until == at:
        item.fail(f"'{action}' needs a duration, as in for: 2s")
    value: Any = None
    if action == "move":
        value = np.array(what.numbers(3, units.LENGTH))
    elif action == "turn":
        value = np.array(what.numbers(3, units.ANGLE))
    elif action == "circle":
        value = what.number(units.LENGTH, above=0.0)
    elif action == "grip":
        value = what.number(at_least=0.0)
        if value > 1.0:
            what.fail(f"{value:g}; it must be from 0 (open) to 1 (closed)")
    elif action == "set":
        value = {key: _setting(field) for key, field in what.mapping().items()}
    elif what.choice("true") != "true":
        pass
    turns = given["turns"].number(above=0.0) if "turns" in given else 1.0
    plane = PLANES[given["plane"].choice(*PLANES)] if "plane" in given else (0, 1)
    return ScriptStep(at, until, action, value, turns, plane)


def _setting(field: Field) -> Any:
    if field.is_list:
        return tuple(item.number() for item in field.items(16))
    text = field.text(64)
    if text in ("true", "false"):
        return text == "true"
    return field.number()
