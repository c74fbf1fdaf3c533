"""Events as lanes over time: spans with a start and an end, and marks at single times.

Contacts, grasps and faults are spans; all contacts of a pair of bodies share a lane.  Steps, notes
and controllers of a robot form sequences of spans.  Other events are marks in the lane of their
kind.  Warnings (kinds that end in `warning`) are omitted.  The lane of a robot's controllers is
omitted if the controller never changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from brazo.recording.source import event_time

BEGIN, END, WARNING = " begin", " end", " warning"
# Kinds that last until the next event of the same robot, and the names of their lanes.
SEQUENCES = {"step": "steps", "note": "notes", "control": "controller"}


@dataclass(frozen=True, slots=True)
class Span:
    """Time interval (s) with a text."""

    start: float
    stop: float
    text: str = ""


@dataclass(slots=True)
class Lane:
    """Lane of a timeline: events of one kind, of one robot, or between one pair of bodies."""

    name: str
    kind: str  # "sequence", "hold", "contact" or the kind of its events
    spans: list[Span] = field(default_factory=list)
    marks: list[tuple[float, str]] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Number of spans and marks."""
        return len(self.spans) + len(self.marks)


def lanes(events: Iterable[Mapping[str, Any]], end: float) -> list[Lane]:
    """Return the events sorted into lanes; spans without an end last until `end` (s).

    The sequences of each robot (steps, notes, controllers) come first, then marks and faults, then
    grasps, then contacts.
    """
    found: dict[tuple[str, str], Lane] = {}
    active: dict[tuple[str, str, str], tuple[float, str, Lane]] = {}

    def lane(kind: str, name: str) -> Lane:
        return found.setdefault((kind, name), Lane(name, kind))

    def close(key: tuple[str, str, str], t: float) -> None:
        if key in active:
            start, text, where = active.pop(key)
            where.spans.append(Span(start, t, text))

    for event in sorted(events, key=event_time):
        t, kind = event_time(event), str(event.get("kind", ""))
        if kind in ("grasped", "released"):
            robot, body = str(event.get("robot", "?")), str(event.get("body", "?"))
            key = ("hold", robot, body)
            close(key, t)
            if kind == "grasped":
                active[key] = (t, body, lane("hold", f"{robot} holds"))
        elif kind.endswith((BEGIN, END)) and "first" in event and "second" in event:
            first, second = str(event["first"]), str(event["second"])
            key = ("contact", first, second)
            close(key, t)
            if kind.endswith(BEGIN):
                pair = f"{_owner(first)} touches {_owner(second)}"
                active[key] = (t, "", lane("contact", pair))
        elif kind in ("fault", "fault cleared") and "robot" in event:
            robot = str(event["robot"])
            text = str(event.get("text", "")).removeprefix(f"{robot}: ")
            key = ("fault", robot, text)
            close(key, t)
            if kind == "fault":
                active[key] = (t, text, lane("fault", f"{robot}, faults"))
        elif kind in SEQUENCES and "robot" in event:
            robot = str(event["robot"])
            key = ("sequence", robot, kind)
            close(key, t)
            text = str(event.get("text", "")).removeprefix(f"{robot}: ")
            active[key] = (t, text, lane("sequence", f"{robot}, {SEQUENCES[kind]}"))
        elif not kind.endswith(WARNING):
            lane(kind, kind or "event").marks.append((t, str(event.get("text", ""))))
    for key in list(active):
        close(key, max(end, active[key][0]))
    # A controller that never changes is not shown.
    found = {
        k: one for k, one in found.items() if not (k[1].endswith(", controller") and one.count == 1)
    }
    for one in found.values():
        one.spans.sort(key=lambda span: span.start)
    order = {"sequence": 0, "hold": 2, "contact": 3}
    return sorted(found.values(), key=lambda one: (order.get(one.kind, 1), _robot_first(one)))


def merged(spans: Iterable[Span], gap: float) -> list[Span]:
    """Return the spans; spans with the same text that are at most `gap` (s) apart are merged.

    This removes contact chatter, for example.
    """
    found: list[Span] = []
    for span in sorted(spans, key=lambda one: one.start):
        if found and span.start - found[-1].stop <= gap and span.text == found[-1].text:
            found[-1] = Span(found[-1].start, max(found[-1].stop, span.stop), span.text)
        else:
            found.append(span)
    return found


def overlaps(first: Iterable[Span], second: Iterable[Span]) -> list[Span]:
    """Return the intersections of each span in `first` with the spans in `second` of equal text."""
    found = []
    others = list(second)
    for one in first:
        for other in others:
            start, stop = max(one.start, other.start), min(one.stop, other.stop)
            if start < stop and one.text == other.text:
                found.append(Span(start, stop, one.text))
    return sorted(found, key=lambda span: span.start)


def _robot_first(lane: Lane) -> str:
    return lane.name if lane.kind in ("sequence", "hold") else ""


def _owner(part: str) -> str:
    """Return the robot or body to which a part belongs: `scara1` for `scara1/finger left`."""
    return part.partition("/")[0]
