"""Looks at what each step brought: applies the weld rule and tells those who subscribed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from brazo.world.clamp import Clamp
from brazo.world.contacts import ContactClass, ContactReader, Contacts
from brazo.world.events import (
    Bus,
    ContactEvent,
    ContactFollower,
    GraspEvent,
    Subscription,
    wanted_classes,
)
from brazo.world.grasps import GraspReader, Grip
from brazo.world.tally import Tally


class Observer:
    """Outlives edits of the world: `bind` gives it the clamps of a new model."""

    def __init__(self) -> None:
        self._contacts: Bus[ContactEvent] = Bus()
        self._grasps: Bus[GraspEvent] = Bus()
        self._kinds: dict[Subscription[ContactEvent], frozenset[str]] = {}
        self._wanted: frozenset[str] = frozenset()  # classes anybody subscribed to
        # Parts of robots are listed before they touch and after, and an end tells of the present
        # contact.  Others vanish at once: what an end tells of is kept from the step before.
        self._vanish = False
        self._follower = ContactFollower()
        self._readers: dict[str, GraspReader] = {}
        self._clamps: list[Clamp] = []
        self._tally: Tally
        self._stale = False
        self.grips: dict[str, Grip] = {}  # by robot, of the last step looked at
        self.table = np.zeros((0, 3))  # the same as numbers: which body (-1 none), force, welded

    def bind(
        self, reader: ContactReader, readers: dict[str, GraspReader], bodies: Sequence[str]
    ) -> None:
        self._tally = Tally(reader, self._wanted)
        self._readers = readers
        self._clamps = [grasp.clamp for grasp in readers.values()]
        for grasp in readers.values():
            grasp.watch(self._tally)
        self.table = np.zeros((len(readers), 3))
        self._rows = list(self.table)
        self.grips = {}
        self._numbers = {None: -1.0, **{name: float(i) for i, name in enumerate(bodies)}}

    @property
    def held(self) -> dict[str, str | None]:
        """What each clamp holds."""
        return {robot: grip.body for robot, grip in self.grips.items()}

    @property
    def watches(self) -> bool:
        """Whether a step has to be looked at."""
        if self._contacts or self._grasps:
            return True
        return any(clamp.weld for clamp in self._clamps)

    def on_contact(
        self, callback: Callable[[ContactEvent], object], kinds: Collection[ContactClass] | None
    ) -> Subscription[ContactEvent]:
        wanted = wanted_classes(kinds)
        taken = self._contacts.subscribe(callback, lambda event: event.contact.kind in wanted)
        self._kinds = {one: k for one, k in self._kinds.items() if one in self._contacts}
        self._kinds[taken] = wanted
        self._wanted = frozenset().union(*self._kinds.values())
        self._tally.want(self._wanted)
        self._vanish = bool(self._wanted & {"object-object", "object-fixture"})
        return taken

    def on_grasp(self, callback: Callable[[GraspEvent], object]) -> Subscription[GraspEvent]:
        return self._grasps.subscribe(callback)

    def observe(self, contacts: Callable[[], Contacts], time: float, model: Any, data: Any) -> None:
        """Look at a step that was just made; `contacts` reads its contacts in full."""
        levels = self._tally.count(data)
        for clamp in self._clamps:
            if clamp.weld:
                self._readers[clamp.robot].apply_weld_rule(contacts, model, data)
        self._stale = False
        for event in self._grips(time, data):
            self._grasps.publish(event)
        if self._stale:
            return  # a callback edited, restored or reset the world: all this is of the past
        if levels != self._follower.levels:
            for event in self._follower.events(levels, contacts, data, time):
                self._contacts.publish(event)
        elif self._vanish:
            self._follower.keep(data, time)

    def look(self, contacts: Contacts, data: Any) -> None:
        """Take a moment as known, so that no event tells of it."""
        self._stale = True
        self._follower.look(self._tally.count(data), data, contacts.time)
        for row, (name, reader) in enumerate(self._readers.items()):
            grasp = reader.read(contacts, data)
            self._note(row, name, Grip(grasp.held, grasp.force, grasp.welded))

    def _note(self, row: int, robot: str, grip: Grip) -> None:
        before, self.grips[robot] = self.grips.get(robot), grip
        values = self._rows[row]
        values[1] = grip.force
        if before is None or before.body != grip.body or before.welded != grip.welded:
            values[0], values[2] = self._numbers[grip.body], grip.welded

    def _grips(self, time: float, data: Any) -> list[GraspEvent]:
        """What the clamps hold now, and what changed about it."""
        events: list[GraspEvent] = []
        for row, (name, reader) in enumerate(self._readers.items()):
            before = self.grips[name]
            now = reader.grip(data, before.body)
            if now is before:
                continue
            self._note(row, name, now)
            if now.body == before.body:
                continue
            if before.body is not None:
                events.append(GraspEvent("released", time, name, before.body))
            if now.body is not None:
                events.append(GraspEvent("grasped", time, name, now.body))
        return events
