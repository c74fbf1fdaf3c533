"""Contact and grasp events of a running world, and subscriptions to them.

Contacts are tracked by pair of parts.  The phases are *warning* (the pair enters the warning zone),
*begin* (it touches) and *end* (it separates).  Grasps are tracked by gripper: *grasped* and
*released*.  Callbacks are called with the event in the step that caused it, in the order of
subscription.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from brazo.errors import BrazoError
from brazo.world.contact_pattern import NEAR, TOUCHING, Pair
from brazo.world.contacts import (
    CLASSES,
    Contact,
    ContactClass,
    Contacts,
    KeptContacts,
)

Event = TypeVar("Event")
Phase = Literal["warning", "begin", "end"]
_PHASES: dict[tuple[int, int], Phase] = {
    (0, NEAR): "warning",
    (0, TOUCHING): "begin",
    (NEAR, TOUCHING): "begin",
    (TOUCHING, NEAR): "end",
}


@dataclass(frozen=True, slots=True, eq=False)
class ContactEvent:
    """A pair of parts came near, touched or separated; `contact` is its deepest point."""

    phase: Phase
    time: float
    contact: Contact  # for "end" events the last known contact


@dataclass(frozen=True, slots=True, eq=False)
class GraspEvent:
    """A gripper grasped or released a body."""

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

    def notify(self, event: Event) -> None:
        """Call the callback if the event passes the filter."""
        if self._wanted is None or self._wanted(event):
            self._callback(event)

    def cancel(self) -> None:
        """Stop the calls; further calls of `cancel` have no effect."""
        self._bus.remove(self)


class Bus(Generic[Event]):
    """Subscriptions to one type of event."""

    def __init__(self) -> None:
        self._subscribers: list[Subscription[Event]] = []

    def __bool__(self) -> bool:
        return bool(self._subscribers)

    def __contains__(self, subscription: object) -> bool:
        return subscription in self._subscribers

    def subscribe(
        self,
        callback: Callable[[Event], object],
        wanted: Callable[[Event], bool] | None = None,
    ) -> Subscription[Event]:
        if not callable(callback):
            raise BrazoError(
                f"a callback must be a function that takes the event, not {callback!r}"
            )
        subscription = Subscription(self, callback, wanted)
        self._subscribers.append(subscription)
        return subscription

    def remove(self, subscription: Subscription[Event]) -> None:
        if subscription in self._subscribers:
            self._subscribers.remove(subscription)

    def publish(self, event: Event) -> None:
        for subscription in tuple(self._subscribers):
            subscription.notify(event)


class ContactFollower:
    """Conversion of the contact levels of successive steps to events."""

    def __init__(self) -> None:
        self.levels: dict[Pair, int] = {}
        self._last: KeptContacts | None = None

    def events(
        self, levels: dict[Pair, int], contacts: Callable[[], Contacts], data: Any, time: float
    ) -> list[ContactEvent]:
        """Return the events since the last call; `contacts` reads the current contacts in full."""
        before, last = self.levels, self._last
        self.adopt(levels, data, time)
        phases: dict[Pair, Phase] = {
            pair: phase
            for pair, level in levels.items()
            if (phase := _PHASES.get((before.get(pair, 0), level))) is not None
        }
        gone = [pair for pair, level in before.items() if pair not in levels and level == TOUCHING]
        if not phases and not gone:
            return []
        now = contacts()
        found = [ContactEvent(p, now.time, _deepest(now, pair)) for pair, p in phases.items()]
        if gone and last is not None:
            then = now.reader.read_kept(last, last.forces, last.time)
            found += [ContactEvent("end", now.time, _deepest(then, pair)) for pair in gone]
        return found

    def keep(self, data: Any, time: float) -> None:
        """Copy the contacts, for "end" events of contacts that are missing in the next step."""
        if TOUCHING in self.levels.values():
            self._last = KeptContacts(data.contact, data.efc_force, time)

    def adopt(self, levels: dict[Pair, int], data: Any, time: float) -> None:
        """Set the current levels without creating events."""
        self.levels = levels
        self.keep(data, time)


def _deepest(contacts: Contacts, pair: Pair) -> Contact:
    found = [(row[3], i) for i, row in enumerate(contacts.rows) if row[1:3] == pair]
    return contacts[max(found)[1]]


def wanted_classes(kinds: Collection[ContactClass] | None) -> frozenset[str]:
    """Validate the contact classes of a subscription; None selects all."""
    if kinds is None:
        return frozenset(CLASSES)
    unknown = [kind for kind in kinds if kind not in CLASSES]
    if unknown:
        raise BrazoError(f"no contact class '{unknown[0]}'; choose from {', '.join(CLASSES)}")
    return frozenset(kinds)
