"""`Observer`: detects contact and grasp events after each step, and applies the weld rule.

The docstring of `brazo.world.grasps` explains the weld rule.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from brazo.world.contact_events import (
    Bus,
    ContactEvent,
    ContactFollower,
    GraspEvent,
    Subscription,
    wanted_classes,
)
from brazo.world.contact_pattern import Pair, Pattern, PatternReader
from brazo.world.contacts import ContactClass, ContactReader, Contacts
from brazo.world.grasps import GraspReader
from brazo.world.gripper import WorldGripper


class Observer:
    """Tracker of contacts and grasps that publishes their changes as events.

    When the world is edited, the same observer is attached to the new model by `bind`.
    """

    def __init__(self) -> None:
        self._contacts: Bus[ContactEvent] = Bus()
        self._grasps: Bus[GraspEvent] = Bus()
        self._kinds: dict[Subscription[ContactEvent], frozenset[str]] = {}
        self._wanted: frozenset[str] = frozenset()  # contact classes with at least one subscriber
        # Contacts of robot parts are listed before they touch and after they separate, so an "end"
        # event can report the current contact.  Other contacts disappear at once: the contacts of
        # the previous step are kept for their events.
        self._vanish = False
        self._follower = ContactFollower()
        self._grippers: list[WorldGripper] = []
        self._patterns: PatternReader
        self.reader: ContactReader
        self.revision = 0  # counts changes of `wanted`, `levels` and `held`
        self._stale = False
        self.readers: dict[str, GraspReader] = {}
        self.held: dict[str, str | None] = {}  # by robot, in the last observed step
        self._holding = True  # in the last observed step a body was held or between both pads
        #: Grasp of each gripper (grippers, 3), updated while steps are observed: index of the body
        #: in the cell (-1 none), the smaller of the two pad forces (N), 1 if the body is welded.
        self.grips = np.zeros((0, 3))
        self._watched: list[tuple[str, GraspReader, np.ndarray]] = []

    def bind(
        self,
        reader: ContactReader,
        readers: dict[str, GraspReader],
        bodies: Sequence[str],
        data: Any,
    ) -> None:
        """Attach to a newly compiled model."""
        self.reader, self.readers = reader, readers
        self.revision += 1
        self._grippers = [grasp.gripper for grasp in readers.values()]
        pads = [gripper.pad_ids for gripper in self._grippers]
        self._patterns = PatternReader(reader, data, self._wanted, pads, bodies)
        self.grips = np.zeros((len(readers), 3))
        self._watched = [(name, r, self.grips[i]) for i, (name, r) in enumerate(readers.items())]
        self.held = dict.fromkeys(readers)
        self._numbers = {None: -1.0, **{name: float(i) for i, name in enumerate(bodies)}}

    @property
    def plain(self) -> bool:
        """Whether `observe` is needed only for steps that change a contact level or a grasp."""
        if self._vanish or not self.watches:
            return False
        return not self._welds

    @property
    def _welds(self) -> bool:
        return any(gripper.weld for gripper in self._grippers)

    @property
    def wanted(self) -> frozenset[str]:
        """Contact classes with at least one subscriber."""
        return self._wanted

    @property
    def levels(self) -> dict[Pair, int]:
        """Contact level (`NEAR` or `TOUCHING`) of each pair of parts, in the last observed step."""
        return self._follower.levels

    def held_numbers(self) -> list[int]:
        """Return, for each gripper, the index of the held body, or -1 if it holds no body.

        The index is the position of the body in the list of free bodies of the cell.
        """
        return [int(self._numbers[self.held[name]]) for name, _, _ in self._watched]

    @property
    def watches(self) -> bool:
        """Whether `observe` is needed: there are subscribers, or grippers with the weld rule."""
        if self._contacts or self._grasps:
            return True
        return self._welds

    def on_contact(
        self, callback: Callable[[ContactEvent], object], kinds: Collection[ContactClass] | None
    ) -> Subscription[ContactEvent]:
        """Subscribe to contact events of the given classes; None selects all classes."""
        wanted = wanted_classes(kinds)
        taken = self._contacts.subscribe(callback, lambda event: event.contact.kind in wanted)
        self._kinds = {one: k for one, k in self._kinds.items() if one in self._contacts}
        self._kinds[taken] = wanted
        self._wanted = frozenset().union(*self._kinds.values())
        self._patterns.want(self._wanted)
        self.revision += 1
        self._vanish = bool(self._wanted & {"object-object", "object-fixture"})
        return taken

    def on_grasp(self, callback: Callable[[GraspEvent], object]) -> Subscription[GraspEvent]:
        """Subscribe to grasp events."""
        return self._grasps.subscribe(callback)

    def observe(self, contacts: Callable[[], Contacts], time: float, model: Any, data: Any) -> None:
        """Apply the weld rule and publish the events of a completed step.

        `time` (s) is the start of the step, and `contacts()` returns its contacts.
        """
        pattern = self._patterns.read()
        for gripper in self._grippers:
            if gripper.weld:
                self._apply_weld_rule(pattern, contacts, model, data)
                break
        self._stale = False
        if self._holding or pattern.gripping:
            for event in self._update_grips(pattern, time, data):
                self._grasps.publish(event)
            if self._stale:
                return  # a callback edited, restored or reset the world: this step is outdated
        follower = self._follower
        if pattern.levels is not follower.levels:
            self.revision += 1
            if pattern.levels != follower.levels:
                for event in follower.events(pattern.levels, contacts, data, time):
                    self._contacts.publish(event)
                return
            follower.levels = pattern.levels
        if self._vanish:
            follower.keep(data, time)

    def adopt(self, contacts: Contacts, data: Any) -> None:
        """Store the current contacts and grasps without publishing events."""
        self._stale = self._holding = True
        self.revision += 1
        self._follower.adopt(self._patterns.read().levels, data, contacts.time)
        for name, reader, values in self._watched:
            grasp = reader.read(contacts, data)
            self.held[name] = grasp.held
            values[:] = self._numbers[grasp.held], grasp.force, grasp.welded

    def _update_grips(self, pattern: Pattern, time: float, data: Any) -> list[GraspEvent]:
        """Update the held bodies; return an event for each change."""
        events: list[GraspEvent] = []
        held = self.held
        forces = self._patterns.forces(pattern) if pattern.gripping else ()
        for bodies, (name, reader, values) in zip(pattern.grips, self._watched, strict=True):
            before, weld = held[name], reader.gripper.weld
            if bodies or before is not None or weld:
                body, force = reader.grip(bodies, forces, data, before)
            else:
                body, force = None, 0.0
            values[1] = force
            if weld:
                values[2] = reader.welded(data) is not None
            if body == before:
                continue
            held[name], values[0] = body, self._numbers[body]
            self.revision += 1
            if before is not None:
                events.append(GraspEvent("released", time, name, before))
            if body is not None:
                events.append(GraspEvent("grasped", time, name, body))
        self._holding = pattern.gripping or any(held.values())
        return events

    def _apply_weld_rule(
        self, pattern: Pattern, contacts: Callable[[], Contacts], model: Any, data: Any
    ) -> None:
        for bodies, (_, reader, _) in zip(pattern.grips, self._watched, strict=True):
            if reader.gripper.weld:
                reader.apply_weld_rule(bool(bodies), contacts, model, data)
