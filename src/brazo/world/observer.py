"""Looks at what each step brought: applies the weld rule and tells those who subscribed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from brazo.world.clamp import Clamp
from brazo.world.contacts import ContactClass, Contacts
from brazo.world.events import (
    Bus,
    ContactEvent,
    ContactFollower,
    GraspEvent,
    Subscription,
    wanted_classes,
)
from brazo.world.grasps import GraspReader


class Observer:
    """Outlives edits of the world: `bind` gives it the clamps of a new model."""

    def __init__(self) -> None:
        self._contacts: Bus[ContactEvent] = Bus()
        self._grasps: Bus[GraspEvent] = Bus()
        self._follower = ContactFollower()
        self._readers: dict[str, GraspReader] = {}
        self._clamps: list[Clamp] = []
        self.held: dict[str, str | None] = {}  # by robot

    def bind(self, readers: dict[str, GraspReader], clamps: list[Clamp]) -> None:
        self._readers, self._clamps = readers, clamps

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
        return self._contacts.subscribe(callback, lambda event: event.contact.kind in wanted)

    def on_grasp(self, callback: Callable[[GraspEvent], object]) -> Subscription[GraspEvent]:
        return self._grasps.subscribe(callback)

    def observe(self, contacts: Contacts, model: Any, data: Any) -> None:
        """Look at a step that was just made."""
        for clamp in self._clamps:
            if clamp.weld:
                self._readers[clamp.robot].apply_weld_rule(contacts, model, data)
        if self._grasps:
            for event in self._grasp_changes(contacts, data):
                self._grasps.publish(event)
        if self._contacts:
            for event in self._follower.events(contacts):
                self._contacts.publish(event)

    def look(self, contacts: Contacts, data: Any) -> None:
        """Take a moment as known, so that no event tells of it."""
        self._follower.look(contacts)
        self.held = {name: r.read(contacts, data).held for name, r in self._readers.items()}

    def _grasp_changes(self, contacts: Contacts, data: Any) -> list[GraspEvent]:
        found: list[GraspEvent] = []
        for name, reader in self._readers.items():
            before = self.held.get(name)
            now = reader.read(contacts, data, before).held
            if now == before:
                continue
            if before is not None:
                found.append(GraspEvent("released", contacts.time, name, before))
            if now is not None:
                found.append(GraspEvent("grasped", contacts.time, name, now))
            self.held[name] = now
        return found
