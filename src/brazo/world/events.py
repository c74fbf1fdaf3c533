"""Events of a running world and who wants to hear of them.

Contacts are followed by pairs of parts: a pair *warns* when it comes into the warning zone,
*begins* when it touches and *ends* when it parts.  Grasps are followed by clamp: *grasped* and
*released*.
A callback is called with the event, in the step that caused it, in the order of subscription.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import numpy as np

from brazo.errors import BrazoError
from brazo.world.contacts import CLASSES, Contact, ContactClass, Contacts

Event = TypeVar("Event")
NEAR, TOUCHING = 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class ContactEvent:
    """A pair of parts came near, touched or parted; `contact` is its deepest point."""

    phase: Literal["warning", "begin", "end"]
    time: float
    contact: Contact  # at the end: the last one seen


@dataclass(frozen=True, slots=True, eq=False)
class GraspEvent:
    """A clamp took hold of a body or lost it."""

    phase: Literal["grasped", "released"]
    time: float
    robot: str
    body: str


class Subscription(Generic[Event]):
    """A callback that is called until `cancel`."""

    def __init__(
        self,
        bus: Bus[Event],
        callback: Callable[[Event], object],
        wanted: Callable[[Event], bool] | None,
    ) -> None:
        self._bus = bus
        self._callback = callback
        self._wanted = wanted

    def tell(self, event: Event) -> None:
        """Call back, if the event is of the wanted kind."""
        if self._wanted is None or self._wanted(event):
            self._callback(event)

    def cancel(self) -> None:
        """Stop calling; a second time does nothing."""
        self._bus.remove(self)


class Bus(Generic[Event]):
    """Callbacks for one kind of event."""

    def __init__(self) -> None:
        self._subscribers: list[Subscription[Event]] = []

    def __bool__(self) -> bool:
        return bool(self._subscribers)

    def subscribe(
        self,
        callback: Callable[[Event], object],
        wanted: Callable[[Event], bool] | None = None,
    ) -> Subscription[Event]:
        if not callable(callback):
            raise BrazoError(f"a callback is a function of the event, not {callback!r}")
        subscription = Subscription(self, callback, wanted)
        self._subscribers.append(subscription)
        return subscription

    def remove(self, subscription: Subscription[Event]) -> None:
        if subscription in self._subscribers:
            self._subscribers.remove(subscription)

    def publish(self, event: Event) -> None:
        for subscription in tuple(self._subscribers):
            subscription.tell(event)


class ContactFollower:
    """Turns the contacts of successive moments into events."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, Contact]] = {}  # pair -> level, its deepest point

    def events(self, contacts: Contacts) -> list[ContactEvent]:
        """What changed since the last moment."""
        now = self._pairs(contacts)
        found: list[ContactEvent] = []
        for pair, (level, contact) in now.items():
            before = self._known[pair][0] if pair in self._known else 0
            if level == TOUCHING and before != TOUCHING:
                found.append(ContactEvent("begin", contacts.time, contact))
            elif level == NEAR and before == 0:
                found.append(ContactEvent("warning", contacts.time, contact))
            elif level == NEAR and before == TOUCHING:
                found.append(ContactEvent("end", contacts.time, contact))
        for pair, (level, contact) in self._known.items():
            if pair not in now and level == TOUCHING:
                found.append(ContactEvent("end", contacts.time, contact))
        self._known = now
        return found

    def look(self, contacts: Contacts) -> None:
        """Take a moment as it is, without events: after a restart or an edit."""
        self._known = self._pairs(contacts)

    def _pairs(self, contacts: Contacts) -> dict[int, tuple[int, Contact]]:
        if not len(contacts):
            return {}
        codes = contacts.first * len(contacts.names) + contacts.second
        deepest: dict[int, int] = {}
        # The deepest point of a pair comes last and stays.
        for i in np.argsort(contacts.depth, kind="stable").tolist():
            deepest[int(codes[i])] = i
        return {
            pair: (TOUCHING if contacts.depth[i] >= 0.0 else NEAR, contacts[i])
            for pair, i in sorted(deepest.items())
        }


def wanted_classes(kinds: Collection[ContactClass] | None) -> frozenset[str]:
    """Check the classes a subscriber names; none means all."""
    if kinds is None:
        return frozenset(CLASSES)
    unknown = [kind for kind in kinds if kind not in CLASSES]
    if unknown:
        raise BrazoError(f"no class of contact '{unknown[0]}'; choose from {', '.join(CLASSES)}")
    return frozenset(kinds)
