"""Contact and grasp events of a running world, and subscriptions to them.

Contacts are tracked for each pair of parts.  The phases are *warning* (the distance falls below the
warning distance), *begin* (the parts touch) and *end* (the parts separate).  Grasps are tracked for
each gripper; the phases are *grasped* and *released*.  Callbacks are called at the end of the step
in which the event occurs, in the order of subscription.
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
    """A pair of parts came near, touched or separated; `contact` is the deepest contact point."""

    phase: Phase
    time: float
    contact: Contact  # the last known contact if there is none now ("end" events)


@dataclass(frozen=True, slots=True, eq=False)
class GraspEvent:
    """A gripper grasped or released a body."""

    phase: Literal["grasped", "released"]
    time: float
    robot: str
    body: str


class Subscription(Generic[Event]):
    """A registered callback; it is called with each event until `cancel` is called."""

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
        """Stop calling the callback; calling `cancel` again has no effect."""
        self._bus.remove(self)


class Bus(Generic[Event]):
    """The subscriptions to one type of event; `publish` notifies all of them."""

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
    """Generator of contact events from the contact levels of successive steps.

    The contact level of a pair of parts is `NEAR` (closer than the warning distance) or
    `TOUCHING`.  Pairs that are farther apart have no level.
    """

    def __init__(self) -> None:
        self.levels: dict[Pair, int] = {}
        self._last: KeptContacts | None = None

    def events(
        self, levels: dict[Pair, int], contacts: Callable[[], Contacts], data: Any, time: float
    ) -> list[ContactEvent]:
        """Store the new contact levels; return the events that result from their changes.

        `contacts()` returns the current contacts; it is called only if there are events.
        """
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
        """Store a copy of the engine's contacts at the time `time` (s), if any parts touch.

        If a contact no longer exists in the next step, its "end" event reports this copy.
        """
        if TOUCHING in self.levels.values():
            self._last = KeptContacts(data.contact, data.efc_force, time)

    def adopt(self, levels: dict[Pair, int], data: Any, time: float) -> None:
        """Set the current contact levels without creating events."""
        self.levels = levels
        self.keep(data, time)


def _deepest(contacts: Contacts, pair: Pair) -> Contact:
    found = [(row[3], i) for i, row in enumerate(contacts.rows) if row[1:3] == pair]
    return contacts[max(found)[1]]


def wanted_classes(kinds: Collection[ContactClass] | None) -> frozenset[str]:
    """Return the contact classes `kinds` as a set, or all classes if `kinds` is None.

    Raises `BrazoError` if a class does not exist.
    """
    if kinds is None:
        return frozenset(CLASSES)
    unknown = [kind for kind in kinds if kind not in CLASSES]
    if unknown:
        raise BrazoError(f"no contact class '{unknown[0]}'; choose from {', '.join(CLASSES)}")
    return frozenset(kinds)
