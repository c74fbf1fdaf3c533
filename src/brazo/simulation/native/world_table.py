"""Memory that the machine code of `world_code` reads and writes, for one compiled world.

Addresses of the engine's arrays are written once.  `ready` updates the entries that may change
between two steps: grasps, contact levels (near or touching, see `brazo.world.contact_events`) and
the ring buffer of the last states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.internals.mujoco import EngineView, address, engine_view, roomy
from brazo.model.shapes import Box, Mesh, Sphere
from brazo.simulation.native.world_code import BALL, BOX, GRIP, GRIPPER, ROUND, WORLD
from brazo.world.cell import BinShape
from brazo.world.contacts import CLASSES, ContactReader
from brazo.world.grasps import GraspReader
from brazo.world.gripper import SERVO_RANGE, WorldGripper

if TYPE_CHECKING:
    from brazo.world.world import World

Array = np.ndarray
MOST_SOLIDS = 2000  # limit, because a table of all their pairs is stored


class WorldTable:
    """Memory of one world for native steps; it becomes invalid when the world is edited."""

    def __init__(self, world: World, view: EngineView) -> None:
        self.world, self.data = world, world.mj_data
        observer = world.observer
        self._reader, self._guard = observer.reader, world.compiled.guard
        reader = self._reader
        words = np.zeros(len(WORLD), np.int64)
        self.words = words
        # Single numbers are read and written several times as fast in memory views as in arrays.
        self._words, self._numbers = words.data, words.view(np.float64).data
        for name, value in _addresses(view).items():
            words[getattr(WORLD, name)] = value
        self._counts = np.zeros(len(self.data.warning.number), np.int32)
        self._calm: list[int] | None = None
        readers = list(observer.readers.values())
        slots = _Slots(readers, len(reader.part), reader)
        parts = len(reader.names)
        self._levels, self._stamps = np.zeros(parts**2, np.uint8), np.zeros(parts**2, np.int64)
        self._revision = -1
        self._wanted: frozenset[str] | None = None
        self._pairs, self._slots = np.full(len(reader.part) ** 2, -1, np.int32), slots.of
        self._touches, self._pushes = np.zeros(slots.count, np.int64), np.zeros(slots.count)
        self.grippers = np.zeros((len(readers), len(GRIPPER)), np.int64)
        self._grips = np.zeros((len(readers), slots.bodies, len(GRIP)), np.int64)
        for row, one in enumerate(readers):
            _write_gripper(self.grippers[row], one.gripper, one, observer.grips[row])
            slots.write(self._grips[row], row, one, self.data.sensordata)
            self.grippers[row, GRIPPER.grips] = address(self._grips[row])
        self._box: Any = None
        words.view(np.float64)[WORLD.reach] = reader.warning
        for name, value in (
            ("solids", len(reader.part)),
            ("pairs", address(self._pairs)),
            ("slots", address(self._slots)),
            ("levels", address(self._levels)),
            ("stamps", address(self._stamps)),
            ("warning_count", len(self._counts)),
            ("calm", address(self._counts)),
            ("slot_count", slots.count),
            ("touches", address(self._touches)),
            ("pushes", address(self._pushes)),
            ("gripper_count", len(self.grippers)),
            ("grippers", address(self.grippers)),
            ("body_count", slots.bodies),
        ):
            words[getattr(WORLD, name)] = value

    @property
    def address(self) -> int:
        return address(self.words)

    def ready(self) -> bool:
        """Update changed entries; return False if the next step has to be made in Python."""
        world, words = self.world, self.words
        observer, box = world.observer, world.stepper.last_steps
        if not observer.plain or not roomy(self.data):
            return False
        if self._guard.calm is not self._calm:
            self._calm = self._guard.calm
            self._counts[:] = self._calm
        if observer.revision != self._revision:
            self._write_observed()
        if box is not self._box:
            self._box = box
            self._words[WORLD.ring] = 0 if box is None else address(box.ring)
            if box is not None:
                words[WORLD.ring_step], words[WORLD.ring_rows] = box.ring.strides[0], len(box.ring)
                words[WORLD.state_kind] = box.kind
        if box is not None:
            self._words[WORLD.ring_next] = box.following
        return True

    def stepped(self, steps: int) -> None:
        """Update the world's contact time and buffer of last states after `steps` native steps."""
        if self._box is not None:
            self._box.following += steps
        self.world.stepper.stepped(self._numbers[WORLD.start])

    def _write_observed(self) -> None:
        """Write the contact levels and grasps of the last observed step."""
        observer = self.world.observer
        self._revision = observer.revision
        if observer.wanted is not self._wanted:
            self._wanted = observer.wanted
            _write_pairs(self._pairs, self._reader, self._wanted)
        self._levels[:] = 0
        parts = len(self._reader.names)
        for (first, second), level in observer.levels.items():
            self._levels[first * parts + second] = level
        self.words[WORLD.level_count] = len(observer.levels)
        self.words[WORLD.gripped] = 1  # at worst the grippers are evaluated once without need
        for row, number in zip(self.grippers, observer.held_numbers(), strict=True):
            row[GRIPPER.held] = number


def world_table(world: World) -> WorldTable | None:
    """Return the `WorldTable` of a world; None if its steps can only be made in Python."""
    if world.mode != "contact" or world.compiled.friction.by_formula:
        return None
    if len(world.labels) > MOST_SOLIDS:
        return None
    view = engine_view(world.mj_model, world.mj_data)
    return None if view is None else WorldTable(world, view)


class _Slots:
    """Numbering of all combinations of a gripper pad and a body.

    The number of a combination is called its slot.  Contacts and forces are summed per slot.
    """

    def __init__(self, readers: list[GraspReader], solids: int, reader: ContactReader) -> None:
        self.bodies = len(readers[0].bodies) if readers else 0
        self.count = 2 * len(readers) * self.bodies
        table = np.full((solids, solids), -1, np.int32)
        for row, one in enumerate(readers):
            for side, pad in enumerate(one.gripper.pad_ids):
                for k, name in enumerate(one.bodies):
                    for solid in np.flatnonzero(reader.part == reader.names.index(name)).tolist():
                        table[pad, solid] = table[solid, pad] = self.slot(row, side, k)
        self.of = table.ravel()

    def slot(self, gripper: int, side: int, body: int) -> int:
        return (2 * gripper + side) * self.bodies + body

    def write(self, rows: Array, gripper: int, reader: GraspReader, sensordata: Array) -> None:
        """Fill `rows`, the table of the gripper with index `gripper`.

        The table has one row per body.  A row contains the slots of the two pads, the address
        of the sensor of the finger direction, and the kind of shape.
        """
        sensors = reader.gripper.sensors
        assert sensors is not None
        for k, (name, (body, _)) in enumerate(reader.bodies.items()):
            rows[k, GRIP.left], rows[k, GRIP.right] = (self.slot(gripper, i, k) for i in range(2))
            rows[k, GRIP.along] = address(sensordata[sensors.along[name]])
            flat, every = (
                isinstance(body.shape, Box | BinShape),
                isinstance(body.shape, Sphere | Mesh),
            )
            rows[k, GRIP.kind] = BOX if flat else BALL if every else ROUND


def _addresses(view: EngineView) -> dict[str, int]:
    """Return addresses and sizes of the physics engine's data; the keys are fields of `WORLD`."""
    named = ("model", "data", "time", "contact_count", "contacts", "forces", "contact_size", "dist")
    named += ("geoms", "force_at", "warnings", "warning_size")
    found = {name: getattr(view, name) for name in named}
    return found | {name: view.functions[name] for name in ("mj_step", "mj_getState")}


def _write_pairs(table: Array, reader: ContactReader, classes: frozenset[str]) -> None:
    """Write into `table`, for any two geoms, the index of the pair of parts they belong to.

    The entry is -1 if the contact class of the two geoms is not in `classes`.
    """
    rank, part = reader.rank, reader.part
    turned = rank[:, None] > rank[None, :]
    pair = np.where(
        turned,
        part[None, :] * len(reader.names) + part[:, None],
        part[:, None] * len(reader.names) + part[None, :],
    )
    low, high = np.minimum(rank[:, None], rank[None, :]), np.maximum(rank[:, None], rank[None, :])
    wanted = np.array([name in classes for name in CLASSES])[reader.kinds[low, high]]
    table[:] = np.where(wanted, pair, -1).ravel()


def _write_gripper(row: Array, gripper: WorldGripper, reader: GraspReader, values: Array) -> None:
    numbers, (command, q, qd, push) = row.view(np.float64), gripper.arrays
    row[GRIPPER.command], row[GRIPPER.q], row[GRIPPER.qd], row[GRIPPER.push] = (
        address(command), address(q), address(qd), address(push),
    )  # fmt: skip
    greatest = gripper.description.max_force
    numbers[GRIPPER.greatest], numbers[GRIPPER.stiffness] = greatest, greatest / SERVO_RANGE
    numbers[GRIPPER.drag] = gripper.drag
    row[GRIPPER.values] = address(values)
    numbers[GRIPPER.enough], numbers[GRIPPER.half] = reader.enough, 0.5 * reader.enough
    numbers[GRIPPER.cosine] = reader.cosine
