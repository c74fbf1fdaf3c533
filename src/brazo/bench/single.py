"""Single calls from Python, as in a controller or a notebook.

In the report, `fresh` is a call that allocates its result, and `out=` is a call that writes into a
given array.  The time of an empty lambda is measured together with the calls and subtracted, so
that the loop around the calls does not count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from brazo.bench.arms import States, general_arm, puma, states
from brazo.bench.clock import race
from brazo.bench.peers import OPERATIONS, TimedCall, agrees, installed
from brazo.bench.report import Section, Value
from brazo.bench.settings import Settings
from brazo.robot import Robot

__all__ = ["measure"]

_FRAME = "an empty lambda"


def measure(settings: Settings) -> list[Section]:
    return [
        _arm(settings, puma(), "single", "One call, Puma 560"),
        _arm(
            settings, general_arm(), "single_general", "One call, 6R arm without special geometry"
        ),
    ]


def _arm(settings: Settings, arm: Robot, key: str, title: str) -> Section:
    section = Section(key, title)
    at = states(arm, 1)
    peers, notes = installed(arm) if settings.peers else ([], [])
    section.notes += notes
    answers: dict[str, dict[str, TimedCall]] = {peer.name: peer.single(arm, at) for peer in peers}
    for operation in OPERATIONS:
        fresh, into, expected = _own(arm, operation, at)
        contestants: dict[str, Callable[[], Any]] = {"fresh": fresh, "out": into}
        for name, tasks in answers.items():
            if operation not in tasks:
                continue
            if not agrees(expected, tasks[operation].answer()):
                section.notes.append(f"{name} disagrees on {operation} and is not timed")
                continue
            contestants[name] = tasks[operation].call
        seconds = race(settings, {_FRAME: lambda: None, **contestants})
        frame = seconds.pop(_FRAME)
        seconds = {name: value - frame for name, value in seconds.items()}
        row: dict[str, Value] = {
            "operation": operation,
            "fresh [ns]": 1e9 * seconds.pop("fresh"),
            "out= [ns]": 1e9 * seconds.pop("out"),
        }
        for name, value in seconds.items():
            row[f"{name} [ns]"] = 1e9 * value
        for name, value in seconds.items():
            row[f"{name} / fresh"] = 1e9 * value / float(row["fresh [ns]"] or 1)
            row[f"{name} / out="] = 1e9 * value / float(row["out= [ns]"] or 1)
        section.rows.append(row)
    return section


def _own(
    arm: Robot, operation: str, at: States
) -> tuple[Callable[[], Any], Callable[[], Any], np.ndarray]:
    """Return two functions that call brazo, and the expected result.

    The first function allocates a new result, the second one uses `out=`.
    """
    function = getattr(arm, operation)
    last = {"inverse_dynamics": at.qdd, "forward_dynamics": at.tau}
    if operation in last:
        a, b, c = (x[0].copy() for x in (at.q, at.qd, last[operation]))
        out = function(a, b, c)
        return lambda: function(a, b, c), lambda: function(a, b, c, out=out), out
    a = at.q[0].copy()
    out = function(a)
    return lambda: function(a), lambda: function(a, out=out), out
