"""What happened in a run and when: a list of sentences with data, and those who want to hear."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from brazo.errors import BrazoError


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: `kind` is a word to filter by, `text` a sentence to read."""

    t: float  # s
    kind: str
    text: str
    data: dict[str, Any] = field(default_factory=dict)

    def row(self) -> dict[str, Any]:
        """The event as a recording keeps it."""
        return {"t": self.t, "kind": self.kind, "text": self.text, **self.data}


class Listening:
    """A callback that is called with every event until `cancel`."""

    def __init__(self, log: EventLog, callback: Callable[[Event], object]) -> None:
        self._log = log
        self._callback = callback

    def tell(self, event: Event) -> None:
        self._callback(event)

    def cancel(self) -> None:
        """Stop calling; a second time does nothing."""
        self._log.remove(self)


class EventLog:
    """All events of a run, in order."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._listeners: list[Listening] = []

    def add(self, event: Event) -> Event:
        self.events.append(event)
        for listener in tuple(self._listeners):
            listener.tell(event)
        return event

    def listen(self, callback: Callable[[Event], object]) -> Listening:
        if not callable(callback):
            raise BrazoError(f"a callback is a function of the event, not {callback!r}")
        listener = Listening(self, callback)
        self._listeners.append(listener)
        return listener

    def remove(self, listener: Listening) -> None:
        if listener in self._listeners:
            self._listeners.remove(listener)
