"""Events of a run and callbacks that are called with them.

`contact_event` and `grasp_event` convert contact and grasp events of the world to events of a run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from brazo.errors import BrazoError
from brazo.world import ContactEvent, GraspEvent

_CONTACT_VERBS = {"warning": "comes near", "begin": "touches", "end": "separates from"}


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a run: `kind` is a keyword to filter by, `text` is the message.

    Fields can be read as attributes (`event.kind`) or by key (`event["kind"]`).  The entries of
    `data` can be read in the same way (`event.robot`).  Events of a recording have the same
    interface.
    """

    t: float  # s
    kind: str
    text: str
    data: dict[str, Any] = field(default_factory=dict)

    def row(self) -> dict[str, Any]:
        """Return the event as a dict, as it is stored in a recording."""
        return {"t": self.t, "kind": self.kind, "text": self.text, **self.data}

    # The interface of a recorded event: access by key, and to entries of `data` by attribute.

    def __getitem__(self, key: str) -> Any:
        return self.row()[key]

    def __contains__(self, key: object) -> bool:
        return key in self.row()

    def keys(self) -> list[str]:
        """Return the names of the fields."""
        return list(self.row())

    def get(self, key: str, default: Any = None) -> Any:
        """Return the field `key`, or `default` if the event has no such field."""
        return self.row().get(key, default)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name != "data" and name in self.data:
            return self.data[name]
        raise AttributeError(f"event has no field '{name}'; fields: {', '.join(self.keys())}")


class Listening:
    """A registered callback; it is called with every event until `cancel` is called."""

    def __init__(self, log: EventLog, callback: Callable[[Event], object]) -> None:
        self._log = log
        self._callback = callback

    def notify(self, event: Event) -> None:
        self._callback(event)

    def cancel(self) -> None:
        """Stop calling the callback; calling `cancel` again has no effect."""
        self._log.remove(self)


class EventLog:
    """All events of a run in order of time, and the callbacks for new events."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._listeners: list[Listening] = []

    def add(self, event: Event) -> Event:
        self.events.append(event)
        for listener in tuple(self._listeners):
            listener.notify(event)
        return event

    def listen(self, callback: Callable[[Event], object]) -> Listening:
        if not callable(callback):
            raise BrazoError(
                f"a callback must be a function that takes the event, not {callback!r}"
            )
        listener = Listening(self, callback)
        self._listeners.append(listener)
        return listener

    def remove(self, listener: Listening) -> None:
        if listener in self._listeners:
            self._listeners.remove(listener)


def contact_event(event: ContactEvent) -> tuple[str, str, dict[str, Any]]:
    """Return the kind, text and data of the event that reports a change of a contact."""
    contact = event.contact
    data = {"first": contact.first, "second": contact.second, "between": contact.kind}
    text = f"{contact.first} {_CONTACT_VERBS[event.phase]} {contact.second}"
    return f"contact {event.phase}", text, data


def grasp_event(event: GraspEvent) -> tuple[str, str, dict[str, Any]]:
    """Return the kind, text and data of the event that reports a grasp or a release."""
    verb = "holds" if event.phase == "grasped" else "releases"
    text = f"{event.robot} {verb} {event.body}"
    return event.phase, text, {"robot": event.robot, "body": event.body}
