"""Looks at what each step brought: applies the weld rule and tells those who subscribed.

While the pattern of contacts stays (see `brazo.world.pattern`) a grasp needs no more than the
forces on the pads that touch, and the angle; contact events need nothing at all.
"""

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
from brazo.world.grasps import NO_GRIP, GraspReader, Grip
from brazo.world.pattern import Pattern


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
        self._pattern: Pattern
        self._stale = False
        self.grips: dict[str, Grip] = {}  # by robot, of the last step looked at
        self.table = np.zeros((0, 3))  # the same as numbers: which body (-1 none), force, welded

    def bind(
        self, reader: ContactReader, readers: dict[str, GraspReader], bodies: Sequence[str]
    ) -> None:
        self._pattern = Pattern(reader, self._wanted)
        self._readers = readers
        self._clamps = [grasp.clamp for grasp in readers.values()]
        for grasp in readers.values():
            grasp.watch(self._pattern)
        self.table = np.zeros((len(readers), 3))
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
        self._pattern.want(self._wanted)
        self._vanish = bool(self._wanted & {"object-object", "object-fixture"})
        return taken

    def on_grasp(self, callback: Callable[[GraspEvent], object]) -> Subscription[GraspEvent]:
        return self._grasps.subscribe(callback)

    def observe(self, contacts: Callable[[], Contacts], time: float, model: Any, data: Any) -> None:
        """Look at a step that was just made; `contacts` reads its contacts in full."""
        found = data.contact
        changed = self._pattern.changed(found)
        if changed:
            for reader in self._readers.values():
                reader.sort()
        for clamp in self._clamps:
            if clamp.weld:
                self._readers[clamp.robot].apply_weld_rule(contacts, model, data)
        self._stale = False
        for event in self._grips(time, found, data):
            self._grasps.publish(event)
        if self._stale:
            return  # a callback edited, restored or reset the world: all this is of the past
        if changed:
            for event in self._follower.events(self._pattern.levels, contacts, data, time):
                self._contacts.publish(event)
        elif self._vanish:
            self._follower.keep(data, time)

    def look(self, contacts: Contacts, data: Any) -> None:
        """Take a moment as known, so that no event tells of it."""
        self._stale = True
        self._pattern.forget()
        self._pattern.changed(data.contact)
        self._follower.look(self._pattern.levels, data, contacts.time)
        for reader in self._readers.values():
            reader.sort()
        for row, (name, reader) in enumerate(self._readers.items()):
            grasp = reader.read(contacts, data)
            self._note(row, name, Grip(grasp.held, grasp.force, grasp.welded))

    def _note(self, row: int, robot: str, grip: Grip) -> None:
        self.grips[robot] = grip
        self.table[row] = self._numbers[grip.body], grip.force, grip.welded

    def _grips(self, time: float, found: Any, data: Any) -> list[GraspEvent]:
        """What the clamps hold now, and what changed about it."""
        events: list[GraspEvent] = []
        forces: list[float] = []
        addresses: list[int] = []
        grips = self.grips
        for row, (name, reader) in enumerate(self._readers.items()):
            before = grips[name]
            if reader.touches:
                if not forces:
                    forces, addresses = data.efc_force.tolist(), found.efc_address.tolist()
            elif before is NO_GRIP and not reader.clamp.weld:
                continue
            now = reader.grip(forces, addresses, data, before.body)
            self._note(row, name, now)
            if now.body == before.body:
                continue
            if before.body is not None:
                events.append(GraspEvent("released", time, name, before.body))
            if now.body is not None:
                events.append(GraspEvent("grasped", time, name, now.body))
        return events
