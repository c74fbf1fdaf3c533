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
from brazo.world.grasps import GraspReader
from brazo.world.tally import Pair, Tally


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
        self.readers: dict[str, GraspReader] = {}
        self._clamps: list[Clamp] = []
        self.tally: Tally
        self._stale = False
        self.held: dict[str, str | None] = {}  # by robot, in the last step looked at
        self.gripped = True  # a pad pressed on something then, or something was held
        self.table = np.zeros((0, 3))  # by clamp: which body (-1 none), force, welded
        self._watched: list[tuple[str, GraspReader, np.ndarray]] = []

    def bind(
        self, reader: ContactReader, readers: dict[str, GraspReader], bodies: Sequence[str]
    ) -> None:
        self.tally = Tally(reader, self._wanted)
        self.readers = readers
        self._clamps = [grasp.clamp for grasp in readers.values()]
        for grasp in readers.values():
            grasp.watch(self.tally)
        self.table = np.zeros((len(readers), 3))
        self._watched = [(name, r, self.table[i]) for i, (name, r) in enumerate(readers.items())]
        self.held = dict.fromkeys(readers)
        self._numbers = {None: -1.0, **{name: float(i) for i, name in enumerate(bodies)}}

    @property
    def plain(self) -> bool:
        """Whether a step in which no level and no grasp changes needs no look at all."""
        return self.watches and not self._vanish and not any(clamp.weld for clamp in self._clamps)

    @property
    def levels(self) -> dict[Pair, int]:
        """How near pairs of parts are, as was told last."""
        return self._follower.levels

    def held_numbers(self) -> list[int]:
        """What every clamp holds: the place of the body in the cell, -1 none."""
        return [int(self._numbers[self.held[name]]) for name in self.readers]

    def values(self, robot: str) -> np.ndarray:
        """A clamp's row of `table`."""
        return next(values for name, _, values in self._watched if name == robot)

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
        self.tally.want(self._wanted)
        self._vanish = bool(self._wanted & {"object-object", "object-fixture"})
        return taken

    def on_grasp(self, callback: Callable[[GraspEvent], object]) -> Subscription[GraspEvent]:
        return self._grasps.subscribe(callback)

    def observe(self, contacts: Callable[[], Contacts], time: float, model: Any, data: Any) -> None:
        """Look at a step that was just made; `contacts` reads its contacts in full."""
        levels = self.tally.count(data)
        for clamp in self._clamps:
            if clamp.weld:
                self.readers[clamp.robot].apply_weld_rule(contacts, model, data)
        self._stale = False
        if self.gripped or self.tally.presses:
            for event in self._grips(time, data):
                self._grasps.publish(event)
        if self._stale:
            return  # a callback edited, restored or reset the world: all this is of the past
        if levels is not self._follower.levels and levels != self._follower.levels:
            for event in self._follower.events(levels, contacts, data, time):
                self._contacts.publish(event)
        elif self._vanish:
            self._follower.keep(data, time)

    def look(self, contacts: Contacts, data: Any) -> None:
        """Take a moment as known, so that no event tells of it."""
        self._stale = self.gripped = True
        self._follower.look(self.tally.count(data), data, contacts.time)
        for name, reader, values in self._watched:
            grasp = reader.read(contacts, data)
            self.held[name] = grasp.held
            values[:] = self._numbers[grasp.held], grasp.force, grasp.welded

    def _grips(self, time: float, data: Any) -> list[GraspEvent]:
        """What the clamps hold now, and what changed about it."""
        events: list[GraspEvent] = []
        held = self.held
        for name, reader, values in self._watched:
            before = held[name]
            body, force = reader.grip(data, before)
            values[1] = force
            if reader.clamp.weld:
                values[2] = reader.welded(data) is not None
            if body == before:
                continue
            held[name], values[0] = body, self._numbers[body]
            if before is not None:
                events.append(GraspEvent("released", time, name, before))
            if body is not None:
                events.append(GraspEvent("grasped", time, name, body))
        self.gripped = self.tally.presses or any(held.values())
        return events
